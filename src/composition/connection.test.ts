import { expect } from 'chai'
import { Registry } from 'prom-client'
import { FakeKubeClient } from '../kube/fake.ts'
import { requestMetrics, waitForApiServer } from './connection.ts'

type Looked = number | Error

/** Waits for an API server with these responses, one for each request. */
async function waited(looks: readonly Looked[], sayAgain = Number.POSITIVE_INFINITY) {
  const client = new FakeKubeClient()
  const said: string[] = []
  let left = [...looks]
  client.answer(/^\/readyz$/, () => {
    const [found = 200, ...later] = left
    left = later
    if (found instanceof Error) throw found
    return { status: found, text: '' }
  })
  const warn = ({ reason }: { reason?: string }, message: string) => void said.push(`${message} ${reason}`)
  await waitForApiServer(client, { warn }, { lookAgain: 1, sayAgain })
  return { said, asked: client.calls.length }
}

const REFUSED = new Error('connect ECONNREFUSED 127.0.0.1:6443')

describe('waitForApiServer', () => {
  it('returns at once if the API server is ready', async () => {
    expect(await waited([200])).to.deep.equal({ said: [], asked: 1 })
  })

  for (const [what, look, why] of [
    ['refuses connections', REFUSED, REFUSED.message],
    ['answers 500', 500, 'It answers /readyz with 500.'],
    ['answers 503', 503, 'It answers /readyz with 503.'],
  ] as const)
    it(`waits while the API server ${what}`, async () => {
      const { said, asked } = await waited([look, look, look, 200])
      expect(asked).to.equal(4)
      expect(said).to.deep.equal([`Waiting for the API server. ${why}`])
    })

  for (const status of [401, 403, 404])
    it(`returns on ${status}`, async () => {
      expect(await waited([REFUSED, status, REFUSED])).to.include({ asked: 2 })
    })

  it('logs the current reason again after a while', async () => {
    const { said } = await waited([REFUSED, 500, 200], 0)
    expect(said).to.deep.equal([
      `Waiting for the API server. ${REFUSED.message}`,
      'Waiting for the API server. It answers /readyz with 500.',
    ])
  })
})

describe('requestMetrics', () => {
  it('counts calls without an answer as client-go does, so that alerts see an API server that is gone', async () => {
    const registry = new Registry()
    const count = requestMetrics(registry)
    for (const status of [200, 503, 0]) count({ verb: 'get', resource: '', status, durationSeconds: 0.1 })
    const shown = await registry.getSingleMetricAsString('rest_client_requests_total')
    for (const code of ['200', '503', '<error>']) expect(shown).to.contain(`{verb="get",code="${code}"} 1`)
  })
})
