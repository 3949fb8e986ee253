import type { RequestListener } from 'node:http'
import type { Socket } from 'node:net'

/** Milliseconds. */
const STILL_FOR = 60_000

export type Stillness = {
  readonly milliseconds?: number | undefined
  /** Whether a body may be as long in coming as its client likes, because something else ends it. */
  readonly hasOwnTime?: boolean
}

/**
 * Ends the connection of a client that for so long takes nothing of its answer, or sends nothing of a body that it has begun.
 * Both keep in memory what others wait for, and would outlive the token that let them in. An answer that has nothing to say
 * may be silent for as long as it likes.
 */
export function untilStill(
  listener: RequestListener,
  { milliseconds = STILL_FOR, hasOwnTime = false }: Stillness = {},
): RequestListener {
  return (request, response) => {
    response.on('timeout', (socket: Socket) => {
      const isUntaken = socket.writableLength > 0
      const isUnsent = !hasOwnTime && !request.complete && request.readableLength === 0
      if (isUntaken || isUnsent) socket.destroy()
      // Node tells of it once.
      else socket.setTimeout(milliseconds)
    })
    response.setTimeout(milliseconds)
    listener(request, response)
  }
}
