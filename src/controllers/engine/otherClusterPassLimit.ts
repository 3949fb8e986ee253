import { SharedSlots } from '../../core/sharedSlots.ts'

/**
 * Limits passes over objects in other clusters. A cluster that answers slowly or never blocks each of its passes for a
 * whole call timeout, so it only gets some of the workers; at least one is left for the platform's own cluster.
 */
export class OtherClusterPassLimit {
  readonly #slots: SharedSlots
  readonly #requeue: (key: string) => void
  /** Keys waiting for a worker, by cluster. */
  readonly #waiting = new Map<string, Set<string>>()

  /** @param requeue called for a key that may get a worker now */
  constructor(workers: number, requeue: (key: string) => void) {
    this.#slots = new SharedSlots(Math.max(1, workers - 1))
    this.#requeue = requeue
  }

  /** Runs the work at once, or calls `again` for the key once a worker is free. */
  async take(clusterId: string | undefined, key: string, work: () => Promise<void>): Promise<void> {
    if (clusterId === undefined) return work()
    if (this.#slots.isFullFor(clusterId)) {
      const waiting = this.#waiting.get(clusterId) ?? new Set<string>()
      this.#waiting.set(clusterId, waiting.add(key))
      return
    }
    this.#slots.take(clusterId)
    try {
      await work()
    } finally {
      this.#slots.free(clusterId)
      this.#wake()
    }
  }

  #wake(): void {
    for (const [clusterId, waiting] of this.#waiting) {
      if (this.#slots.isFullFor(clusterId)) continue
      const [first] = waiting
      if (first === undefined) continue
      waiting.delete(first)
      if (waiting.size === 0) this.#waiting.delete(clusterId)
      this.#requeue(first)
    }
  }
}
