import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { inOriginForm } from './requestTarget.ts'

const cases: [sentence: string, target: string, url: string, host: string][] = [
  ['a path is itself', '/version?x=1', '/version?x=1', 'header.example'],
  ['an address is its path, and its host counts', 'http://a.example/version?x=1', '/version?x=1', 'a.example'],
  ['a scheme has either case, and a host its port', 'HTTPS://A.example:8443/v', '/v', 'A.example:8443'],
  ['a host may be an address', 'http://[::1]:80/v', '/v', '[::1]:80'],
  ['an address without a path is the root', 'http://a.example', '/', 'a.example'],
  ['a query may follow its host', 'http://a.example?x=/1', '/?x=/1', 'a.example'],
  ['the path stays as it was written', 'http://a.example//b/../c%2f', '//b/../c%2f', 'a.example'],
  ['an address within a path is none', '/http://a.example/v', '/http://a.example/v', 'header.example'],
  ['an address in an address is its path', 'http://a.example/http://b/v', '/http://b/v', 'a.example'],
  ['an address with a user is none', 'http://a@b.example/v', 'http://a@b.example/v', 'header.example'],
  ['an address without a host is none', 'http:///v', 'http:///v', 'header.example'],
  ['other schemes are none of ours', 'ftp://a.example/v', 'ftp://a.example/v', 'header.example'],
]

describe('the target of a request', () => {
  let server: Server
  before(async () => {
    server = createServer(inOriginForm(({ url, headers }, response) => response.end(`${url} ${headers.host}`)))
    await once(server.listen(0, '127.0.0.1'), 'listening')
  })
  after(() => server.close())

  for (const [sentence, target, url, host] of cases) {
    it(sentence, async () => {
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
      socket.write(`GET ${target} HTTP/1.1\r\nhost: header.example\r\nconnection: close\r\n\r\n`)
      const answer = await text(socket)
      expect(answer.slice(answer.indexOf('\r\n\r\n') + 4)).to.equal(`${url} ${host}`)
    })
  }
})
