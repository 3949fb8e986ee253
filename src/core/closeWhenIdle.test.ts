import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect } from 'chai'
import { closeWhenIdle } from './closeWhenIdle.ts'

/** More than the socket buffers of a connection hold. */
const LONG = Buffer.alloc(64 * 1024 * 1024)
const WITHIN = 100

describe('closeWhenIdle', () => {
  const ends: (() => void)[] = []
  afterEach(() => {
    for (const end of ends.splice(0)) end()
  })

  /** Serves the listener and sends this as the client. */
  async function startRequest(
    listener: RequestListener,
    sent: string,
  ): Promise<{ client: Socket; response: ServerResponse }> {
    let response: ServerResponse | undefined
    const server = createServer(
      closeWhenIdle(
        (request, answer) => {
          response = answer
          listener(request, answer)
        },
        { milliseconds: WITHIN },
      ),
    ).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined)
    ends.push(
      () => client.destroy(),
      () => server.closeAllConnections(),
      () => server.close(),
    )
    const received = once(server, 'request')
    client.write(sent)
    await received
    if (response === undefined) throw new Error('Nothing was asked.')
    return { client, response }
  }

  it('closes a connection whose client does not read the response', async () => {
    const { client, response } = await startRequest(
      (_, answer) => answer.end(LONG),
      'GET / HTTP/1.1\r\nhost: x\r\n\r\n',
    )
    client.pause()
    await once(response, 'close')
    expect(response.writableFinished).to.equal(false)
  })

  it('closes a connection whose client does not finish the body', async () => {
    const { response } = await startRequest(
      (request) => request.resume(),
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nhal',
    )
    await once(response, 'close')
    expect(response.headersSent).to.equal(false)
  })

  it('keeps a connection open while the server has nothing to send', async () => {
    const { client, response } = await startRequest(
      (_, answer) => answer.write('a'),
      'GET / HTTP/1.1\r\nhost: x\r\n\r\n',
    )
    client.resume()
    for (let silence = 0; silence < 3; silence += 1) await once(response, 'timeout')
    const received = once(client, 'data')
    response.end('bcd')
    expect(String(await received)).to.contain('bcd')
  })

  it('keeps a connection open while a received body is not read', async () => {
    const { client, response } = await startRequest(
      () => undefined,
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nhal',
    )
    for (let silence = 0; silence < 3; silence += 1) await once(response, 'timeout')
    const received = once(client, 'data')
    response.end('bcd')
    expect(String(await received)).to.contain('bcd')
  })
})
