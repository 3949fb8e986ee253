// Serves one function over HTTP. It stands in the image beside the source, in the folder that it is started in.
//
// FUNCTION_HANDLER is a file of the source, and after a dot what it exports; its default export if nothing follows. That
// is a function of a Request that gives a Response. A timer is a POST with `x-function-event: timer` and a body
// { trigger, scheduledAt }.
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { pathToFileURL } from 'node:url'

const handler = process.env.FUNCTION_HANDLER ?? 'index'
const endings = ['', '.mjs', '.js', '.cjs', '/index.mjs', '/index.js']

function fileOf(name) {
  return endings
    .map((ending) => join(process.cwd(), name + ending))
    .find((path) => /\.[cm]?js$/.test(path) && existsSync(path))
}

async function load() {
  const whole = fileOf(handler)
  const dot = handler.lastIndexOf('.')
  const [path, name] =
    whole !== undefined || dot < 1 ? [whole, 'default'] : [fileOf(handler.slice(0, dot)), handler.slice(dot + 1)]
  if (path === undefined) throw new Error(`The source has no file for the handler "${handler}".`)
  const module = await import(pathToFileURL(path).href)
  const found = module[name] ?? module.default?.[name]
  if (typeof found !== 'function') throw new Error(`"${path}" exports no function "${name}".`)
  return found
}

function requestOf(incoming) {
  const headers = new Headers()
  for (const [name, value] of Object.entries(incoming.headers))
    for (const each of [value].flat()) headers.append(name, each)
  const host = incoming.headers['x-forwarded-host'] ?? incoming.headers.host ?? 'localhost'
  const hasBody = incoming.method !== 'GET' && incoming.method !== 'HEAD'
  return new Request(new URL(incoming.url, `https://${host}`), {
    method: incoming.method,
    headers,
    ...(hasBody && { body: Readable.toWeb(incoming), duplex: 'half' }),
  })
}

async function answer(call, incoming, outgoing) {
  const response = (await call(requestOf(incoming))) ?? new Response(null, { status: 204 })
  if (!(response instanceof Response)) throw new Error('The handler gave something else than a Response.')
  outgoing.statusCode = response.status
  for (const [name, value] of response.headers) if (name !== 'set-cookie') outgoing.setHeader(name, value)
  const cookies = response.headers.getSetCookie()
  if (cookies.length > 0) outgoing.setHeader('set-cookie', cookies)
  if (response.body === null) return outgoing.end()
  await pipeline(Readable.fromWeb(response.body), outgoing)
}

const call = await load()
const server = createServer((incoming, outgoing) => {
  answer(call, incoming, outgoing).catch((error) => {
    // Whoever asked has gone: what was still to be told is let go.
    if (outgoing.destroyed && error?.code === 'ERR_STREAM_PREMATURE_CLOSE') return
    // For the log of the function; a caller learns nothing of its code.
    console.error(error)
    if (outgoing.headersSent) return outgoing.destroy()
    outgoing.writeHead(500, { 'content-type': 'application/json' })
    outgoing.end('{"error":"The function failed.","code":"FUNCTION_FAILED"}')
  })
})
server.listen(Number(process.env.PORT ?? 8080), () =>
  console.error(`The function serves on port ${server.address().port}.`),
)
// Calls that are under way end first.
process.on('SIGTERM', () => server.close(() => process.exit(0)))
