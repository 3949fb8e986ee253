/**
 * Runs work one at a time per key: a read-modify-write waits for the previous one instead of conflicting with it. Works
 * within one process; across processes, the versions at the other end detect conflicts.
 */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>()

  async take<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(key) ?? Promise.resolve()
    const result = before.then(work, work)
    const settled = result.catch(() => {})
    this.#last.set(key, settled)
    try {
      return await result
    } finally {
      if (this.#last.get(key) === settled) this.#last.delete(key)
    }
  }
}
