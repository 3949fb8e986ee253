import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { ManualClock } from '../../../test/make/clock.ts'
import { type CallsWorld, callsContract } from '../../../test/suites/callsContract.ts'
import { CallStatistics } from '../../activator/callStatistics.ts'
import { createStatisticsListener, createStatisticsServer } from '../../activator/statisticsServer.ts'
import { MAX_TEST_CALL_BYTES } from '../../contracts/testCalls.ts'
import { silentLog as log } from '../../core/log.ts'
import { createActivatorClient } from './client.ts'
import { type LocalActivator, localActivatorClient } from './localActivator.ts'

async function served(server: Server): Promise<{ url: string; end(): Promise<void> }> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async end() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const refusing = (): CallsWorld['makes'] => ({ call: async () => ({ refused: 'Gone' }) })

describe('localActivatorClient', () => {
  let world: CallsWorld
  beforeEach(() => {
    const clock = new ManualClock()
    const statistics = new CallStatistics(clock)
    const makes = refusing()
    let activator: LocalActivator | undefined = {
      of: (key) => statistics.of(key),
      call: (...given) => makes.call(...given),
    }
    const end = async () => {
      activator = undefined
    }
    world = { clock, figures: statistics, makes, calls: localActivatorClient(() => activator), end }
  })
  callsContract(() => world)
})

describe('createActivatorClient, connected to createStatisticsServer', () => {
  let world: CallsWorld
  beforeEach(async () => {
    const clock = new ManualClock()
    const statistics = new CallStatistics(clock)
    const makes = refusing()
    const { url, end } = await served(
      createStatisticsServer(createStatisticsListener(statistics, (...given) => makes.call(...given))),
    )
    world = { clock, figures: statistics, makes, calls: createActivatorClient({ url, log }), end }
  })
  afterEach(() => world.end())
  callsContract(() => world)
})

describe('createStatisticsServer, GET /calls', () => {
  it('returns 404 for any other path, a missing parameter or another method', async () => {
    const { url, end } = await served(
      createStatisticsServer(createStatisticsListener(new CallStatistics(new ManualClock()), refusing().call)),
    )
    const statusOf = async (path: string, method = 'GET') => (await fetch(`${url}${path}`, { method })).status
    const requests = [
      statusOf('/'),
      statusOf('/calls'),
      statusOf('/calls?namespace=a'),
      statusOf('/calls/?namespace=a&name=b'),
    ]
    const statuses = await Promise.all([...requests, statusOf('/calls?namespace=a&name=b', 'PUT')])
    await end()
    expect(statuses).to.deep.equal([404, 404, 404, 404, 404])
  })
})

describe('createStatisticsServer, POST /calls', () => {
  it('returns 400 for a body that is not JSON or too long, and makes no call', async () => {
    const made: unknown[] = []
    const call: CallsWorld['makes']['call'] = async (...given) => {
      made.push(given)
      return { refused: 'Gone' }
    }
    const { url, end } = await served(
      createStatisticsServer(createStatisticsListener(new CallStatistics(new ManualClock()), call)),
    )
    const statusOf = async (body: string) =>
      (await fetch(`${url}/calls?namespace=a&name=b`, { method: 'POST', body })).status
    const statuses = [await statusOf('{'), await statusOf(`"${'x'.repeat(MAX_TEST_CALL_BYTES)}"`)]
    await end()
    expect(statuses).to.deep.equal([400, 400])
    expect(made).to.deep.equal([])
  })
})

describe('createActivatorClient, reading an answer', () => {
  const ask = async (listener: RequestListener, timeout?: number) => {
    const { url, end } = await served(createServer(listener))
    try {
      const calls = createActivatorClient({ url: `${url}/`, log, ...(timeout !== undefined && { timeout }) })
      return await calls.of('space', 'home.hello')
    } finally {
      await end()
    }
  }
  const says =
    (text: string, status = 200): RequestListener =>
    (_, response) =>
      response.writeHead(status).end(text)
  const bucket = { at: 15, invocations: 1, errors: 0, throttles: 0, coldStarts: 0, durations: [1] }
  const whole = { since: 1, until: 20, buckets: [bucket] }
  const json = (change: object) => says(JSON.stringify({ ...whole, ...change }))

  it('returns statistics that match the schema', async () => expect(await ask(json({}))).to.deep.equal(whole))

  const cases: [sentence: string, RequestListener, timeout?: number][] = [
    ['a body that is not JSON', says('<html>')],
    ['status 503', says(JSON.stringify(whole), 503)],
    ['a redirect', (_, response) => response.writeHead(302, { location: '/x' }).end()],
    ['a body without "since"', json({ since: undefined })],
    ['a negative count', json({ buckets: [{ ...bucket, errors: -1 }] })],
    ['a bucket that begins between two boundaries', json({ buckets: [{ ...bucket, at: 16 }] })],
    ['more buckets than the activator keeps', json({ buckets: Array.from({ length: 246 }, () => bucket) })],
    ['more samples than the activator keeps', json({ buckets: [{ ...bucket, durations: Array(257).fill(1) }] })],
    ['a body of 3 MiB', says(' '.repeat(3 * 1024 * 1024))],
    ['no answer within the timeout', () => {}, 20],
    ['a body that does not end within the timeout', (_, response) => void response.write('{'), 200],
    ['a closed connection', (request) => void request.socket.destroy()],
  ]
  for (const [sentence, listener, timeout] of cases) {
    it(`returns undefined for ${sentence}`, async () => expect(await ask(listener, timeout)).to.equal(undefined))
  }

  it("returns undefined if the activator's name does not resolve", async () => {
    const calls = createActivatorClient({ url: 'http://activator.invalid:9091', log })
    expect(await calls.of('space', 'home.hello')).to.equal(undefined)
  })
})
