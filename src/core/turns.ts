/**
 * One at a time for each key: whoever reads, changes and writes a thing as a whole waits for the one before instead of
 * colliding with it. Within one process; across processes, versions at the other end tell.
 */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>()

  async take<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(key) ?? Promise.resolve()
    const mine = before.then(work, work)
    const settled = mine.catch(() => {})
    this.#last.set(key, settled)
    try {
      return await mine
    } finally {
      if (this.#last.get(key) === settled) this.#last.delete(key)
    }
  }
}
