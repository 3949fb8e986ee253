import { once } from 'node:events'
import { type ClientHttp2Session, connect, constants, performServerHandshake, type ServerHttp2Stream } from 'node:http2'
import { type AddressInfo, connect as connectTcp, createServer } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { expect } from 'chai'
import { requestPaced } from './pacedRequest.ts'

const unlimited = { spend: () => undefined }

/** Sends one byte in each frame. */
async function writeCrumbs(stream: ServerHttp2Stream, count: number): Promise<void> {
  for (let sent = 0; sent < count && !stream.destroyed; sent += 1)
    await new Promise((resolve) => stream.write('x', resolve))
}

describe('requestPaced', () => {
  /** Answers as the agent. */
  let answer: (stream: ServerHttp2Stream) => void
  const server = createServer((socket) => {
    performServerHandshake(socket as never, { settings: { initialWindowSize: 1024 * 1024 } }).on('stream', (stream) => {
      stream.on('error', () => {})
      answer(stream)
    })
  })
  let session: ClientHttp2Session

  before(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const socket = connectTcp((server.address() as AddressInfo).port, '127.0.0.1')
    session = connect('http://tunnel', {
      createConnection: () => socket,
      settings: { initialWindowSize: 1024 * 1024 },
    })
  })
  after(() => {
    session.destroy()
    server.close()
  })

  it('counts each frame, however small, and reads no more while its share is used up', async () => {
    answer = (stream) => {
      stream.respond()
      void writeCrumbs(stream, 1_000).then(() => stream.end())
    }
    let spent = 0
    const held = Promise.withResolvers<void>()
    const spend = (milliseconds: number) => {
      spent += milliseconds
      return held.promise
    }
    const { body } = requestPaced({ session, share: { spend } }, { ':path': '/' })
    const reader = body[Symbol.asyncIterator]()
    const first = (await reader.next()).value as Buffer
    let isRead = false
    const next = reader.next().then((read) => {
      isRead = true
      return read.value as Buffer
    })
    await new Promise((resolve) => session.ping(resolve))
    expect(isRead).to.equal(false)
    held.resolve()
    const rest = [await next]
    for (let read = await reader.next(); read.done !== true; read = await reader.next()) rest.push(read.value)
    expect(Buffer.concat([first, ...rest])).to.have.length(1_000)
    expect(spent).to.be.within(1_000 * 0.02 - 0.001, 1_001 * 0.02 + 0.001)
  })

  it('ends a stream whose small frames fill the memory while nobody reads them', async () => {
    answer = (stream) => {
      stream.respond()
      void writeCrumbs(stream, 20_000)
    }
    const { stream } = requestPaced({ session, share: unlimited }, { ':path': '/' })
    await once(stream, 'error')
    expect(stream.rstCode).to.equal(constants.NGHTTP2_ENHANCE_YOUR_CALM)
  })

  it('keeps a stream whose reader is slow', async () => {
    const bytes = Buffer.alloc(2 * 1024 * 1024, 'x')
    answer = (stream) => {
      stream.respond()
      stream.end(bytes)
    }
    const { stream, body } = requestPaced({ session, share: unlimited }, { ':path': '/' })
    await once(stream, 'readable')
    expect((await buffer(body)).equals(bytes)).to.equal(true)
  })

  it('ends a stream with an informational answer', async () => {
    answer = (stream) => stream.additionalHeaders({ ':status': 103 })
    const { stream } = requestPaced({ session, share: unlimited }, { ':path': '/' })
    await once(stream, 'error')
    expect(stream.rstCode).to.equal(constants.NGHTTP2_PROTOCOL_ERROR)
  })
})
