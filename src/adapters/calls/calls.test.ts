import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { ManualClock } from '../../../test/make/clock.ts'
import { type CountingWorld, callFiguresContract } from '../../../test/suites/callFiguresContract.ts'
import { Figures } from '../../activator/figures.ts'
import { createFiguresServer } from '../../activator/figuresServer.ts'
import { silentLog as log } from '../../core/log.ts'
import { createCallFiguresClient } from './client.ts'
import { sameProcessCallFigures } from './sameProcess.ts'

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

describe('figures of calls in the same process', () => {
  let world: CountingWorld
  beforeEach(() => {
    const clock = new ManualClock()
    const figures = new Figures(clock)
    let here: Figures | undefined = figures
    const end = async () => {
      here = undefined
    }
    world = { clock, figures, calls: sameProcessCallFigures(() => here), end }
  })
  callFiguresContract(() => world)
})

describe('figures of calls from the activator', () => {
  let world: CountingWorld
  beforeEach(async () => {
    const clock = new ManualClock()
    const figures = new Figures(clock)
    const { url, end } = await served(createFiguresServer(figures))
    world = { clock, figures, calls: createCallFiguresClient({ url, log }), end }
  })
  afterEach(() => world.end())
  callFiguresContract(() => world)
})

describe('the port of figures', () => {
  it('answers nothing but questions for a function', async () => {
    const { url, end } = await served(createFiguresServer(new Figures(new ManualClock())))
    const statusOf = async (path: string, method = 'GET') => (await fetch(`${url}${path}`, { method })).status
    const asked = [
      statusOf('/'),
      statusOf('/calls'),
      statusOf('/calls?namespace=a'),
      statusOf('/calls/?namespace=a&name=b'),
    ]
    const statuses = await Promise.all([...asked, statusOf('/calls?namespace=a&name=b', 'POST')])
    await end()
    expect(statuses).to.deep.equal([404, 404, 404, 404, 404])
  })
})

describe('figures of calls from something else', () => {
  const ask = async (listener: RequestListener, timeout?: number) => {
    const { url, end } = await served(createServer(listener))
    try {
      const calls = createCallFiguresClient({ url: `${url}/`, log, ...(timeout !== undefined && { timeout }) })
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
    const calls = createCallFiguresClient({ url: 'http://activator.invalid:9091', log })
    expect(await calls.of('space', 'home.hello')).to.equal(undefined)
  })
})
