import { type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { EVENT_HEADER, FORWARDED_HEADER, KEY_HEADER, MOVED_HEADER } from '../contracts/functions.ts'
import { HOP_BY_HOP_HEADERS, isReservedHeader } from '../contracts/testCalls.ts'
import { framingOf, hasBody } from '../core/framing.ts'
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
  const credentials = authLevel === 'Platform' ? ['authorization'] : authLevel === 'Secret' ? [KEY_HEADER] : []
  const dropped = new Set([...HOP_BY_HOP_HEADERS, ...named, ...credentials, EVENT_HEADER, FORWARDED_HEADER])
  // Functions in Python and PHP take a reserved header in another spelling for the platform's.
  const isForged = (name: string) => name.includes('_') && isReservedHeader(name)
  const forwarded = Object.fromEntries(
    Object.entries(headers).filter(([name]) => !dropped.has(name) && !isForged(name)),
  )
  const forwardedFor = headers['x-forwarded-for']
  const path = [
    ...(forwardedFor === undefined ? [] : [forwardedFor].flat()),
    ...(address === undefined ? [] : [address]),
  ]
  return {
    ...forwarded,
    'x-forwarded-for': path.join(', '),
    // Not the caller's: a proxy in front may leave it as the caller wrote it, but routes by Host.
    'x-forwarded-host': headers.host ?? '',
    'x-forwarded-proto': headers['x-forwarded-proto'] ?? 'https',
  }
}

export function stripHopByHopHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  // A copy that sent the header of an activator could have a call made again.
  const dropped = [...HOP_BY_HOP_HEADERS, MOVED_HEADER]
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !dropped.includes(name)))
}

export type Forwarding = {
  address: string
  reach: ReachCopy
  headers: IncomingHttpHeaders
  signal: AbortSignal
  /** Whether the address is another activator, which may say that it does not take the call. */
  isPeer?: boolean
  /** Asked once it is connected, and again when a body comes, before anything is sent: this process may have been paused. */
  mayBegin?: () => boolean
}

/** Milliseconds to connect to another activator: one on a lost node does not refuse. */
const PEER_CONNECT_TIMEOUT_MS = 2_000

/** Streams a call to a copy and its answer back. @throws CopyUnreachableError; Error once the copy may have begun */
export async function forward(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { address, reach, headers, signal, isPeer = false, mayBegin = () => true }: Forwarding,
): Promise<number> {
  const { isOpen, ...connection } = await connectToCopy(address, reach, signal)
  return new Promise((resolve, reject) => {
    let isConnected = isOpen
    const mustWait = isPeer && hasBody(incoming)
    const framed = { ...headers, ...framingOf(incoming.headers), ...(mustWait ? { expect: '100-continue' } : {}) }
    const { method, url: path } = incoming
    const timeout = isPeer ? PEER_CONNECT_TIMEOUT_MS : undefined
    const upstream = request({ ...connection, method, path, headers: framed, signal, timeout })
    const unlessTooLate = (go: () => unknown) => () =>
      mayBegin() ? go() : upstream.destroy(new Error('The call may no longer begin.'))
    // Node sends the headers with the first of the body, so nothing has left before.
    const sendBody = unlessTooLate(() => incoming.pipe(upstream))
    const onConnected = unlessTooLate(() => {
      isConnected = true
      if (mustWait) return
      if (hasBody(incoming)) incoming.once('readable', sendBody)
      else upstream.end()
    })
    if (mustWait) upstream.on('continue', () => incoming.pipe(upstream))
    // Also emitted for silence once it is connected.
    upstream.on('timeout', () => isConnected || upstream.destroy(new Error('The activator cannot be reached.')))
    upstream.on('socket', (socket) => (isOpen ? onConnected() : socket.once('connect', onConnected)))
    upstream.on('response', (answer) => {
      const status = answer.statusCode ?? 0
      if (isPeer && answer.headers[MOVED_HEADER] !== undefined) {
        upstream.destroy()
        return reject(new CopyUnreachableError('The activator leads no longer.'))
      }
      try {
        begin(outgoing, status, answer.headers)
      } catch (error) {
        // An error thrown in an event handler would end the process, and with it everybody's functions.
        upstream.destroy(error as Error)
        return reject(error)
      }
      answer.pipe(outgoing)
      answer.on('error', reject)
      answer.on('end', () => resolve(status))
    })
    // After an upgrade no other event follows, not even when the deadline passes.
    upstream.on('upgrade', (_answer, socket) => {
      socket.destroy()
      reject(new Error('The copy speaks another protocol.'))
    })
    upstream.on('error', (error) => {
      incoming.off('readable', sendBody).unpipe(upstream)
      reject(isConnected ? error : new CopyUnreachableError(error.message))
    })
    outgoing.on('close', () => {
      if (!outgoing.writableFinished) upstream.destroy(new Error('The caller has gone.'))
    })
  })
}

/** @throws Error for a status that Node's HTTP client accepts but its server cannot send */
function begin(outgoing: ServerResponse, status: number, headers: IncomingHttpHeaders): void {
  if (status < 200 || status > 599) throw new Error(`The copy answered with the status ${status}.`)
  outgoing.writeHead(status, stripHopByHopHeaders(headers))
}
