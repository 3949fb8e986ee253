import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { withoutPipelining } from './withoutPipelining.ts'

describe('withoutPipelining', () => {
  let server: Server
  let socket: Socket
  let begun: { path: string; response: ServerResponse }[]
  let received: string

  beforeEach(async () => {
    begun = []
    received = ''
    server = createServer(withoutPipelining(({ url = '' }, response) => void begun.push({ path: url, response })))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    socket.on('data', (data) => (received += String(data)))
    socket.on('error', () => {})
    await once(socket, 'connect')
  })
  afterEach(() => {
    socket.destroy()
    server.closeAllConnections()
    server.close()
  })

  const ask = (paths: readonly string[]) =>
    socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''))
  const numbered = (count: number) => Array.from({ length: count }, (_, at) => `/${at}`)
  const until = async (holds: () => boolean) => {
    while (!holds()) await delay(2)
  }

  it('handles pipelined requests one at a time, in order', async () => {
    ask(numbered(20))
    for (let at = 0; at < 20; at += 1) {
      await until(() => begun.length > at)
      await delay(1)
      expect(begun.map(({ path }) => path)).to.deep.equal(numbered(at + 1))
      begun[at]?.response.end(`<${at}>`)
    }
    await until(() => received.includes('<19>'))
    expect([...received.matchAll(/<(\d+)>/g)].map(([, at]) => Number(at))).to.deep.equal(
      numbered(20).map((_, at) => at),
    )
  })

  it('closes a connection with 5,000 pipelined requests and handles only the first', async () => {
    ask(numbered(5_000))
    await until(() => socket.destroyed)
    await delay(10)
    expect(begun).to.have.length(1)
  })

  it('handles no further requests after the client disconnects', async () => {
    ask(numbered(3))
    await until(() => begun.length === 1)
    socket.destroy()
    await once(begun[0]?.response as ServerResponse, 'close')
    await delay(10)
    expect(begun).to.have.length(1)
  })

  it('keeps the connection open between requests', async () => {
    for (const at of [0, 1, 2]) {
      ask([`/${at}`])
      await until(() => begun.length > at)
      begun[at]?.response.end(`<${at}>`)
      await until(() => received.includes(`<${at}>`))
    }
  })
})
