import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect } from 'chai'
import { AnswerLimiter } from './answerLimiter.ts'
import { mssqlConfiguration } from './mssql.ts'

describe('mssqlConfiguration', () => {
  it('connects once, and follows no redirect to another server', async () => {
    const server = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const target = { dialect: 'mssql', host: '127.0.0.1', port, database: '', user: 'app', password: 'secret' } as const
    const { options } = mssqlConfiguration(
      target,
      { isReadOnly: true, timeoutMilliseconds: 1_000 },
      new AnswerLimiter(),
    )
    const socket = await options?.connector?.()
    expect(socket?.remotePort).to.equal(port)
    const again = await options?.connector?.().catch((error: unknown) => error)
    expect(again).to.be.instanceOf(Error)
    socket?.destroy()
    server.close()
  })
})
