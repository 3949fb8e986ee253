import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect } from 'chai'
import { ManualClock } from '../../test/make/clock.ts'
import { until } from '../../test/make/until.ts'
import { callFunction } from '../../test/worlds/activatorWorld.ts'
import { FORWARDED_HEADER, MOVED_HEADER } from '../contracts/functions.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import { silentLog } from '../core/log.ts'
import { CallFront, type CallSituation, nextStep } from './callFront.ts'
import { CopyUnreachableError } from './copyConnection.ts'
import { forward } from './proxy.ts'
import { type CallHandler, createCallServer, letBodyCome } from './server.ts'

const ALONE: CallSituation = {
  leads: false,
  holder: undefined,
  wasUnreachable: false,
  waited: 0,
  hasRoom: () => true,
}
const HOLDER = { holder: '10.0.0.1:9092' }

describe('a call at an activator', () => {
  for (const [why, situation, step] of [
    ['is answered by the one that leads', { leads: true }, 'answer'],
    ['is answered by the one that leads, whoever led before', { leads: true, ...HOLDER }, 'answer'],
    ['goes to the one that leads', HOLDER, 'forward'],
    ['goes to the one that leads, however long it has waited', { ...HOLDER, waited: 60_000 }, 'forward'],
    ['waits while nobody leads', {}, 'hold'],
    ['waits until the lease is read again if its holder was unreachable', { ...HOLDER, wasUnreachable: true }, 'hold'],
    ['waits for ten seconds at most', { waited: 10_000 }, 'refuse'],
    ['waits for an unreachable holder as long', { ...HOLDER, wasUnreachable: true, waited: 10_000 }, 'refuse'],
    ['is refused where too many wait', { hasRoom: () => false }, 'refuse'],
    ['goes to the one that leads where too many wait', { ...HOLDER, hasRoom: () => false }, 'forward'],
  ] as const)
    it(why, () => expect(nextStep({ ...ALONE, ...situation })).to.equal(step))
})

