import type { Socket } from 'node:net'
import { addressKey } from '../../core/addressKey.ts'
import { SharedPlaces } from '../../core/sharedPlaces.ts'

/** From everywhere; of one address, behind which may be many clusters, half of them. */
const MOST = 2_000

/**
 * Connections to the gate that have not shown yet that they may stay. Each takes a file and 60 KiB, whoever it is, and nothing
 * can be asked of it before it has shaken hands.
 */
export class Visitors {
  readonly #places: SharedPlaces
  /** How those that are here leave, by their address and port. */
  readonly #here = new Map<string, () => void>()

  constructor(most = MOST) {
    this.#places = new SharedPlaces(most)
  }

  get count(): number {
    return this.#here.size
  }

  /** Lets one in until it is closed or stays, or turns it away. */
  enter(socket: Socket): void {
    const key = addressKey(socket.remoteAddress)
    if (this.#places.isFullFor(key)) {
      socket.destroy()
      return
    }
    const place = placeOf(socket)
    this.#here.get(place)?.()
    this.#places.take(key)
    this.#here.set(place, () => {
      if (this.#here.delete(place)) this.#places.free(key)
    })
    socket.once('close', this.#here.get(place) as () => void)
  }

  /** It is no visitor any more: it has gone, or it may stay. */
  leave(socket: Pick<Socket, 'remoteAddress' | 'remotePort'>): void {
    this.#here.get(placeOf(socket))?.()
  }
}

const placeOf = ({ remoteAddress, remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>) =>
  `${remoteAddress} ${remotePort}`
