const MIB = 1_048_576

/** The part of a response that is needed here. */
export type UnreadResponse = {
  readonly closed: boolean
  once(event: 'close', listener: () => void): unknown
  destroy(): unknown
}

/** A caller, and its scope: a boundary, or the caller. */
export type AnswerReader = { readonly key: string; readonly scope: string }

/** In bytes. A database answer has up to 32 MiB, and a container of the facade 1 GiB of memory. */
export const UNREAD_LIMITS = { ofOne: 64 * MIB, ofAll: 192 * MIB }

/**
 * Limits long answers that wait to be read. Each stays in memory until then, and the client decides how fast it reads.
 * Beyond the limit of a caller, its oldest answers are cut off; beyond the limit of all, the oldest of the scope with
 * the most bytes, because a tenant may have any number of callers.
 */
export class UnreadAnswers {
  readonly #waiting = new Map<UnreadResponse, Waiting>()

  add({ key, scope }: AnswerReader, bytes: number, response: UnreadResponse): void {
    if (response.closed) return
    const newest = { key, scope, bytes, response }
    // A stream is added once per chunk.
    if (!this.#waiting.has(response)) response.once('close', () => this.#waiting.delete(response))
    this.#waiting.set(response, newest)
    const ofKey = () => [...this.#waiting.values()].filter((one) => one.key === key)
    this.#dropOldest(UNREAD_LIMITS.ofOne, newest, ofKey, ofKey)
    const all = () => [...this.#waiting.values()]
    this.#dropOldest(UNREAD_LIMITS.ofAll, newest, all, () => answersOfLargestScope(all()))
  }

  /** Spares the newest answer: nobody could have read it yet. */
  #dropOldest(limit: number, newest: Waiting, counted: () => Waiting[], from: () => Waiting[]): void {
    while (sumOf(counted()) > limit) {
      const oldest = from().find((one) => one !== newest) ?? counted().find((one) => one !== newest)
      if (oldest === undefined) return
      this.#waiting.delete(oldest.response)
      oldest.response.destroy()
    }
  }
}

type Waiting = AnswerReader & { readonly bytes: number; readonly response: UnreadResponse }

const sumOf = (answers: readonly Waiting[]) => answers.reduce((sum, { bytes }) => sum + bytes, 0)

/** Returns the answers of the scope with the most unread bytes. */
function answersOfLargestScope(all: readonly Waiting[]): Waiting[] {
  const scopes = Map.groupBy(all, ({ scope }) => scope).values()
  return [...scopes].reduce((most, answers) => (sumOf(answers) > sumOf(most) ? answers : most), [])
}
