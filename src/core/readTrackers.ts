import { AsyncLocalStorage } from 'node:async_hooks'

const current = new AsyncLocalStorage<ReadTracker>()
let openTrackers = 0

/** Tracks what a computation has read, so that the computation can run again when any of that changes. */
export class ReadTracker {
  readonly #changed: () => void
  readonly #registrations: { readonly places: Map<string, Set<ReadTracker>>; readonly place: string }[] = []
  #isOver = false

  private constructor(changed: () => void) {
    this.#changed = changed
  }

  /** Runs the work, and calls `changed` once something that it has read changes. The caller must end the reading. */
  static begin<Result>(
    changed: () => void,
    work: () => Promise<Result>,
  ): { reading: ReadTracker; result: Promise<Result> } {
    const reading = new ReadTracker(changed)
    openTrackers += 1
    return { reading, result: current.run(reading, work) }
  }

  /** Returns the reading of the current computation. Usually there is none, and this check costs nothing. */
  static get now(): ReadTracker | undefined {
    const reading = openTrackers === 0 ? undefined : current.getStore()
    return reading === undefined || reading.#isOver ? undefined : reading
  }

  /** How many places the computation has read. */
  get size(): number {
    return this.#registrations.length
  }

  hold(places: Map<string, Set<ReadTracker>>, place: string): void {
    const readings = places.get(place) ?? new Set()
    if (readings.has(this)) return
    places.set(place, readings.add(this))
    this.#registrations.push({ places, place })
  }

  /** Tells of the first change, and ends: until the computation runs again, further changes concern it no more. */
  tell(): void {
    if (this.#isOver) return
    this.end()
    this.#changed()
  }

  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    openTrackers -= 1
    for (const { places, place } of this.#registrations) {
      const readings = places.get(place)
      readings?.delete(this)
      if (readings?.size === 0) places.delete(place)
    }
    this.#registrations.length = 0
  }
}

/** The readings of a cache, by the place that they read. A change notifies only the readings of its places. */
export class CacheReadTrackers {
  readonly #places = new Map<string, Set<ReadTracker>>()

  /** Records the read of one object of a namespace, of a whole namespace, or of everything. */
  note(namespace?: string, name?: string): void {
    ReadTracker.now?.hold(this.#places, namespace === undefined ? '' : `${namespace}/${name ?? ''}`)
  }

  changed(namespace: string, name: string): void {
    if (this.#places.size === 0) return
    for (const place of ['', `${namespace}/`, `${namespace}/${name}`]) this.#notify(this.#places.get(place))
  }

  allChanged(): void {
    for (const readings of this.#places.values()) this.#notify(readings)
  }

  #notify(readings: Iterable<ReadTracker> = []): void {
    for (const reading of readings) reading.tell()
  }
}
