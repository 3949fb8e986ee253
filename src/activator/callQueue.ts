import type { Clock, Timer } from '../core/clock.ts'
import {
  admit,
  type Copy,
  chooseCopy,
  copiesNeeded,
  type Limits,
  nextScale,
  type Scale,
  settledScale,
} from './decisions.ts'

/** A call's slot at a copy. The holder releases it once. */
export type CopySlot = { readonly address: string; readonly wasCold: boolean; release(): void }

/** Why a call got no slot at a copy. */
export class NoSlotError extends Error {
  readonly why: 'refused' | 'disabled' | 'failed' | 'late' | 'gone'
  /** The function's own reason, for `failed`. */
  readonly reason: string | undefined
  constructor(why: NoSlotError['why'], reason?: string) {
    super(reason ?? why)
    this.why = why
    this.reason = reason
  }
}

/** Bounds the concurrent calls of all functions of a namespace together. */
export class NamespaceCallLimit {
  max: number
  taken = 0
  readonly #queues = new Set<CallQueue>()

  constructor(max: number) {
    this.max = max
  }

  add(queue: CallQueue): () => void {
    this.#queues.add(queue)
    return () => this.#queues.delete(queue)
  }

  /** A slot became free: a waiting call of any queue may take it. */
  freed(): void {
    for (const queue of this.#queues) queue.serve()
  }
}

type WaitingCall = { resolve: (slot: CopySlot) => void; reject: (why: NoSlotError) => void; wasCold: boolean }

export type CallQueueOptions = {
  clock: Clock
  namespaceLimit: NamespaceCallLimit
  /** The stored number of copies, from which a new activator continues. */
  desired: number
  /** Called when the number of copies needed changes. */
  onDesiredCopies: (desired: number) => void
}

/** The calls of one function, waiting and in flight, and how many copies they need. */
export class CallQueue {
  readonly #options: CallQueueOptions
  readonly #queue: WaitingCall[] = []
  readonly #unregister: () => void
  #limits: Limits
  #copies: Copy[] = []
  #inFlight = 0
  #scale: Scale
  #timer: Timer | undefined
  #isClosed = false

  constructor(limits: Limits, options: CallQueueOptions) {
    this.#limits = limits
    this.#options = options
    this.#scale = settledScale(options.desired)
    this.#unregister = options.namespaceLimit.add(this)
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
    if (!limits.enabled) for (const call of this.#queue.splice(0)) call.reject(new NoSlotError('disabled'))
    if (this.#hasFailed) for (const call of this.#queue.splice(0)) call.reject(this.#failure)
    this.serve()
    this.#rescale()
  }

  /** Waits for a slot. @throws NoSlotError if there is none before `signal` aborts */
  take(signal: AbortSignal): Promise<CopySlot> {
    if (this.#isClosed) return Promise.reject(new NoSlotError('gone'))
    if (signal.aborted) return Promise.reject(new NoSlotError('late'))
    const verdict = admit({ waiting: this.#queue.length }, this.#limits)
    if (verdict !== 'disabled' && this.#hasFailed) return Promise.reject(this.#failure)
    if (verdict !== 'wait') return Promise.reject(new NoSlotError(verdict === 'refuse' ? 'refused' : 'disabled'))
    return new Promise((resolve, reject) => {
      const waiting: WaitingCall = { resolve, reject, wasCold: this.#copies.length === 0 }
      const onAbort = () => {
        const index = this.#queue.indexOf(waiting)
        if (index < 0) return
        this.#queue.splice(index, 1)
        reject(new NoSlotError('late'))
        this.#rescale()
      }
      signal.addEventListener('abort', onAbort, { once: true })
      this.#queue.push(waiting)
      this.serve()
      this.#rescale()
    })
  }

  /** Gives free slots to waiting calls, in order. */
  serve(): void {
    const { namespaceLimit } = this.#options
    while (this.#queue.length > 0 && namespaceLimit.taken < namespaceLimit.max) {
      const copy = chooseCopy(this.#copies, this.#limits.concurrency)
      if (copy === undefined) return
      const next = this.#queue.shift()
      next?.resolve(this.#takeSlot(copy, next.wasCold))
    }
  }

  /** The function was deleted. Calls in flight keep their slots but no longer cause scaling. */
  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
    this.#unregister()
    for (const call of this.#queue.splice(0)) call.reject(new NoSlotError('gone'))
  }

  get #hasFailed(): boolean {
    return this.#limits.failed !== undefined && this.#copies.length === 0
  }

  get #failure(): NoSlotError {
    return new NoSlotError('failed', this.#limits.failed)
  }

  #takeSlot(copy: Copy, wasCold: boolean): CopySlot {
    const { namespaceLimit } = this.#options
    copy.inFlight += 1
    this.#inFlight += 1
    namespaceLimit.taken += 1
    let isHeld = true
    const release = () => {
      if (!isHeld) return
      isHeld = false
      copy.inFlight -= 1
      this.#inFlight -= 1
      namespaceLimit.taken -= 1
      namespaceLimit.freed()
      this.#rescale()
    }
    return { address: copy.address, wasCold, release }
  }

  #rescale(): void {
    if (this.#isClosed) return
    const { clock, onDesiredCopies: onDesired } = this.#options
    const needed = copiesNeeded({ inFlight: this.#inFlight, waiting: this.#queue.length }, this.#limits)
    const before = this.#scale.desired
    const now = clock.monotonic()
    const { scale, checkAt } = nextScale(this.#scale, needed, this.#limits, now)
    this.#scale = scale
    this.#timer?.cancel()
    this.#timer = checkAt === undefined ? undefined : clock.setTimeout(() => this.#rescale(), checkAt - now)
    if (scale.desired !== before) onDesired(scale.desired)
  }
}
