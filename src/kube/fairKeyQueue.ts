/** The party that a key belongs to, and the queue of that party in which the key waits. */
export type FairQueuePosition = { readonly party: string; readonly queue: string }

type Waiting = FairQueuePosition & { readonly since: number }
type Subqueue<Key> = Set<Key>

/**
 * A fair queue of keys. Parties take turns, so that a busy one delays only itself, and so do the queues of a party;
 * within a queue the oldest key goes first.
 */
export class FairKeyQueue<Key = string> {
  readonly #placeOf: (key: Key) => FairQueuePosition
  /** Keeps the place from when the key was added: it may be unknown once the object is deleted. */
  readonly #waiting = new Map<Key, Waiting>()
  /** Parties in order of their next turn, each with its queues in the same order. */
  readonly #parties = new Map<string, Map<string, Subqueue<Key>>>()

  constructor(placeOf: (key: Key) => FairQueuePosition) {
    this.#placeOf = placeOf
  }

  get depth(): number {
    return this.#waiting.size
  }

  /** When the longest waiting key was added; infinite if none waits. */
  get oldest(): number {
    let oldest = Number.POSITIVE_INFINITY
    for (const { since } of this.#waiting.values()) oldest = Math.min(oldest, since)
    return oldest
  }

  /** Number of waiting keys per party. */
  get depths(): ReadonlyMap<string, number> {
    return new Map([...this.#parties.keys()].map((party) => [party, this.depthOf(party)]))
  }

  depthOf(party: string): number {
    let depth = 0
    for (const { size } of this.#parties.get(party)?.values() ?? []) depth += size
    return depth
  }

  /** Does nothing if the key is waiting already. */
  add(key: Key, since: number): void {
    if (this.#waiting.has(key)) return
    const { party, queue } = this.#placeOf(key)
    const queues = this.#parties.get(party) ?? new Map<string, Subqueue<Key>>()
    const keys = queues.get(queue) ?? new Set<Key>()
    this.#parties.set(party, queues.set(queue, keys.add(key)))
    this.#waiting.set(key, { party, queue, since })
  }

  /**
   * Takes the oldest key of the queue whose turn it is, and moves the queue and its party to the end of their rounds.
   *
   * @param mayTake whether a party may have a key now; otherwise it keeps its turn
   */
  next(mayTake: (party: string) => boolean = () => true): { key: Key; party: string; since: number } | undefined {
    for (const [party, queues] of this.#parties) {
      if (!mayTake(party)) continue
      for (const [queue, keys] of queues) {
        for (const key of keys) {
          const since = this.remove(key) ?? 0
          toEnd(queues, queue)
          toEnd(this.#parties, party)
          return { key, party, since }
        }
      }
    }
    return undefined
  }

  /** @returns when the key was added; undefined if it was not waiting */
  remove(key: Key): number | undefined {
    const waiting = this.#waiting.get(key)
    if (waiting === undefined) return undefined
    const { party, queue, since } = waiting
    const queues = this.#parties.get(party)
    const keys = queues?.get(queue)
    keys?.delete(key)
    if (keys?.size === 0) queues?.delete(queue)
    if (queues?.size === 0) this.#parties.delete(party)
    this.#waiting.delete(key)
    return since
  }

  has(key: Key): boolean {
    return this.#waiting.has(key)
  }

  clear(): void {
    this.#waiting.clear()
    this.#parties.clear()
  }
}

/** Does nothing if the name is no longer in the round. */
function toEnd<Value>(round: Map<string, Value>, name: string): void {
  const value = round.get(name)
  if (value !== undefined && round.delete(name)) round.set(name, value)
}
