/** Nothing was begun: others took all the time. */
export class NeverBegun extends Error {
  override readonly name = 'TimeoutError'
}

/** Lets a few at once do something of the same key; the others wait in the order in which they came. */
export class KeyedSemaphore {
  readonly #most: number
  readonly #taken = new Map<string, { count: number; waiting: Set<() => void> }>()

  constructor(most: number) {
    this.#most = most
  }

  /**
   * @param patience milliseconds
   * @returns gives the place back; safe to call twice
   * @throws the reason of the signal; NeverBegun if there was none in time
   */
  async take(key: string, signal?: AbortSignal, patience = Number.POSITIVE_INFINITY): Promise<() => void> {
    signal?.throwIfAborted()
    const line = this.#taken.get(key) ?? { count: 0, waiting: new Set() }
    this.#taken.set(key, line)
    if (line.count < this.#most) line.count += 1
    else await this.#wait(line.waiting, signal, patience)
    let isBack = false
    return () => {
      if (isBack) return
      isBack = true
      const [next] = line.waiting
      if (next !== undefined) next()
      else line.count -= 1
      if (line.count === 0) this.#taken.delete(key)
    }
  }

  #wait(waiting: Set<() => void>, signal: AbortSignal | undefined, patience: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const leaving = (then: () => void) => () => {
        waiting.delete(proceed)
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
        then()
      }
      const proceed = leaving(resolve)
      const abort = leaving(() => reject(signal?.reason as Error))
      const giveUp = leaving(() => reject(new NeverBegun()))
      const timer = patience === Number.POSITIVE_INFINITY ? undefined : setTimeout(giveUp, patience)
      signal?.addEventListener('abort', abort)
      waiting.add(proceed)
    })
  }
}
