import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect } from 'chai'
import { closeWhenIdle } from './closeWhenIdle.ts'

/** More than the system keeps of a connection. */
const LONG = Buffer.alloc(64 * 1024 * 1024)
const WITHIN = 100

describe('a connection', () => {
  const ends: (() => void)[] = []
  afterEach(() => {
    for (const end of ends.splice(0)) end()
  })

  /** Answers with the listener, and sends what the client says. */
  async function asked(listener: RequestListener, said: string): Promise<{ client: Socket; response: ServerResponse }> {
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
    const heard = once(server, 'request')
    client.write(said)
    await heard
    if (response === undefined) throw new Error('Nothing was asked.')
    return { client, response }
  }

  it('ends if its client takes nothing of its answer', async () => {
    const { client, response } = await asked((_, answer) => answer.end(LONG), 'GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    client.pause()
    await once(response, 'close')
    expect(response.writableFinished).to.equal(false)
  })

  it('ends if its client sends nothing more of a body', async () => {
    const { response } = await asked(
      (request) => request.resume(),
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nhal',
    )
    await once(response, 'close')
    expect(response.headersSent).to.equal(false)
  })

  it('stays if there is nothing to say', async () => {
    const { client, response } = await asked((_, answer) => answer.write('a'), 'GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    client.resume()
    for (let silence = 0; silence < 3; silence += 1) await once(response, 'timeout')
    const heard = once(client, 'data')
    response.end('bcd')
    expect(String(await heard)).to.contain('bcd')
  })

  it('stays while a body that was sent waits to be read', async () => {
    const { client, response } = await asked(
      () => undefined,
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nhal',
    )
    for (let silence = 0; silence < 3; silence += 1) await once(response, 'timeout')
    const heard = once(client, 'data')
    response.end('bcd')
    expect(String(await heard)).to.contain('bcd')
  })
})