describe('activators of which one leads', () => {
  const servers: Server[] = []
  afterEach(async () => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections()
      await once(server.close(), 'close')
    }
  })

  async function listening(server: Server): Promise<string> {
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return `127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  async function startFront(clock: Clock = systemClock, maxHeld = 10) {
    const front = new CallFront({ clock, log: silentLog, isLeader: () => true, tenantOf: () => '', maxHeld })
    const url = `http://${await listening(createCallServer(front.listener('calls')))}`
    return { front, url, peer: await listening(front.peerServer()) }
  }

  const facades: RequestListener = (_request, response) => void response.end('counts')
  /** Answers with what it got. */
  const echo: CallHandler = async (request, response, caller) => {
    letBodyCome(response)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { length } = Buffer.concat(chunks)
    response.end(JSON.stringify({ caller, length, method: request.method, named: request.headers[FORWARDED_HEADER] }))
    return 'answered'
  }

  it('forward what they get, with its body and the address of its caller', async () => {
    const [leader, standby] = [await startFront(), await startFront()]
    leader.front.lead({ calls: echo, facades })
    standby.front.sawHolder(leader.peer)
    const headers = { [FORWARDED_HEADER]: '6.6.6.6', connection: 'close' }
    const { text } = await callFunction(standby.url, '/', { method: 'PUT', headers, body: 'x'.repeat(300_000) })
    expect(JSON.parse(text)).to.include({ caller: '127.0.0.1', length: 300_000, method: 'PUT' })
  })

  it('hold a call, with its body, until one leads', async () => {
    const { front, url } = await startFront()
    const answer = callFunction(url, '/', { method: 'POST', body: 'held' })
    await until('it is held', () => front.held === 1)
    front.lead({ calls: echo, facades })
    expect(JSON.parse((await answer).text).length).to.equal(4)
  })

  it('refuse what nobody took for ten seconds, and what they have no room for', async () => {
    const clock = new ManualClock()
    const { front, url } = await startFront(clock, 2)
    const held = callFunction(url, '/', {})
    await until('it is held', () => front.held === 1)
    const late = await callFunction(url, '/', {})
    await clock.advance(10_000)
    for (const { status, headers, text } of [late, await held])
      expect([status, headers['retry-after'], JSON.parse(text).code]).to.deep.equal([503, '1', 'NO_ACTIVATOR'])
  })

  it('forward nothing again that was forwarded, though each takes the other for the one that leads', async () => {
    const clock = new ManualClock()
    const [one, other] = [await startFront(clock), await startFront(clock)]
    one.front.sawHolder(other.peer)
    other.front.sawHolder(one.peer)
    const answer = callFunction(one.url, '/', { method: 'POST', body: 'x' })
    await until('it is held', () => one.front.held === 1)
    expect(other.front.held).to.equal(0)
    await clock.advance(10_000)
    expect((await answer).status).to.equal(503)
  })

  it('hand on what has no copy yet when the one that leads stops, and finish the rest', async () => {
    const [former, next] = [await startFront(), await startFront()]
    const ends: (() => void)[] = []
    let isWaiting = true
    const slow: CallHandler = async (request, response) => {
      if (request.url === '/begun') {
        await new Promise<void>((resolve) => ends.push(resolve))
        response.end('finished')
        return 'answered'
      }
      ends.push(() => {})
      await until('it is stopped', () => !isWaiting)
      return 'moved'
    }
    former.front.lead({ calls: slow, facades })
    next.front.sawHolder(former.peer)
    const begun = callFunction(former.url, '/begun', {})
    const waiting = callFunction(next.url, '/', { method: 'POST', body: 'waiting' })
    await until('both are there', () => ends.length === 2)
    const drained = former.front.drain(60_000)
    isWaiting = false
    await until('the call is handed on', () => next.front.held === 1)
    const late = callFunction(former.url, '/', { headers: { connection: 'keep-alive' } })
    await until('a late call is held', () => former.front.held === 1)
    next.front.lead({ calls: echo, facades })
    former.front.sawHolder(next.peer)
    expect((await late).headers.connection).to.equal('close')
    expect(JSON.parse((await waiting).text).length).to.equal(7)
    for (const end of ends) end()
    expect((await begun).text).to.equal('finished')
    await drained
  })

  it('break off what a holder does not answer that was replaced', async () => {
    const clock = new ManualClock()
    const { front, url } = await startFront(clock)
    const asked: number[] = []
    front.sawHolder(await listening(createServer(() => asked.push(1))))
    const answer = callFunction(url, '/', {})
    await until('it was asked', () => asked.length === 1)
    front.sawHolder('127.0.0.1:1')
    await clock.advance(2_000)
    expect((await answer).status).to.equal(502)
  })

  it('refuse an ambiguous call before they forward it', async () => {
    const { front, url } = await startFront()
    front.sawHolder('127.0.0.1:1')
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n')
    const [answer] = (await once(socket, 'data')) as [Buffer]
    socket.destroy()
    expect(answer.toString()).to.match(/^HTTP\/1.1 400 /)
  })

  it('take no word of a copy for that of an activator', async () => {
    const [leader, standby] = [await startFront(), await startFront()]
    let calls = 0
    const address = await listening(
      createServer((_request, response) => {
        calls += 1
        response.writeHead(503, { [MOVED_HEADER]: 'true' }).end('mine')
      }),
    )
    const reach = () => Promise.reject(new Error())
    leader.front.lead({
      facades,
      calls: async (request, response) => {
        await forward(request, response, { address, reach, headers: {}, signal: new AbortController().signal })
        return 'answered'
      },
    })
    standby.front.sawHolder(leader.peer)
    const { status, text } = await callFunction(standby.url, '/', {})
    expect([status, text, calls]).to.deep.equal([503, 'mine', 1])
  })

  it('send nothing to a copy once they lead no longer, and leave the call whole', async () => {
    const { front, url } = await startFront()
    const asked: string[] = []
    const address = await listening(
      createServer((request, response) => response.end(String(asked.push(request.url ?? '')))),
    )
    const reach = () => Promise.reject(new Error())
    const signal = new AbortController().signal
    front.lead({
      facades,
      calls: (request, response) =>
        forward(request, response, { address, reach, headers: {}, signal, mayBegin: () => false }).then(
          () => 'answered',
          (error) => {
            expect(error).to.be.instanceOf(CopyUnreachableError)
            void front.drain(0)
            return 'moved'
          },
        ),
    })
    const answer = callFunction(url, '/', { method: 'POST', body: 'whole' })
    await until('it is held', () => front.held === 1)
    front.lead({ calls: echo, facades })
    expect(JSON.parse((await answer).text).length).to.equal(5)
    expect(asked).to.deep.equal([])
  })
})
