import type { Duplex } from 'node:stream'
import { SqlFault } from './port.ts'

/**
 * Largest answer in bytes. An answer is held in memory as a whole, and several times while it is encoded as JSON. A
 * tenant can make a database return anything, and shares the process with other tenants.
 */
export const ANSWER_MAX_BYTES = 32 * 1024 * 1024
/** Largest total of answers that are being read at once, over all databases. */
export const ANSWERS_MAX_BYTES = 4 * ANSWER_MAX_BYTES
/** Bytes that an engine may send before the login completes. */
const OPENING_MAX_BYTES = 1024 * 1024

/** Limits how much an engine may send in answer to one request. */
export class AnswerLimiter {
  #maxBytes = OPENING_MAX_BYTES

  /** Called once the login has completed. */
  loosen(): void {
    // Only a backstop: the limit on the whole answer, with its own error, is enforced in `superviseCall`.
    this.#maxBytes = 4 * ANSWER_MAX_BYTES
  }

  /**
   * Destroys a socket if its driver throws while reading, or if too much arrives. Drivers parse in the socket's event
   * handlers: an exception there, which a hostile engine can cause, would end the process.
   */
  hold<Socket extends Duplex & { readonly bytesRead: number }>(socket: Socket): Socket {
    let before = 0
    const write = socket.write.bind(socket) as (...given: unknown[]) => boolean
    const emit = socket.emit.bind(socket) as (...given: unknown[]) => boolean
    const held = {
      write: (...given: unknown[]) => {
        before = socket.bytesRead
        return write(...given)
      },
      emit: (...given: unknown[]) => {
        try {
          if (given[0] === 'data' && socket.bytesRead - before > this.#maxBytes) throw tooLarge()
          return emit(...given)
        } catch (error) {
          socket.destroy(error as Error)
          return true
        }
      },
    }
    return Object.assign(socket, held)
  }
}

export function tooLarge(): SqlFault {
  const bound = `${ANSWER_MAX_BYTES / 1024 / 1024} MiB`
  return new SqlFault('TooLarge', `The answer has more than ${bound}: ask for fewer rows, or for less of long values.`)
}
