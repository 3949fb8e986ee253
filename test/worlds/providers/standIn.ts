import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import type { OutgoingFetch } from '../../../src/adapters/outgoing/port.ts'
import { until } from '../../make/until.ts'

/** A request as a stand-in sees it: relative to its own address. */
export type Asked = {
  method: string
  path: string
  query: URLSearchParams
  authorization: string
  body: Record<string, unknown>
}
export type Said = { status: number; body?: unknown; headers?: Record<string, string> }

/**
 * A provider that cannot run on this machine, written from its public documentation: only the requests that we send.
 */
export interface StandIn {
  answer(asked: Asked): Said | Promise<Said>
}

/** Each stand-in has its own path, `https://host/<name>`. */
export type StandIns = Readonly<Record<string, StandIn>>

async function dispatch(
  all: StandIns,
  url: URL,
  { method, authorization, text }: { method: string; authorization: string; text: string },
): Promise<Said> {
  const [, name = '', ...rest] = url.pathname.split('/')
  const standIn = all[name]
  if (standIn === undefined) return { status: 404 }
  const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
  return standIn.answer({ method, path: `/${rest.join('/')}`, query: url.searchParams, authorization, body })
}

/** Calls them without a network, as `OutgoingPort.fetch` would. */
export function fetchOf(all: StandIns): OutgoingFetch {
  return async (address, { method = 'GET', headers = {}, body: text = '' } = {}) => {
    const said = await dispatch(all, new URL(address), {
      method,
      authorization: headers.authorization ?? '',
      text: String(text),
    })
    const content = said.body === undefined || said.status === 204 ? null : JSON.stringify(said.body)
    return new Response(content, { status: said.status, headers: said.headers ?? {} })
  }
}

/** Milliseconds that another test file may take on a busy machine. */
export const WHOLE_FILE = 1_200_000

/** Serves them over TLS, once another test file has freed this port: test files run concurrently. */
async function serve(all: StandIns, port: number, tls: { cert: string; key: string }): Promise<Server> {
  const server = createServer(tls, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method = 'GET', headers, url = '/' } = request
      const text = Buffer.concat(chunks).toString()
      const authorization = headers.authorization ?? ''
      void dispatch(all, new URL(url, 'https://stand.in'), { method, authorization, text }).then((said) => {
        response.writeHead(said.status, { 'content-type': 'application/json', ...said.headers })
        response.end(said.body === undefined ? '' : JSON.stringify(said.body))
      })
    })
  })
  const listen = async () => {
    await once(server.listen(port, '127.0.0.1'), 'listening')
    return true
  }
  await until('no other process plays the providers', listen, WHOLE_FILE)
  return server
}

/** Serves them at the port where the platform of the tests calls providers. */
export async function serveToPlatform(all: StandIns, { port, certificate, key }: Place): Promise<() => Promise<void>> {
  const server = await serve(all, port, { cert: readFileSync(certificate, 'utf8'), key: readFileSync(key, 'utf8') })
  return async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
}

export type Place = { readonly port: number; readonly certificate: string; readonly key: string }

/** One page of a list. */
export function pageOf<Item>(items: readonly Item[], query: URLSearchParams, sizeName: string): Item[] {
  const [page, size] = [Number(query.get('page') ?? 1), Number(query.get(sizeName) ?? 30)]
  return items.slice((page - 1) * size, page * size)
}
