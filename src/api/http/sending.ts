import { hash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { pipeline as pump } from 'node:stream/promises'
import { setImmediate } from 'node:timers/promises'
import { disconnectSignalOf } from '../../core/disconnectSignal.ts'
import { type BodyDrain, type DrainOptions, drainUnreadBody, endAfter, UNMETERED_DRAIN } from '../../core/unreadBody.ts'
import type { Answer } from './answer.ts'

/** Returns undefined if the caller may proceed at once, otherwise a promise for its next turn. */
type Turn = () => Promise<void> | undefined

export type Sending = {
  readonly turn: Turn
  /** Called with the bytes of an answer before they are sent. */
  spend(bytes: number): void
  readonly dropping?: DrainOptions
}

const UNLIMITED_SENDING: Sending = { turn: () => undefined, spend: () => undefined }

export async function send(
  request: IncomingMessage,
  response: ServerResponse,
  answer: Answer,
  { turn, spend, dropping = UNMETERED_DRAIN }: Sending = UNLIMITED_SENDING,
): Promise<void> {
  const rest = drainUnreadBody(request, response, dropping)
  response.statusCode = answer.status
  for (const [name, value] of Object.entries(answer.headers ?? {})) response.setHeader(name, value)
  if (answer.stream !== undefined) {
    const { stream, held, isOpenEnded = false } = answer
    await sendStream(stream, request, response, { rest, isOpenEnded, held, spend })
    return
  }
  if (answer.bytes !== undefined) {
    spend(answer.bytes.length)
    response.setHeader('content-length', answer.bytes.length)
    endAfter(rest, response, answer.bytes)
    return
  }
  const parts = answer.parts ?? (answer.body === undefined ? undefined : [JSON.stringify(answer.body)])
  if (parts === undefined) {
    if (answer.status !== 204 && answer.status !== 304) response.setHeader('content-length', '0')
    endAfter(rest, response)
    return
  }
  if (isSingleRead(request, answer)) response.setHeader('etag', weakTag(parts.join(''), answer))
  if (!response.hasHeader('content-type')) response.setHeader('content-type', 'application/json; charset=utf-8')
  const bytes = sumOf(parts, Buffer.byteLength)
  spend(bytes)
  response.setHeader('content-length', bytes)
  if (sumOf(parts, ({ length }) => length) <= SLICE_CHARACTERS) endAfter(rest, response, parts.join(''))
  else await sendInSlices(response, parts, turn, rest)
}

type StreamSending = Pick<Sending, 'spend'> & {
  readonly rest: BodyDrain | undefined
  readonly isOpenEnded: boolean
  readonly held: number | undefined
}

const LISTENERS_MAX = 20

async function sendStream(
  stream: Readable,
  request: IncomingMessage,
  response: ServerResponse,
  { rest, isOpenEnded, held, spend }: StreamSending,
): Promise<void> {
  if (request.method === 'HEAD' || response.destroyed) {
    // A followed log would be read forever for nobody, and block the next request of the connection.
    stream.on('error', () => undefined).destroy()
    endAfter(rest, response)
    return
  }
  if (isOpenEnded) response.flushHeaders()
  else if (held !== undefined) spend(held)
  // A page of a log may be long, and stays in memory until a slow client reads it.
  else stream.on('data', (piece: { length: number }) => spend(piece.length))
  // `pump` adds six, and Node.js would report more than ten as a leak.
  response.setMaxListeners(LISTENERS_MAX)
  await pump(stream, response, { end: rest === undefined }).catch((error: NodeJS.ErrnoException) => {
    // A client that closes a stream without an end has not failed.
    if (!isOpenEnded || error.code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error
  })
  if (rest !== undefined && !response.destroyed) endAfter(rest, response)
}

function sumOf(parts: readonly string[], measure: (part: string) => number): number {
  let sum = 0
  for (const part of parts) sum += measure(part)
  return sum
}

/** Whether this reads one thing without an ETag: lists are written in pieces, and stored objects have an ETag. */
function isSingleRead({ method = '' }: IncomingMessage, { status, parts, headers }: Answer): boolean {
  return ['GET', 'HEAD'].includes(method) && status === 200 && parts === undefined && headers?.etag === undefined
}

/** A tag for caches only: no If-Match accepts it. A digest of a secret would help others guess it. */
function weakTag(text: string, { headers }: Answer): string {
  const isSecret = headers?.['cache-control'] === 'no-store'
  return `W/"${isSecret ? randomUUID() : hash('sha256', text, 'base64url').slice(0, 22)}"`
}

/** In characters. Encoding and sending a megabyte at once would block the thread for milliseconds. */
const SLICE_CHARACTERS = 65_536

/** Slices take turns with the caller's requests: otherwise twelve lists at once would send twelve slices a round. */
async function sendInSlices(
  response: ServerResponse,
  parts: readonly string[],
  turn: Turn,
  rest: BodyDrain | undefined,
): Promise<void> {
  let isFirst = true
  for (const slice of slicesOf(parts)) {
    if (!isFirst) {
      if (response.writableNeedDrain)
        await once(response, 'drain', { signal: disconnectSignalOf(response) }).catch(() => undefined)
      // If the system takes everything at once, `drain` is emitted before other requests have been read.
      await setImmediate()
      await turn()
    }
    if (response.destroyed) break
    response.write(slice)
    isFirst = false
  }
  endAfter(rest, response)
}

/** Joins only what is sent next: a list as one text would be a megabyte of garbage. */
function* slicesOf(parts: readonly string[]): Generator<string> {
  let slice = ''
  for (const part of parts) {
    if (slice.length + part.length > SLICE_CHARACTERS && slice !== '') {
      yield slice
      slice = ''
    }
    if (part.length > SLICE_CHARACTERS) yield* piecesOf(part)
    else slice += part
  }
  if (slice !== '') yield slice
}

function* piecesOf(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    // Do not cut a surrogate pair in half.
    const isSplit = (text.charCodeAt(start + SLICE_CHARACTERS - 1) & 0xfc00) === 0xd800
    const end = start + SLICE_CHARACTERS - (isSplit ? 1 : 0)
    yield text.slice(start, end)
    start = end
  }
}
