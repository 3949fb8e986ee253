/**
 * Counts objects per boundary, by namespace and kind, so that an event has constant cost. A namespace counts as soon as
 * its pool is known.
 */
export class ObjectCounter {
  /** By namespace, then by kind. */
  readonly #counted = new Map<string, Map<string, number>>()
  readonly #poolOf = new Map<string, string>()
  readonly #pools = new Map<string, { held: number; namespaces: Set<string> }>()

  /** Sets the number of objects of a kind in a namespace. */
  count(namespace: string, kind: string, now: number): void {
    const kinds = this.#counted.get(namespace) ?? new Map<string, number>()
    const difference = now - (kinds.get(kind) ?? 0)
    if (now === 0) kinds.delete(kind)
    else kinds.set(kind, now)
    if (kinds.size === 0) this.#counted.delete(namespace)
    else this.#counted.set(namespace, kinds)
    const pool = this.#pools.get(this.#poolOf.get(namespace) ?? '')
    if (pool !== undefined) pool.held += difference
  }

  /** @param pool undefined for a namespace that was deleted or belongs to no boundary */
  assign(namespace: string, pool: string | undefined): void {
    const before = this.#poolOf.get(namespace)
    if (before === pool) return
    const held = [...(this.#counted.get(namespace)?.values() ?? [])].reduce((all, one) => all + one, 0)
    const previousPool = this.#pools.get(before ?? '')
    if (before !== undefined && previousPool !== undefined) {
      previousPool.held -= held
      previousPool.namespaces.delete(namespace)
      if (previousPool.namespaces.size === 0) this.#pools.delete(before)
    }
    if (pool === undefined) {
      this.#poolOf.delete(namespace)
      return
    }
    this.#poolOf.set(namespace, pool)
    const nextPool = this.#pools.get(pool) ?? { held: 0, namespaces: new Set() }
    nextPool.held += held
    nextPool.namespaces.add(namespace)
    this.#pools.set(pool, nextPool)
  }

  poolOf(namespace: string): string | undefined {
    return this.#poolOf.get(namespace)
  }

  heldIn(pool: string): number {
    return this.#pools.get(pool)?.held ?? 0
  }

  namespacesOf(pool: string): readonly string[] {
    return [...(this.#pools.get(pool)?.namespaces ?? [])]
  }

  get pools(): readonly string[] {
    return [...this.#pools.keys()]
  }
}
