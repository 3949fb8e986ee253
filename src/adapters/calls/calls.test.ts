import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { ManualClock } from '../../../test/make/clock.ts'
import { type CallsWorld, callsContract } from '../../../test/suites/callsContract.ts'
import { CallStatistics } from '../../activator/callStatistics.ts'
import { createStatisticsServer } from '../../activator/statisticsServer.ts'
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

describe('calls in the same process', () => {
  let world: CallsWorld
  beforeEach(() => {
    const clock = new ManualClock()
    const figures = new CallStatistics(clock)
    const makes = refusing()
    let here: LocalActivator | undefined = { of: (key) => figures.of(key), call: (...given) => makes.call(...given) }
    const end = async () => {
      here = undefined
    }
    world = { clock, figures, makes, calls: localActivatorClient(() => here), end }
  })
  callsContract(() => world)
})

describe('calls through the port of the activator', () => {
  let world: CallsWorld
  beforeEach(async () => {
    const clock = new ManualClock()
    const figures = new CallStatistics(clock)
    const makes = refusing()
    const { url, end } = await served(createStatisticsServer(figures, (...given) => makes.call(...given)))
    world = { clock, figures, makes, calls: createActivatorClient({ url, log }), end }
  })
  afterEach(() => world.end())
  callsContract(() => world)
})

describe('the port of figures', () => {
  it('answers nothing but what is asked of a function', async () => {
    const { url, end } = await served(createStatisticsServer(new CallStatistics(new ManualClock()), refusing().call))
    const statusOf = async (path: string, method = 'GET') => (await fetch(`${url}${path}`, { method })).status
    const asked = [
      statusOf('/'),
      statusOf('/calls'),
      statusOf('/calls?namespace=a'),
      statusOf('/calls/?namespace=a&name=b'),
    ]
    const statuses = await Promise.all([...asked, statusOf('/calls?namespace=a&name=b', 'PUT')])
    await end()
    expect(statuses).to.deep.equal([404, 404, 404, 404, 404])
  })
})

describe('the port of calls', () => {
  it('makes no call of what is none, or is too long', async () => {
    const made: unknown[] = []
    const call: CallsWorld['makes']['call'] = async (...given) => {
      made.push(given)
      return { refused: 'Gone' }
    }
    const { url, end } = await served(createStatisticsServer(new CallStatistics(new ManualClock()), call))
    const statusOf = async (body: string) =>
      (await fetch(`${url}/calls?namespace=a&name=b`, { method: 'POST', body })).status
    const statuses = [await statusOf('{'), await statusOf(`"${'x'.repeat(MAX_TEST_CALL_BYTES)}"`)]
    await end()
    expect(statuses).to.deep.equal([400, 400])
    expect(made).to.deep.equal([])
  })
})

describe('figures of calls from something else', () => {
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

  it('are taken if they are figures', async () => expect(await ask(json({}))).to.deep.equal(whole))

  const cases: [sentence: string, RequestListener, timeout?: number][] = [
    ['an answer that is none of JSON', says('<html>')],
    ['another status', says(JSON.stringify(whole), 503)],
    ['an answer that leads elsewhere', (_, response) => response.writeHead(302, { location: '/x' }).end()],
    ['an answer without a beginning', json({ since: undefined })],
    ['a count below zero', json({ buckets: [{ ...bucket, errors: -1 }] })],
    ['a bucket that begins where none does', json({ buckets: [{ ...bucket, at: 16 }] })],
    ['more buckets than are kept', json({ buckets: Array.from({ length: 246 }, () => bucket) })],
    ['more samples than are kept', json({ buckets: [{ ...bucket, durations: Array(257).fill(1) }] })],
    ['an answer that is too long', says(' '.repeat(3 * 1024 * 1024))],
    ['an answer that never comes', () => {}, 20],
    ['an answer that begins and never ends', (_, response) => void response.write('{'), 200],
    ['a connection that breaks', (request) => void request.socket.destroy()],
  ]
  for (const [sentence, listener, timeout] of cases) {
    it(`are not known after ${sentence}`, async () => expect(await ask(listener, timeout)).to.equal(undefined))
  }

  it('are not known where the name of the activator leads nowhere', async () => {
    const calls = createActivatorClient({ url: 'http://activator.invalid:9091', log })
    expect(await calls.of('space', 'home.hello')).to.equal(undefined)
  })
})
