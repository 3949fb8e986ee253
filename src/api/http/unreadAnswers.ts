const MIB = 1_048_576

/** A response, as far as it is needed. */
export type Unread = {
  readonly closed: boolean
  once(event: 'close', listener: () => void): unknown
  destroy(): unknown
}

/** In bytes. An answer of a database has 32 MiB, a container of the facade 1 GiB of memory. */
export const UNREAD_LIMITS = { ofOne: 64 * MIB, ofAll: 192 * MIB }

/**
 * Long answers that wait to be read. Each is in memory until it is, and whoever asks decides how fast they read: beyond so much
 * of one caller or of all, those that wait the longest are cut off.
 */
export class UnreadAnswers {
  readonly #limits: typeof UNREAD_LIMITS
  readonly #waiting = new Map<Unread, { key: string; bytes: number }>()

  constructor(limits = UNREAD_LIMITS) {
    this.#limits = limits
  }

  /** @param key of the caller */
  add(key: string, bytes: number, response: Unread): void {
    if (response.closed) return
    this.#waiting.set(response, { key, bytes })
    response.once('close', () => this.#waiting.delete(response))
    this.#cut(this.#limits.ofOne, (one) => one === key)
    this.#cut(this.#limits.ofAll, () => true)
  }

  #cut(limit: number, isMeant: (key: string) => boolean): void {
    const meant = [...this.#waiting].filter(([, { key }]) => isMeant(key))
    let sum = meant.reduce((before, [, { bytes }]) => before + bytes, 0)
    // The newest stays: nobody could have read it yet.
    for (const [response, { bytes }] of meant.slice(0, -1)) {
      if (sum <= limit) return
      sum -= bytes
      this.#waiting.delete(response)
      response.destroy()
    }
  }
}
