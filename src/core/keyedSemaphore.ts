/** The work was not begun, because no place became free in time. */
export class SemaphoreTimeout extends Error {
  override readonly name = 'TimeoutError'
}

/** A semaphore per key: at most `limit` holders at once; the others wait in FIFO order. */
export class KeyedSemaphore {
  readonly #limit: number
  readonly #holders = new Map<string, { count: number; waiting: Set<() => void> }>()

  constructor(limit: number) {
    this.#limit = limit
  }

  /**
   * @param timeout milliseconds to wait for a place
   * @returns a function that releases the place; safe to call twice
   * @throws the reason of the signal; SemaphoreTimeout if no place became free in time
   */
  async take(key: string, signal?: AbortSignal, timeout = Number.POSITIVE_INFINITY): Promise<() => void> {
    signal?.throwIfAborted()
    const queue = this.#holders.get(key) ?? { count: 0, waiting: new Set() }
    this.#holders.set(key, queue)
    if (queue.count < this.#limit) queue.count += 1
    else await this.#wait(queue.waiting, signal, timeout)
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      const [next] = queue.waiting
      if (next !== undefined) next()
      else queue.count -= 1
      if (queue.count === 0) this.#holders.delete(key)
    }
  }

  #wait(waiting: Set<() => void>, signal: AbortSignal | undefined, timeout: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (then: () => void) => () => {
        waiting.delete(proceed)
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
        then()
      }
      const proceed = settle(resolve)
      const abort = settle(() => reject(signal?.reason as Error))
      const expire = settle(() => reject(new SemaphoreTimeout()))
      const timer = timeout === Number.POSITIVE_INFINITY ? undefined : setTimeout(expire, timeout)
      signal?.addEventListener('abort', abort)
      waiting.add(proceed)
    })
  }
}
