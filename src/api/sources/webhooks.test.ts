import { createHmac } from 'node:crypto'
import { expect } from 'chai'
import { stillClock } from '../../../test/make/clock.ts'
import { request } from '../../../test/make/request.ts'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { currentOrigin } from '../../core/origin.ts'
import { DeploymentSource } from '../../crds/sources.ts'
import { secret } from '../../kube/builtin.ts'
import type { KubeObject } from '../../kube/object.ts'

const SOURCE = '55555555-5555-4555-8555-555555555555'
const NOBODY = '99999999-9999-4999-8999-999999999999'
const MISSING = '66666666-6666-4666-8666-666666666666'

/** Advances a millisecond on each read. Timers of up to a second fire at once; longer ones are real. */
class HastyClock implements Clock {
  #passed = 0
  now = () => systemClock.now()
  monotonic = () => ++this.#passed
  setTimeout(task: () => void, milliseconds: number) {
    if (milliseconds > 1_000) return systemClock.setTimeout(task, milliseconds)
    this.#passed += milliseconds
    return systemClock.setTimeout(task, 0)
  }
}

describe('unauthenticated webhook deliveries', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  const clock = new HastyClock()
  before(async () => {
    server = await startShop({}, { clock })
    const spec = { displayName: 'Git', provider: 'GitLab', baseUrl: 'https://git.example.com' }
    server.put(DeploymentSource, SOURCE, spec, boundaryNamespace(B))
  })
  after(() => server.stop())

  const signed = { 'x-hub-signature-256': `sha256=${createHmac('sha256', 'x').update('{}').digest('hex')}` }
  async function answerTo(boundaryId: string, rest: string, headers: Record<string, string>) {
    const url = `/boundaries/${boundaryId}/sources/${rest}`
    const { status, body } = await request(server.app).post(url).set(headers).send('{}')
    const { correlationId: _, traceId: __, ...answer } = body
    return { status, said: JSON.stringify(answer).replaceAll(boundaryId, 'B') }
  }

  const deliveries: [sentence: string, rest: string][] = [
    ['names no source', 'github/webhooks'],
    ['names a missing source', `github/webhooks?source=${MISSING}`],
    ['names a source of another type', `github/webhooks?source=${SOURCE}`],
    ['has an unknown type', 'gopher/webhooks'],
  ]
  for (const [sentence, rest] of deliveries) {
    for (const [form, headers] of Object.entries({ signed: { ...signed, 'x-github-event': 'push' }, unsigned: {} })) {
      it(`get the same 404 whether or not the boundary exists if the delivery ${sentence} (${form})`, async () => {
        const existing = await answerTo(B, rest, headers)
        expect(existing.status).to.equal(404)
        expect(await answerTo(NOBODY, rest, headers)).to.deep.equal(existing)
      })
    }
  }

  describe('for a boundary with 50 sources of the type', () => {
    const CROWDED = '77777777-7777-4777-8777-777777777777'
    const named = 'github/webhooks'
    before(() => {
      server.boundary(CROWDED)
      for (let count = 10; count < 60; count += 1) {
        const id = `55555555-5555-4555-8555-5555555555${count}`
        const spec = { displayName: `Git ${count}`, provider: 'GitHub', baseUrl: 'https://github.com' }
        server.put(DeploymentSource, id, spec, boundaryNamespace(CROWDED))
      }
    })

    for (const [form, headers] of Object.entries({ signed: { ...signed, 'x-github-event': 'push' }, unsigned: {} })) {
      it(`get the same 404 as for a boundary without sources (${form})`, async () => {
        const existing = await answerTo(CROWDED, named, headers)
        expect(existing.status).to.equal(404)
        expect(await answerTo(B, named, headers)).to.deep.equal(existing)
        expect(await answerTo(NOBODY, named, headers)).to.deep.equal(existing)
      })
    }

    it('get the 404 after the same time, regardless of the number of sources', async () => {
      const delays = async (boundaryId: string) => {
        const began = clock.monotonic()
        await answerTo(boundaryId, named, { ...signed, 'x-github-event': 'push' })
        return Math.floor((clock.monotonic() - began) / 1_000)
      }
      expect([await delays(CROWDED), await delays(B), await delays(NOBODY)]).to.deep.equal([1, 1, 1])
    })

    it('share the reads of the secrets that they are compared with', async () => {
      const reads = () => server.client.count('get', secret)
      const before = reads()
      await Promise.all([...Array(5)].map(() => answerTo(CROWDED, named, { ...signed, 'x-github-event': 'push' })))
      expect(reads() - before).to.be.below(5 * 50)
    })

    it('get 406 if they name one of the sources', async () => {
      const path = `${named}?source=55555555-5555-4555-8555-555555555510`
      expect((await answerTo(CROWDED, path, {})).status).to.equal(406)
      expect((await answerTo(CROWDED, path, { ...signed, 'x-github-event': 'push' })).status).to.equal(406)
    })
  })

  it('cause the same requests to the API server for an existing and a missing boundary', async () => {
    const work = async (boundaryId: string) => {
      const before = server.client.calls.length
      await answerTo(boundaryId, 'github/webhooks', { 'cache-control': 'no-cache' })
      return server.client.calls.slice(before).map((call) => JSON.stringify(call).replaceAll(boundaryId, 'B'))
    }
    expect(await work(NOBODY)).to.deep.equal(await work(B))
  })
})

