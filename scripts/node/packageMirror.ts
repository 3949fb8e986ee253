import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Server } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { request } from 'undici'
import { messageOf } from '../../src/core/errors.ts'

/**
 * The only thing outside the node that builds reach: read access to packages of this machine's npm registry. Runs next
 * to the node: `packageMirror.ts REGISTRY ADDRESS PORT COMMAND...`, where the command enters the node's network. A
 * process in there creates the socket, passes it on and ends.
 */
const [registry = '', address = '', port = '', command = '', ...words] = process.argv.slice(2)
/** A package of any name, one of its versions, or its archive. */
const PATH = /^\/(@[\w.~-]+(\/|%2f))?[\w.~-]+(\/-\/[\w.~-]+\.tgz|\/[\w.+~-]+)?$/i
/** The request headers that select a representation. */
const FORWARDED_HEADERS = ['accept', 'if-none-match'] as const
const RETURNED_HEADERS = ['content-type', 'content-length', 'etag', 'cache-control'] as const

async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = incoming.url ?? '/'
  if (incoming.method !== 'GET' || !PATH.test(path)) return void response.writeHead(404).end()
  const headers = Object.fromEntries(
    FORWARDED_HEADERS.flatMap((name) => (incoming.headers[name] ? [[name, incoming.headers[name]]] : [])),
  )
  const found = await request(registry.replace(/\/+$/, '') + path, { headers })
  for (const name of RETURNED_HEADERS) {
    const value = found.headers[name]
    if (value !== undefined) response.setHeader(name, value)
  }
  response.writeHead(found.statusCode)
  await pipeline(found.body, response)
}

async function listenInside(): Promise<Server> {
  const script = join(import.meta.dirname, 'listener.ts')
  const child = spawn(command, [...words, process.execPath, script, address, port], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const [, server] = (await once(child, 'message')) as [unknown, Server]
  return server
}

const server = createServer((incoming, response) => {
  answer(incoming, response).catch((error: unknown) => {
    process.stderr.write(`${incoming.url}: ${messageOf(error)}\n`)
    if (response.headersSent) response.destroy()
    else response.writeHead(502).end()
  })
})
server.listen(await listenInside())
