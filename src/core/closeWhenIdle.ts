import type { RequestListener } from 'node:http'
import type { Socket } from 'node:net'

/** Milliseconds without progress after which a connection is closed. */
const IDLE_TIMEOUT_MS = 60_000

export type IdleOptions = {
  readonly milliseconds?: number | undefined
  /** Whether a body may arrive as slowly as its client likes, because something else limits it. */
  readonly hasOwnTime?: boolean
}

/**
 * Closes the connection of a client that takes nothing of its response for this long, or sends nothing of a body that
 * it has begun. Both hold memory that others wait for, and would outlive the token that admitted them. A response with
 * nothing to send may be silent for as long as it likes.
 */
export function closeWhenIdle(
  listener: RequestListener,
  { milliseconds = IDLE_TIMEOUT_MS, hasOwnTime = false }: IdleOptions = {},
): RequestListener {
  return (request, response) => {
    response.on('timeout', (socket: Socket) => {
      const isUntaken = socket.writableLength > 0
      const isUnsent = !hasOwnTime && !request.complete && request.readableLength === 0
      if (isUntaken || isUnsent) socket.destroy()
      // Node emits a timeout only once.
      else socket.setTimeout(milliseconds)
    })
    response.setTimeout(milliseconds)
    listener(request, response)
  }
}