describe('signed webhook deliveries', () => {
  const RIGHT = 'a secret of thirty-two characters'
  let server: Awaited<ReturnType<typeof startShop>>
  afterEach(() => server.stop())

  /** Allows 12 unsigned requests at once, and `requestsPerMinute` of a source. */
  async function start(requestsPerMinute: number) {
    server = await startShop({ limits: { anonymousRequestsPerMinute: 12, requestsPerMinute } }, { clock: stillClock })
    const namespace = boundaryNamespace(B)
    const spec = { displayName: 'Hub', provider: 'GitHub', baseUrl: 'https://github.com', installationId: '1' }
    server.put(DeploymentSource, SOURCE, spec, namespace)
    server.client.seed(secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace, name: `dsrc-${SOURCE}` },
      data: { 'webhook-secret': Buffer.from(RIGHT).toString('base64') },
    } as KubeObject)
  }
  let sent = 0
  /** Sends deliveries at once. @returns how many got a status */
  async function send(count: number, key: string) {
    const one = async () => {
      sent += 1
      const after = sent.toString(16).padStart(40, '0')
      const body = JSON.stringify({ ref: 'refs/heads/main', after, repository: { id: 7, full_name: 'acme/site' } })
      const answer = await request(server.app)
        .post(`/boundaries/${B}/sources/github/webhooks?source=${SOURCE}`)
        .set('x-hub-signature-256', `sha256=${createHmac('sha256', key).update(body).digest('hex')}`)
        .set('x-github-event', 'push')
        .send(body)
      return answer.status
    }
    const statuses = await Promise.all(Array.from({ length: count }, one))
    return (status: number) => statuses.filter((other) => other === status).length
  }

  it('are all accepted, far beyond the limit for unsigned requests', async () => {
    await start(6_000)
    expect((await send(60, RIGHT))(202)).to.equal(60)
    expect((await send(60, RIGHT))(202)).to.equal(60)
    expect((await request(server.app).get('/version')).status).to.equal(200)
  })

  it('call the API server on behalf of their source, so that they delay its own calls first', async () => {
    await start(6_000)
    const callers: (string | undefined)[] = []
    server.client.fail('patch', DeploymentSource.resource, () => void callers.push(currentOrigin()?.caller))
    expect((await send(1, RIGHT))(202)).to.equal(1)
    expect(callers).to.deep.equal([`${boundaryNamespace(B)}/${SOURCE}`])
  })

  it('count against the limit of their source', async () => {
    await start(60)
    const countOf = await send(100, RIGHT)
    expect([countOf(202), countOf(429)]).to.deep.equal([60, 40])
  })

  it('count against the limit of their address if the signature is wrong', async () => {
    await start(6_000)
    const countOf = await send(60, 'another secret, just as long as it')
    expect([countOf(406), countOf(429)]).to.deep.equal([12, 48])
    expect((await send(1, RIGHT))(429)).to.equal(1)
  })
})
