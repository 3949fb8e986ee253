import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { connect, type Socket } from 'node:net'
import { expect } from 'chai'
import { request } from '../make/request.ts'

describe('request of the tests', () => {
  const others: Socket[] = []
  after(() => {
    for (const other of others) other.destroy()
  })

  it('does not wait for foreign connections to its port', async () => {
    const app: RequestListener = async ({ socket }, answer) => {
      const other = connect(socket.localPort as number, '127.0.0.1')
      others.push(other)
      await once(other, 'connect')
      other.write('GET / HTTP/1.1\r\n')
      answer.end()
    }
    expect((await request(app).get('/')).status).to.equal(200)
  })
})
