/**
 * A number of slots that no key can take entirely: a key may hold at most as many as are left for all others, so half
 * of them if nobody else holds any.
 */
export class SharedSlots {
  readonly #size: number
  readonly #held = new Map<string, number>()
  #count = 0

  constructor(size: number) {
    this.#size = size
  }

  get left(): number {
    return this.#size - this.#count
  }

  takenBy(key: string): number {
    return this.#held.get(key) ?? 0
  }

  /** Whether the key may take no further slot. */
  isFullFor(key: string): boolean {
    return this.takenBy(key) >= this.left
  }

  /** Whether the key may take `more` slots and still leave all others as many as it then holds. */
  hasRoomFor(key: string, more: number): boolean {
    return this.takenBy(key) + more <= this.left - more
  }

  /** Takes `more` slots; a negative number gives slots back. */
  take(key: string, more = 1): void {
    const own = this.takenBy(key) + more
    if (own === 0) this.#held.delete(key)
    else this.#held.set(key, own)
    this.#count += more
  }

  free(key: string): void {
    this.take(key, -1)
  }
}
