import { once } from 'node:events'
import { Agent, createServer, get, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { closeServer } from './closeServer.ts'

describe('closeServer', () => {
  async function startRequest(milliseconds: number) {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const agent = new Agent({ keepAlive: true })
    const request = get({ agent, port: (server.address() as AddressInfo).port, host: '127.0.0.1' })
    const answer = once(request, 'response').then(
      ([response]) => response.resume().statusCode as number,
      (error) => error.code as string,
    )
    const [, response] = (await once(server, 'request')) as [unknown, ServerResponse]
    return { response, answer, closed: closeServer(server, milliseconds) }
  }

  it('waits for a request in flight, but not for idle keep-alive connections', async () => {
    const { response, answer, closed } = await startRequest(600_000)
    response.end('done')
    expect(await answer).to.equal(200)
    await closed
  })

  it('destroys connections after the timeout', async () => {
    const { answer, closed } = await startRequest(1)
    await closed
    expect(await answer).to.equal('ECONNRESET')
  })
})
