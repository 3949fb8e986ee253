import { hash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline as pump } from 'node:stream/promises'
import { setImmediate } from 'node:timers/promises'
import type { Answer } from './answer.ts'
import { hasBody } from './body.ts'
import { signalOf } from './requestContext.ts'

export async function send(request: IncomingMessage, response: ServerResponse, answer: Answer): Promise<void> {
  closeAfterUnreadBody(request, response)
  response.statusCode = answer.status
  for (const [name, value] of Object.entries(answer.headers ?? {})) response.setHeader(name, value)
  if (answer.stream !== undefined) {
    if (answer.isOpenEnded === true) response.flushHeaders()
    await pump(answer.stream, response)
    return
  }
  const text = answer.parts?.join('') ?? (answer.body === undefined ? undefined : JSON.stringify(answer.body))
  if (text === undefined) {
    if (answer.status !== 204) response.setHeader('content-length', '0')
    response.end()
    return
  }
  if (isSingleRead(request, answer)) response.setHeader('etag', weakTag(text, answer))
  if (!response.hasHeader('content-type')) response.setHeader('content-type', 'application/json; charset=utf-8')
  response.setHeader('content-length', Buffer.byteLength(text))
  if (text.length <= SLICE) response.end(text)
  else await sendInSlices(response, text)
}

/** Of one thing, worked out for this answer: pages of lists are written piece by piece, stored objects have their tag. */
function isSingleRead({ method }: IncomingMessage, { status, parts, headers }: Answer): boolean {
  return method === 'GET' && status === 200 && parts === undefined && headers?.etag === undefined
}

/** Tells answers apart; no If-Match takes it. A digest of a secret would let others guess it. */
function weakTag(text: string, { headers }: Answer): string {
  const isSecret = headers?.['cache-control'] === 'no-store'
  return `W/"${isSecret ? randomUUID() : hash('sha256', text, 'base64url').slice(0, 22)}"`
}

/** In characters. Encoding and sending a megabyte at once would keep the thread from everybody else for milliseconds. */
const SLICE = 131_072

async function sendInSlices(response: ServerResponse, text: string): Promise<void> {
  for (let start = 0; start < text.length && !response.destroyed; ) {
    // Never between the halves of a surrogate pair.
    const isSplit = (text.charCodeAt(start + SLICE - 1) & 0xfc00) === 0xd800
    const end = start + SLICE - (isSplit ? 1 : 0)
    const isAhead = response.write(text.slice(start, end))
    start = end
    if (isAhead) await setImmediate()
    else await once(response, 'drain', { signal: signalOf(response) }).catch(() => undefined)
  }
  response.end()
}

/** An unread body would have to be read to its end before the connection can be reused. */
export function closeAfterUnreadBody(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete || !hasBody(request)) return
  const length = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY)
  if (!(length <= 65_536)) response.setHeader('connection', 'close')
}
