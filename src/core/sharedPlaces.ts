/**
 * Places for so many at once, of which nobody takes all: whoever is meant by a key has at most as many as are left for
 * all others, so half of them where nobody else has any.
 */
export class SharedPlaces {
  readonly #most: number
  readonly #taken = new Map<string, number>()
  #count = 0

  constructor(most: number) {
    this.#most = most
  }

  get left(): number {
    return this.#most - this.#count
  }

  takenBy(key: string): number {
    return this.#taken.get(key) ?? 0
  }

  /** Whether there is no place for one more of this key. */
  isFullFor(key: string): boolean {
    return this.takenBy(key) >= this.left
  }

  /** Whether there are places for so many more of this key, with as many left for all others as it has then. */
  hasRoomFor(key: string, more: number): boolean {
    return this.takenBy(key) + more <= this.left - more
  }

  /** One, or so many more; fewer if negative. */
  take(key: string, more = 1): void {
    const own = this.takenBy(key) + more
    if (own === 0) this.#taken.delete(key)
    else this.#taken.set(key, own)
    this.#count += more
  }

  /** Gives back one that was taken. */
  free(key: string): void {
    this.take(key, -1)
  }
}
