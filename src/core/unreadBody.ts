import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Clock, systemClock } from './clock.ts'
import { hasBody } from './framing.ts'

/** In bytes. Announced rests up to this are read whatever they belong to, and the connection goes on. */
const SHORT_BODY = 65_536
/** So much is read of a body whose answer is there, and dropped: no more, and not for longer. */
const DROPPED_BYTES = 64 * 1024 ** 2
const DROPPING_MILLISECONDS = 30_000
/** A client that sends nothing for so long has read its answer, or never will. */
const SILENT_MILLISECONDS = 5_000

export type Dropping = {
  readonly clock: Clock
  /** @returns milliseconds until more of its caller may be read; undefined if nothing more of it should be */
  pay(bytes: number): number | undefined
}

/** Of whoever counts no bytes. */
export const FREE_DROPPING: Dropping = { clock: systemClock, pay: () => 0 }

/** Settled when an answer may end that came before all of its request had been read. */
export type Rest = Promise<void>

/**
 * To be asked before the headers of an answer are sent; undefined where it may end at once.
 *
 * The rest of a body has to be read before the connection can be used again: a long one ends it instead. But a connection
 * that is closed while its client still sends is reset, and a client that reads only after it has sent all finds no
 * answer. So the answer goes out at once, and what comes is dropped for a while before the connection is closed.
 */
export function restOf(request: IncomingMessage, response: ServerResponse, dropping: Dropping): Rest | undefined {
  if (request.complete || !hasBody(request)) return undefined
  const length = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY)
  const isKept = response.shouldKeepAlive && response.getHeader('connection') !== 'close'
  if (isKept && length <= SHORT_BODY) {
    request.resume()
    return undefined
  }
  response.setHeader('connection', 'close')
  return dropRest(request, dropping)
}

/** Sends the last piece of an answer, if there is one, and ends it. */
export function endAfter(rest: Rest | undefined, response: ServerResponse, last?: string | Uint8Array): void {
  if (rest === undefined) {
    response.end(last)
    return
  }
  if (last === undefined) response.flushHeaders()
  else response.write(last)
  void rest.then(() => response.end())
}

function dropRest(request: IncomingMessage, { clock, pay }: Dropping): Rest {
  return new Promise((resolve) => {
    if (request.complete || request.destroyed) return resolve()
    let left = DROPPED_BYTES
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
      pause = wait > 0 ? clock.setTimeout(goOn, wait) : clock.setTimeout(finish, SILENT_MILLISECONDS)
    }
    const goOn = () => {
      pause = clock.setTimeout(finish, SILENT_MILLISECONDS)
      request.resume()
    }
    const deadline = clock.setTimeout(finish, DROPPING_MILLISECONDS)
    let pause = clock.setTimeout(finish, SILENT_MILLISECONDS)
    request.on('data', onData).on('end', finish).on('error', finish).on('close', finish)
    request.resume()
  })
}
