// A separate process that refuses every request at once, which shows what a hostile caller costs the machine alone.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const server = createServer((request, response) => {
  request.resume()
  request.once('end', () => response.writeHead(429, { 'content-type': 'application/json' }).end('{}'))
})
// Its parent may be killed.
process.once('disconnect', () => process.exit())
server.listen(0, '127.0.0.1', () => process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`))
