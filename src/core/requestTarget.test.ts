import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { inOriginForm } from './requestTarget.ts'

const cases: [sentence: string, target: string, url: string, host: string][] = [
  ['keeps a path', '/version?x=1', '/version?x=1', 'header.example'],
  [
    'reduces an absolute URL to its path and uses its host',
    'http://a.example/version?x=1',
    '/version?x=1',
    'a.example',
  ],
  ['accepts an upper-case scheme and keeps the port', 'HTTPS://A.example:8443/v', '/v', 'A.example:8443'],
  ['accepts an IPv6 address', 'http://[::1]:80/v', '/v', '[::1]:80'],
  ['returns / for a URL without a path', 'http://a.example', '/', 'a.example'],
  ['keeps a query directly after the host', 'http://a.example?x=/1', '/?x=/1', 'a.example'],
  ['keeps the path as it was written', 'http://a.example//b/../c%2f', '//b/../c%2f', 'a.example'],
  ['keeps a URL within a path', '/http://a.example/v', '/http://a.example/v', 'header.example'],
  ['keeps a URL within a URL as its path', 'http://a.example/http://b/v', '/http://b/v', 'a.example'],
  ['ignores a URL with a user', 'http://a@b.example/v', 'http://a@b.example/v', 'header.example'],
  ['ignores a URL without a host', 'http:///v', 'http:///v', 'header.example'],
  ['ignores other schemes', 'ftp://a.example/v', 'ftp://a.example/v', 'header.example'],
]

describe('inOriginForm', () => {
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
