/** The work was not begun, because no place became free in time. */
export class SemaphoreTimeout extends Error {
  override readonly name = 'TimeoutError'
}

/** A semaphore per key: at most `most` holders at once; the others wait in FIFO order. */
export class KeyedSemaphore {
  readonly #most: number
  readonly #taken = new Map<string, { count: number; waiting: Set<() => void> }>()

  constructor(most: number) {
    this.#most = most
  }

  /**
   * @param patience milliseconds to wait for a place
   * @returns a function that releases the place; safe to call twice
   * @throws the reason of the signal; NeverBegun if no place became free in time
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
      const giveUp = leaving(() => reject(new SemaphoreTimeout()))
      const timer = patience === Number.POSITIVE_INFINITY ? undefined : setTimeout(giveUp, patience)
      signal?.addEventListener('abort', abort)
      waiting.add(proceed)
    })
  }
}
