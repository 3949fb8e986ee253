import type { Request, RequestHandler, Response } from 'express'
import { addressKey } from '../core/addressKey.ts'
import type { Clock, Timer } from '../core/clock.ts'
import { SharedSlots } from '../core/sharedSlots.ts'

/** Bytes of the parameters of a request that begins a sign-in. Programs send some hundred. */
const PARAMETERS_MAX_BYTES = 4_096

type Refuse = (request: Request, response: Response) => void

/**
 * Counts the pages that are shown and the codes that devices wait for. Anybody can begin them, and each is stored until
 * it is finished or expires: without a bound, callers with many addresses could fill the store of the whole cluster.
 */
export class PendingSignIns {
  readonly #slots: SharedSlots
  readonly #clock: Clock
  readonly #held = new Map<string, { key: string; timer: Timer }>()

  constructor(max: number, clock: Clock) {
    this.#slots = new SharedSlots(max)
    this.#clock = clock
  }

  /** Refuses to begin another one if it is too long, or if the address has no slot left. */
  limit({ tooLong, tooMany }: { tooLong: Refuse; tooMany: Refuse }): RequestHandler {
    return (request, response, next) => {
      const query = request.originalUrl.length - (request.originalUrl.split('?', 1)[0] ?? '').length
      const body = Number(request.headers['content-length'] ?? 0)
      const isLong = query + body > PARAMETERS_MAX_BYTES || request.headers['transfer-encoding'] !== undefined
      if (isLong) tooLong(request, response)
      else if (this.#slots.isFullFor(addressKey(request.ip))) tooMany(request, response)
      else next()
    }
  }

  /** Takes a slot for `seconds`; none if it has one. */
  begin(id: string, address: string, seconds: number): void {
    if (this.#held.has(id)) return
    const key = addressKey(address)
    this.#slots.take(key)
    this.#held.set(id, { key, timer: this.#clock.setTimeout(() => this.end(id), seconds * 1_000) })
  }

  /** Frees its slot. One that another replica has begun has none here. */
  end(id: string): void {
    const held = this.#held.get(id)
    if (held === undefined) return
    held.timer.cancel()
    this.#held.delete(id)
    this.#slots.free(held.key)
  }

  stop(): void {
    for (const id of [...this.#held.keys()]) this.end(id)
  }
}
