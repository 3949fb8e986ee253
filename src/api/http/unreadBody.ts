import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../../core/clock.ts'
import { hasBody } from './body.ts'

/** So much, and so long, is read of a body whose answer is there, and dropped. */
const DROPPED_BYTES = 8 * 1024 ** 2
const DROPPING_MILLISECONDS = 5_000

/** An unread body would have to be read to its end before the connection can be reused. */
export function closeAfterUnreadBody(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete || !hasBody(request)) return
  const length = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY)
  if (!(length <= 65_536)) response.setHeader('connection', 'close')
}

/**
 * Reads on and drops what comes. A connection that ends while its client still sends is reset, and the client may then
 * see that instead of the answer that it was sent.
 */
export function dropRest(request: IncomingMessage, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    if (request.complete || request.destroyed) return resolve()
    let left = DROPPED_BYTES
    const finish = () => {
      timer.cancel()
      request.off('data', onData).off('end', finish).off('error', finish).off('close', finish)
      resolve()
    }
    const onData = (chunk: Buffer) => {
      left -= chunk.length
      if (left < 0) finish()
    }
    const timer = clock.setTimeout(finish, DROPPING_MILLISECONDS)
    request.on('data', onData).on('end', finish).on('error', finish).on('close', finish)
    request.resume()
  })
}
