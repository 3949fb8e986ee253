import type { Duplex } from 'node:stream'
import { SqlFault } from './port.ts'

/**
 * A page, or what a batch answers, is held in memory whole, and several times while it becomes JSON: whoever has a
 * database can make it answer anything, and others live in the same process.
 */
export const ANSWER_MAX_BYTES = 32 * 1024 * 1024
/** What all databases together answer at once: each one is held several times over until it is sent. */
export const ANSWERS_MAX_BYTES = 4 * ANSWER_MAX_BYTES
/** What an engine says before it lets somebody in. */
const OPENING_MAX_BYTES = 1024 * 1024

/** How much an engine may say to one thing that it is told. */
export class Leash {
  #most = OPENING_MAX_BYTES

  /** It has let us in. */
  loosen(): void {
    // The answer as a whole is looked at elsewhere, and as too long it is told there.
    this.#most = 4 * ANSWER_MAX_BYTES
  }

  /**
   * Ends a socket whose driver throws at what it reads, and one that says too much. Drivers read in events of their sockets: what
   * they throw there at an engine in other hands would end the process, and with it the requests of everybody.
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
          if (given[0] === 'data' && socket.bytesRead - before > this.#most) throw tooLarge()
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
