import { SharedPlaces } from '../../core/sharedPlaces.ts'

/**
 * Passes over what is in other clusters. One that answers slowly, or never, holds each of its passes up for as long as a call
 * may take; so it gets some of the workers, and one at least is left for what is not elsewhere.
 */
export class WorkElsewhere {
  readonly #places: SharedPlaces
  readonly #again: (key: string) => void
  /** Keys without a place, by their cluster. */
  readonly #waiting = new Map<string, Set<string>>()

  /** @param again called for a key that may have a place by now */
  constructor(workers: number, again: (key: string) => void) {
    this.#places = new SharedPlaces(Math.max(1, workers - 1))
    this.#again = again
  }

  /** Does the work at once, or has the key called again once somebody gives a place back. */
  async take(clusterId: string | undefined, key: string, work: () => Promise<void>): Promise<void> {
    if (clusterId === undefined) return work()
    if (this.#places.isFullFor(clusterId)) {
      const waiting = this.#waiting.get(clusterId) ?? new Set<string>()
      this.#waiting.set(clusterId, waiting.add(key))
      return
    }
    this.#places.take(clusterId)
    try {
      await work()
    } finally {
      this.#places.free(clusterId)
      this.#wake()
    }
  }

  #wake(): void {
    for (const [clusterId, waiting] of this.#waiting) {
      if (this.#places.isFullFor(clusterId)) continue
      const [first] = waiting
      if (first === undefined) continue
      waiting.delete(first)
      if (waiting.size === 0) this.#waiting.delete(clusterId)
      this.#again(first)
    }
  }
}
