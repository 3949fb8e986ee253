/** Waiting keys by group. Groups take turns, so that a busy tenant delays only itself; a group's oldest key goes first. */
export class KeyLines {
  readonly #groupOf: (key: string) => string
  /** Groups in order of their next turn; the value is when the key was added. */
  readonly #groups = new Map<string, Map<string, number>>()
  #depth = 0

  constructor(groupOf: (key: string) => string) {
    this.#groupOf = groupOf
  }

  get depth(): number {
    return this.#depth
  }

  /** When the key that waits longest was added; infinite if none waits. */
  get oldest(): number {
    let oldest = Number.POSITIVE_INFINITY
    for (const group of this.#groups.values()) for (const since of group.values()) oldest = Math.min(oldest, since)
    return oldest
  }

  /** Does nothing if the key waits already. */
  add(key: string, since: number): void {
    const name = this.#groupOf(key)
    const group = this.#groups.get(name) ?? new Map<string, number>()
    if (group.has(key)) return
    this.#groups.set(name, group.set(key, since))
    this.#depth += 1
  }

  /** Takes the oldest key of the group whose turn it is; the group goes to the end of the round. */
  next(): { key: string; since: number } | undefined {
    for (const [name, group] of this.#groups) {
      this.#groups.delete(name)
      for (const [key, since] of group) {
        group.delete(key)
        if (group.size > 0) this.#groups.set(name, group)
        this.#depth -= 1
        return { key, since }
      }
    }
    return undefined
  }

  /** @returns when the key was added; undefined if it does not wait */
  remove(key: string): number | undefined {
    const name = this.#groupOf(key)
    const group = this.#groups.get(name)
    const since = group?.get(key)
    if (group === undefined || since === undefined) return undefined
    group.delete(key)
    if (group.size === 0) this.#groups.delete(name)
    this.#depth -= 1
    return since
  }

  has(key: string): boolean {
    return this.#groups.get(this.#groupOf(key))?.has(key) === true
  }

  clear(): void {
    this.#groups.clear()
    this.#depth = 0
  }
}
