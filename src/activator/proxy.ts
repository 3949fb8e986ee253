import { type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { EVENT_HEADER, KEY_HEADER } from '../contracts/functions.ts'
import { HOP_BY_HOP_HEADERS } from '../contracts/testCalls.ts'
import { framingOf } from '../core/framing.ts'
import type { FunctionTrigger } from '../crds/functionFields.ts'
import { CopyUnreachableError, connectToCopy, type ReachCopy } from './copyConnection.ts'

/**
 * Returns the headers that a copy receives: without hop-by-hop headers, headers reserved for the platform, and the
 * caller's credentials. Tenant code never sees a platform token.
 */
export function forwardedHeaders(
  headers: IncomingHttpHeaders,
  { authLevel }: Pick<FunctionTrigger, 'authLevel'>,
  address: string | undefined,
): IncomingHttpHeaders {
  const named = String(headers.connection ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
  const shown = authLevel === 'Platform' ? ['authorization'] : authLevel === 'Secret' ? [KEY_HEADER] : []
  const left = new Set([...HOP_BY_HOP_HEADERS, ...named, ...shown, EVENT_HEADER])
  const kept = Object.fromEntries(Object.entries(headers).filter(([name]) => !left.has(name)))
  const before = headers['x-forwarded-for']
  const path = [...(before === undefined ? [] : [before].flat()), ...(address === undefined ? [] : [address])]
  return {
    ...kept,
    'x-forwarded-for': path.join(', '),
    'x-forwarded-host': headers['x-forwarded-host'] ?? headers.host ?? '',
    'x-forwarded-proto': headers['x-forwarded-proto'] ?? 'https',
  }
}

export function stripHopByHopHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP_HEADERS.includes(name)))
}

export type Forwarding = { address: string; reach: ReachCopy; headers: IncomingHttpHeaders; signal: AbortSignal }

/** Streams a call to a copy and its answer back. @throws CopyUnreachableError; Error once the copy may have begun */
export async function forward(
  from: IncomingMessage,
  to: ServerResponse,
  { address, reach, headers, signal }: Forwarding,
): Promise<number> {
  const { isOpen, ...way } = await connectToCopy(address, reach, signal)
  return new Promise((resolve, reject) => {
    let isConnected = isOpen
    const framed = { ...headers, ...framingOf(from.headers) }
    const upstream = request({ ...way, method: from.method, path: from.url, headers: framed, signal })
    const begun = () => {
      isConnected = true
      from.pipe(upstream)
    }
    upstream.on('socket', (socket) => (isOpen ? begun() : socket.once('connect', begun)))
    upstream.on('response', (answer) => {
      const status = answer.statusCode ?? 0
      try {
        begin(to, status, answer.headers)
      } catch (error) {
        // An error thrown in an event handler would end the process, and with it everybody's functions.
        upstream.destroy(error as Error)
        return reject(error)
      }
      answer.pipe(to)
      answer.on('error', reject)
      answer.on('end', () => resolve(status))
    })
    // After an upgrade no other event follows, not even when the deadline passes.
    upstream.on('upgrade', (_answer, socket) => {
      socket.destroy()
      reject(new Error('The copy speaks another protocol.'))
    })
    upstream.on('error', (error) => {
      from.unpipe(upstream)
      reject(isConnected ? error : new CopyUnreachableError(error.message))
    })
    to.on('close', () => {
      if (!to.writableFinished) upstream.destroy(new Error('The caller has gone.'))
    })
  })
}

/** @throws Error for a status that Node's HTTP client accepts but its server cannot send */
function begin(to: ServerResponse, status: number, headers: IncomingHttpHeaders): void {
  if (status < 200 || status > 599) throw new Error(`The copy answered with the status ${status}.`)
  to.writeHead(status, stripHopByHopHeaders(headers))
}
