import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect } from 'chai'
import { until } from '../../test/make/until.ts'
import { HOST, startActivator } from '../../test/worlds/activatorWorld.ts'

describe('more callers than the activator accepts', () => {
  let world: Awaited<ReturnType<typeof startActivator>>
  const open: Socket[] = []
  const dial = () => {
    const { hostname, port } = new URL(world.url)
    const socket = connect(Number(port), hostname).on('error', () => undefined)
    open.push(socket)
    return socket
  }
  const call = () => {
    const socket = dial()
    socket.write(`GET /hello HTTP/1.1\r\nhost: ${HOST}\r\n\r\n`)
    return socket
  }
  before(async () => {
    world = await startActivator((_, response) => response.end(), { startMilliseconds: 3_600_000, mostCalls: 4 })
    world.put('hello', {
      spec: {
        triggers: [{ name: 'http', kind: 'Http', path: '/hello', methods: ['GET'], authLevel: 'Anonymous' }],
        timeoutSeconds: 900,
      },
    })
  })
  after(() => world.stop())
  afterEach(() => {
    for (const socket of open.splice(0)) socket.destroy()
  })

  const waiting = () => world.switchboard.functions()[0]?.queue.waiting ?? 0

  it('receive 429 above half of mostCalls for one tenant, until a call ends', async () => {
    const [first] = [call(), call()]
    await until('both wait', () => waiting() === 2)
    const [answer] = await once(call(), 'data')
    expect(String(answer))
      .to.match(/^HTTP\/1.1 429 /)
      .and.to.contain('"code":"TOO_MANY_REQUESTS"')
    first?.destroy()
    await until('one has gone', () => waiting() === 1)
    call()
    await until('there is room for one more', () => waiting() === 2)
  })

  it('are disconnected when they send a large body of a rejected request', async () => {
    const socket = dial()
    const answered = once(socket, 'data')
    socket.write('POST / HTTP/1.1\r\nhost: nobody.example\r\ncontent-length: 100000000000\r\n\r\n')
    const [answer] = await answered
    expect(String(answer)).to.match(/^HTTP\/1.1 404 /)
    const piece = Buffer.alloc(1024 * 1024)
    const send = () => {
      while (!socket.destroyed && socket.write(piece));
    }
    socket.resume().on('drain', send)
    send()
    // `once` would reject because the last chunk could not be sent.
    await new Promise((closed) => socket.once('close', closed))
  })
})
