import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Clock, systemClock } from './clock.ts'
import { hasBody } from './framing.ts'

/** In bytes. An announced rest up to this is always read and dropped, and the connection is kept alive. */
const SHORT_BODY_BYTES = 65_536
/** How much of a body is read and dropped, at most, once its response is ready; and for how long. */
const MAX_DROPPED_BYTES = 64 * 1024 ** 2
const DROP_TIMEOUT_MS = 30_000
/** A client that is silent for this long has read its response, or never will. */
const SILENCE_TIMEOUT_MS = 5_000

export type DrainOptions = {
  readonly clock: Clock
  /** @returns milliseconds until more may be read of this caller; undefined if nothing more should be read */
  pay(bytes: number): number | undefined
}

/** For servers that do not count bytes. */
export const UNMETERED_DRAIN: DrainOptions = { clock: systemClock, pay: () => 0 }

/** Settles when a response may end that was ready before its whole request had been read. */
export type BodyDrain = Promise<void>

/**
 * Must be called before the headers of a response are sent. Returns undefined if the response may end at once.
 *
 * The rest of a body has to be read before the connection can be reused; a long rest ends the connection instead. But a
 * connection that is closed while its client still sends is reset, and a client that reads only after sending
 * everything finds no response. So the response is sent at once, and the rest is dropped for a while before the
 * connection is closed.
 */
export function drainUnreadBody(
  request: IncomingMessage,
  response: ServerResponse,
  dropping: DrainOptions,
): BodyDrain | undefined {
  if (request.complete || !hasBody(request)) return undefined
  const length = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY)
  const isKept = response.shouldKeepAlive && response.getHeader('connection') !== 'close'
  if (isKept && length <= SHORT_BODY_BYTES) {
    request.resume()
    return undefined
  }
  response.setHeader('connection', 'close')
  return dropRest(request, dropping)
}

/** Sends the last chunk of a response, if any, and ends the response. */
export function endAfter(rest: BodyDrain | undefined, response: ServerResponse, last?: string | Uint8Array): void {
  if (rest === undefined) {
    response.end(last)
    return
  }
  if (last === undefined) response.flushHeaders()
  else response.write(last)
  void rest.then(() => response.end())
}

function dropRest(request: IncomingMessage, { clock, pay }: DrainOptions): BodyDrain {
  return new Promise((resolve) => {
    if (request.complete || request.destroyed) return resolve()
    let left = MAX_DROPPED_BYTES
    const finish = () => {
      deadline.cancel()
      pause.cancel()
      request.off('data', onData).off('end', finish).off('error', finish).off('close', finish)
      request.pause()
      resolve()
    }
    const onData = (chunk: Buffer) => {
      pause.cancel()
      left -= chunk.length
      const wait = left < 0 ? undefined : pay(chunk.length)
      if (wait === undefined) return finish()
      if (wait > 0) request.pause()
      pause = wait > 0 ? clock.setTimeout(goOn, wait) : clock.setTimeout(finish, SILENCE_TIMEOUT_MS)
    }
    const goOn = () => {
      pause = clock.setTimeout(finish, SILENCE_TIMEOUT_MS)
      request.resume()
    }
    const deadline = clock.setTimeout(finish, DROP_TIMEOUT_MS)
    let pause = clock.setTimeout(finish, SILENCE_TIMEOUT_MS)
    request.on('data', onData).on('end', finish).on('error', finish).on('close', finish)
    request.resume()
  })
}
