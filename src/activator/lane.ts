import type { Clock, Timer } from '../core/clock.ts'
import { admit, type Copy, chooseCopy, copiesNeeded, type Limits, nextScale, type Scale } from './decisions.ts'

/** A call's slot at a copy. The holder releases it once. */
export type Place = { readonly address: string; readonly wasCold: boolean; release(): void }

/** Why a call got no slot at a copy. */
export class NoPlace extends Error {
  readonly why: 'refused' | 'disabled' | 'failed' | 'late' | 'gone'
  /** The function's own reason, for `failed`. */
  readonly reason: string | undefined
  constructor(why: NoPlace['why'], reason?: string) {
    super(reason ?? why)
    this.why = why
    this.reason = reason
  }
}

/** Bounds the concurrent calls of all functions of a namespace together. */
export class Bound {
  most: number
  taken = 0
  readonly #lanes = new Set<Lane>()

  constructor(most: number) {
    this.most = most
  }

  add(lane: Lane): () => void {
    this.#lanes.add(lane)
    return () => this.#lanes.delete(lane)
  }

  /** A slot became free: a waiting call of any lane may take it. */
  freed(): void {
    for (const lane of this.#lanes) lane.serve()
  }
}

type Waiting = { resolve: (place: Place) => void; reject: (why: NoPlace) => void; wasCold: boolean }

export type LaneOptions = {
  clock: Clock
  bound: Bound
  /** The stored number of copies, from which a new activator continues. */
  desired: number
  /** Called when the number of copies needed changes. */
  onDesired: (desired: number) => void
}

/** The calls of one function, waiting and in flight, and how many copies they need. */
export class Lane {
  readonly #options: LaneOptions
  readonly #queue: Waiting[] = []
  readonly #leave: () => void
  #limits: Limits
  #copies: Copy[] = []
  #inFlight = 0
  #scale: Scale
  #timer: Timer | undefined
  #isClosed = false

  constructor(limits: Limits, options: LaneOptions) {
    this.#limits = limits
    this.#options = options
    this.#scale = { desired: options.desired, peak: 0, lowSince: undefined }
    this.#leave = options.bound.add(this)
  }

  /** Number of calls without a slot. */
  get waiting(): number {
    return this.#queue.length
  }

  get desired(): number {
    return this.#scale.desired
  }

  /** Applies the current limits and copies. Calls in flight keep their slots, even at copies that are being removed. */
  update(limits: Limits, addresses: readonly string[]): void {
    this.#limits = limits
    const known = new Map(this.#copies.map((copy) => [copy.address, copy]))
    this.#copies = addresses.map((address) => known.get(address) ?? { address, inFlight: 0 })
    if (!limits.enabled) for (const one of this.#queue.splice(0)) one.reject(new NoPlace('disabled'))
    if (this.#hasFailed) for (const one of this.#queue.splice(0)) one.reject(this.#failure)
    this.serve()
    this.#rescale()
  }

  /** Waits for a slot. @throws NoPlace if there is none before `signal` aborts */
  take(signal: AbortSignal): Promise<Place> {
    if (this.#isClosed) return Promise.reject(new NoPlace('gone'))
    if (signal.aborted) return Promise.reject(new NoPlace('late'))
    const verdict = admit({ waiting: this.#queue.length }, this.#limits)
    if (verdict !== 'disabled' && this.#hasFailed) return Promise.reject(this.#failure)
    if (verdict !== 'wait') return Promise.reject(new NoPlace(verdict === 'refuse' ? 'refused' : 'disabled'))
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { resolve, reject, wasCold: this.#copies.length === 0 }
      const late = () => {
        const at = this.#queue.indexOf(waiting)
        if (at < 0) return
        this.#queue.splice(at, 1)
        reject(new NoPlace('late'))
        this.#rescale()
      }
      signal.addEventListener('abort', late, { once: true })
      this.#queue.push(waiting)
      this.serve()
      this.#rescale()
    })
  }

  /** Gives free slots to waiting calls, in order. */
  serve(): void {
    const { bound } = this.#options
    while (this.#queue.length > 0 && bound.taken < bound.most) {
      const copy = chooseCopy(this.#copies, this.#limits.concurrency)
      if (copy === undefined) return
      const next = this.#queue.shift()
      next?.resolve(this.#placeAt(copy, next.wasCold))
    }
  }

  /** The function was deleted. Calls in flight keep their slots but no longer cause scaling. */
  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
    this.#leave()
    for (const one of this.#queue.splice(0)) one.reject(new NoPlace('gone'))
  }

  get #hasFailed(): boolean {
    return this.#limits.failed !== undefined && this.#copies.length === 0
  }

  get #failure(): NoPlace {
    return new NoPlace('failed', this.#limits.failed)
  }

  #placeAt(copy: Copy, wasCold: boolean): Place {
    const { bound } = this.#options
    copy.inFlight += 1
    this.#inFlight += 1
    bound.taken += 1
    let isHeld = true
    const release = () => {
      if (!isHeld) return
      isHeld = false
      copy.inFlight -= 1
      this.#inFlight -= 1
      bound.taken -= 1
      bound.freed()
      this.#rescale()
    }
    return { address: copy.address, wasCold, release }
  }

  #rescale(): void {
    if (this.#isClosed) return
    const { clock, onDesired } = this.#options
    const needed = copiesNeeded({ inFlight: this.#inFlight, waiting: this.#queue.length }, this.#limits)
    const before = this.#scale.desired
    const now = clock.monotonic()
    const { scale, lookAt } = nextScale(this.#scale, needed, this.#limits, now)
    this.#scale = scale
    this.#timer?.cancel()
    this.#timer = lookAt === undefined ? undefined : clock.setTimeout(() => this.#rescale(), lookAt - now)
    if (scale.desired !== before) onDesired(scale.desired)
  }
}
