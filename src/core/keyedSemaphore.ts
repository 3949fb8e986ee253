/** Lets a few at once do something of the same key; the others wait in the order in which they came. */
export class KeyedSemaphore {
  readonly #most: number
  readonly #taken = new Map<string, { count: number; waiting: (() => void)[] }>()

  constructor(most: number) {
    this.#most = most
  }

  /** @returns gives the place back; safe to call twice. @throws the reason of the signal */
  async take(key: string, signal?: AbortSignal): Promise<() => void> {
    const line = this.#taken.get(key) ?? { count: 0, waiting: [] }
    this.#taken.set(key, line)
    if (line.count < this.#most) line.count += 1
    else await this.#wait(line.waiting, signal)
    let isBack = false
    return () => {
      if (isBack) return
      isBack = true
      const next = line.waiting.shift()
      if (next !== undefined) next()
      else line.count -= 1
      if (line.count === 0) this.#taken.delete(key)
    }
  }

  #wait(waiting: (() => void)[], signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const proceed = () => {
        signal?.removeEventListener('abort', abort)
        resolve()
      }
      const abort = () => {
        waiting.splice(waiting.indexOf(proceed), 1)
        reject(signal?.reason as Error)
      }
      signal?.addEventListener('abort', abort, { once: true })
      waiting.push(proceed)
    })
  }
}
