import type { Socket } from 'node:net'
import { addressKey } from '../../core/addressKey.ts'
import { SharedSlots } from '../../core/sharedSlots.ts'

/** Connections in all. A single address, which many clusters may share, gets at most half of them. */
const MAX_CONNECTIONS = 2_000

/**
 * Limits the connections to the gate that are not known yet. Each takes a file descriptor and 60 KiB, and cannot be
 * identified before its handshake.
 */
export class UnidentifiedConnections {
  readonly #slots: SharedSlots
  /** Functions that release a connection, by address and port. */
  readonly #releases = new Map<string, () => void>()

  constructor(max = MAX_CONNECTIONS) {
    this.#slots = new SharedSlots(max)
  }

  get count(): number {
    return this.#releases.size
  }

  /** Admits a connection until it closes or is identified, or destroys it. */
  enter(socket: Socket): void {
    const key = addressKey(socket.remoteAddress)
    if (this.#slots.isFullFor(key)) {
      socket.destroy()
      return
    }
    const addressSlot = placeOf(socket)
    this.#releases.get(addressSlot)?.()
    this.#slots.take(key)
    this.#releases.set(addressSlot, () => {
      if (this.#releases.delete(addressSlot)) this.#slots.free(key)
    })
    socket.once('close', this.#releases.get(addressSlot) as () => void)
  }

  /** Releases a connection that has closed, or that may stay. */
  leave(socket: Pick<Socket, 'remoteAddress' | 'remotePort'>): void {
    this.#releases.get(placeOf(socket))?.()
  }
}

const placeOf = ({ remoteAddress, remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>) =>
  `${remoteAddress} ${remotePort}`
