import { expect } from 'chai'
import { Gauge, Registry } from 'prom-client'
import { type ManagementServer, startManagementServer } from './management.ts'

describe('the management port', () => {
  let server: ManagementServer
  let collected: number
  let now: number
  beforeEach(async () => {
    collected = 0
    now = 0
    const registry = new Registry()
    const collect = function (this: Gauge) {
      collected += 1
      this.set(collected)
    }
    new Gauge({ name: 'looks', help: 'Looks', registers: [registry], collect })
    const checks = () => [{ name: 'caches', isReady: () => false }]
    server = await startManagementServer({ host: '127.0.0.1', port: 0, registry, checks, now: () => now })
  })
  afterEach(() => server.stop())

  const ask = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${server.port}${path}`)
    return [answer.status, await answer.text()] as const
  }

  it('collects metrics at most once a second', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask('/metrics')))
    for (const [status, text] of answers) expect([status, text]).to.deep.equal([200, answers[0]?.[1]])
    expect(collected).to.equal(1)
    now = 1_000
    expect((await ask('/metrics'))[1]).to.include('looks 2')
  })

  it('answers /livez and /readyz from the current checks, and 404 otherwise', async () => {
    expect(await ask('/livez')).to.deep.equal([200, 'ok\n'])
    expect(await ask('/readyz')).to.deep.equal([503, 'not ready: caches\n'])
    expect(await ask('/other')).to.deep.equal([404, 'not found\n'])
  })
})
