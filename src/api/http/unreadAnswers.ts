const MIB = 1_048_576

/** A response, as far as it is needed. */
export type Unread = {
  readonly closed: boolean
  once(event: 'close', listener: () => void): unknown
  destroy(): unknown
}

/** A caller, and whose it is: a boundary, or the caller. */
export type Reader = { readonly key: string; readonly place: string }

/** In bytes. An answer of a database has 32 MiB, a container of the facade 1 GiB of memory. */
export const UNREAD_LIMITS = { ofOne: 64 * MIB, ofAll: 192 * MIB }

/**
 * Long answers that wait to be read. Each is in memory until it is, and whoever asks decides how fast they read: beyond so much
 * of one caller those are cut off that wait the longest, and beyond so much of all those of the place that leaves the most. A
 * tenant has as many callers as it likes.
 */
export class UnreadAnswers {
  readonly #limits: typeof UNREAD_LIMITS
  readonly #waiting = new Map<Unread, Waiting>()

  constructor(limits = UNREAD_LIMITS) {
    this.#limits = limits
  }

  add({ key, place }: Reader, bytes: number, response: Unread): void {
    if (response.closed) return
    const newest = { key, place, bytes, response }
    // A stream is told of piece by piece.
    if (!this.#waiting.has(response)) response.once('close', () => this.#waiting.delete(response))
    this.#waiting.set(response, newest)
    const ofKey = () => [...this.#waiting.values()].filter((one) => one.key === key)
    this.#cut(this.#limits.ofOne, newest, ofKey, ofKey)
    const all = () => [...this.#waiting.values()]
    this.#cut(this.#limits.ofAll, newest, all, () => ofGreediest(all()))
  }

  /** The newest stays: nobody could have read it yet. */
  #cut(limit: number, newest: Waiting, meant: () => Waiting[], from: () => Waiting[]): void {
    while (sumOf(meant()) > limit) {
      const oldest = from().find((one) => one !== newest) ?? meant().find((one) => one !== newest)
      if (oldest === undefined) return
      this.#waiting.delete(oldest.response)
      oldest.response.destroy()
    }
  }
}

type Waiting = Reader & { readonly bytes: number; readonly response: Unread }

const sumOf = (answers: readonly Waiting[]) => answers.reduce((sum, { bytes }) => sum + bytes, 0)

/** The answers of the place that leaves the most. */
function ofGreediest(all: readonly Waiting[]): Waiting[] {
  const places = Map.groupBy(all, ({ place }) => place).values()
  return [...places].reduce((most, answers) => (sumOf(answers) > sumOf(most) ? answers : most), [])
}
