import { type Clock, microTimestamp, systemClock, type Timer } from '../core/clock.ts'
import { type Log, silentLog } from '../core/log.ts'
import type { KubeObject, ObjectRef } from '../core/object.ts'
import { lease as leaseResource } from './builtin.ts'
import type { CallOptions } from './call.ts'
import type { KubeClient, WriteOptions } from './client.ts'
import { absent, ignoreKubeAlreadyExists, isKubeError } from './errors.ts'

export type LeaseObject = KubeObject & {
  spec?: {
    holderIdentity?: string | null
    leaseDurationSeconds?: number
    acquireTime?: string
    renewTime?: string
    leaseTransitions?: number
  }
}

/** Returns undefined if there is no such Lease. */
export function readLease(
  client: Pick<KubeClient, 'get'>,
  ref: ObjectRef,
  options?: CallOptions,
): Promise<LeaseObject | undefined> {
  return client.get<LeaseObject>(leaseResource, ref, options).catch(absent)
}

/** Returns undefined if there is such a Lease already. */
export function createLease(
  client: Pick<KubeClient, 'create'>,
  ref: ObjectRef,
  spec: LeaseObject['spec'],
  options?: WriteOptions,
): Promise<LeaseObject | undefined> {
  const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: ref, spec } as LeaseObject
  return client.create<LeaseObject>(leaseResource, lease, options).catch(ignoreKubeAlreadyExists)
}

export type LeaderLeaseOptions = {
  client: Pick<KubeClient, 'get' | 'create' | 'update'>
  namespace: string
  name: string
  /** Unique to this process: two that share it would both lead. */
  identity: string
  onAcquired?: () => void
  /** Called once; the process must stop its work as the leader. `fence` already refuses writes. */
  onLost?: (why: string) => void
  /** Called each time that a candidate reads the lease, with its holder; empty if nobody holds it. */
  onRead?: (holder: string) => void
  clock?: Clock
  log?: Log
  random?: () => number
  timings?: Partial<LeaseTimings>
}

/** All in milliseconds. */
export type LeaseTimings = {
  /** How long others respect a lease that is not renewed. */
  duration: number
  /** How long after its last renewal the holder may write; shorter than `duration` by more than a slow write takes. */
  deadline: number
  renewEvery: number
  /** How often a candidate reads the lease, and a holder retries after a failure. */
  retryEvery: number
}

/** A lost leader is replaced within nine seconds: the duration and one retry interval of a candidate. */
const TIMINGS: LeaseTimings = { duration: 8_000, deadline: 6_000, renewEvery: 2_500, retryEvery: 1_000 }

/** Thrown by `fence`: this process is not, or no longer, the leader. Nothing was sent. */
export class LeaseLost extends Error {
  constructor(name: string) {
    super(`This process no longer holds the lease "${name}" and writes nothing.`)
    this.name = 'LeaseLost'
  }
}

/** Whether the error is a LeaseLost or was caused by one. */
export function isLeaseLost(error: unknown): boolean {
  return error instanceof LeaseLost || (error instanceof Error && isLeaseLost(error.cause))
}

/**
 * A leader lease on coordination.k8s.io/v1 with fencing.
 *
 *   holder      renew ─2.5 s─ renew ─2.5 s─ renew ┄┄ stalled or cut off ┄┄ 6 s: fence closes, onLost
 *   candidate                                seen ──────────────────────────────────── 8 s: takes over
 *
 * Durations are measured on the monotonic clock: by the holder from before it sends a renewal, by a candidate from when
 * it sees one. No process relies on the wall clock of another. After a loss this object cannot be used again.
 */
export class LeaderLease {
  readonly #options: LeaderLeaseOptions
  readonly #clock: Clock
  readonly #log: Log
  readonly #random: () => number
  readonly #timings: LeaseTimings
  readonly #ref: ObjectRef
  readonly #call: WriteOptions
  #state: 'idle' | 'candidate' | 'leader' | 'lost' | 'stopped' = 'idle'
  #validUntil = Number.NEGATIVE_INFINITY
  #held: LeaseObject | undefined
  /** The last renewal by another process, and when this one saw it. */
  #rival: { version: string; seenAt: number } | undefined
  #timer: Timer | undefined
  #expiry: Timer | undefined
  #round: Promise<void> = Promise.resolve()

  constructor(options: LeaderLeaseOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#log = (options.log ?? silentLog).child({ lease: options.name, identity: options.identity })
    this.#random = options.random ?? Math.random
    this.#timings = { ...TIMINGS, ...options.timings }
    this.#call = { unfenced: true, timeout: this.#timings.retryEvery * 2 }
    this.#ref = { namespace: options.namespace, name: options.name }
  }

  get isLeader(): boolean {
    return this.#state === 'leader' && this.#clock.monotonic() < this.#validUntil
  }

  /** Fence for the client. @throws LeaseLost unless the lease is certainly held */
  readonly fence = (): void => {
    if (!this.isLeader) throw new LeaseLost(this.#options.name)
  }

  start(): void {
    if (this.#state !== 'idle') return
    this.#state = 'candidate'
    this.#scheduleNext(0)
  }

  /** Releases the lease, so that the next leader need not wait for its end. The caller must have stopped writing. */
  async stop(): Promise<void> {
    // A candidate may hold the lease without knowing it, if the answer to its write was lost.
    const mayHold = this.isLeader || this.#state === 'candidate'
    this.#end('stopped')
    await this.#round
    if (mayHold) await this.#release()
  }

  #scheduleNext(milliseconds: number): void {
    this.#timer?.cancel()
    this.#timer = this.#clock.setTimeout(() => {
      this.#round = this.#runRound()
    }, milliseconds)
  }

  /** Never rejects. */
  async #runRound(): Promise<void> {
    let wait = this.#timings.retryEvery
    try {
      if (this.#state === 'leader') wait = await this.#renew()
      else if (this.#state === 'candidate') wait = await this.#contend()
    } catch (error) {
      this.#log.warn({ err: error }, 'The lease could not be read or written; trying again.')
    }
    if (this.#state === 'leader' || this.#state === 'candidate') this.#scheduleNext(wait)
  }

  async #contend(): Promise<number> {
    const { retryEvery, duration } = this.#timings
    const current = await this.#read()
    this.#notify(() => this.#options.onRead?.(current?.spec?.holderIdentity ?? ''))
    const now = this.#clock.monotonic()
    if (current === undefined ? this.#rival === undefined : this.#isFree(current)) return this.#acquire(current)
    // If the lease was deleted, its holder may not know yet, and recreates it on its next renewal.
    const version = current?.metadata.resourceVersion
    if (this.#rival === undefined || (version !== undefined && version !== this.#rival.version))
      this.#rival = { version: version ?? '', seenAt: now }
    const rivalDuration = (current?.spec?.leaseDurationSeconds ?? duration / 1000) * 1000
    const left = this.#rival.seenAt + rivalDuration - now
    if (left <= 0) return this.#acquire(current)
    // Up to a tenth of jitter, but never later than the lease expires.
    return Math.min(left, retryEvery * (0.9 + 0.1 * this.#random()))
  }

  #isFree({ spec }: LeaseObject): boolean {
    return (spec?.holderIdentity ?? '') === '' || spec?.holderIdentity === this.#options.identity
  }

  async #acquire(current: LeaseObject | undefined): Promise<number> {
    const transitions = current?.spec?.leaseTransitions ?? -1
    const spec = { ...this.#renewedSpec(), acquireTime: this.#now(), leaseTransitions: transitions + 1 }
    const started = this.#clock.monotonic()
    try {
      this.#held = current === undefined ? await this.#create(spec) : await this.#update({ ...current, spec })
    } catch (error) {
      if (!isKubeError(error, 'Conflict')) throw error
      this.#held = undefined
    }
    if (this.#held === undefined) return this.#timings.retryEvery
    if (this.#state !== 'candidate') return 0
    this.#state = 'leader'
    this.#renewed(started)
    this.#log.info({}, 'This process leads now.')
    this.#notify(() => this.#options.onAcquired?.())
    return this.#timings.renewEvery
  }

  #create(spec: LeaseObject['spec']): Promise<LeaseObject | undefined> {
    return createLease(this.#options.client, this.#ref, spec, this.#call)
  }

  #update(lease: LeaseObject): Promise<LeaseObject> {
    return this.#options.client.update<LeaseObject>(leaseResource, lease, this.#call)
  }

  /** @returns milliseconds until the next renewal */
  async #renew(): Promise<number> {
    const started = this.#clock.monotonic()
    const held = this.#held
    if (held === undefined) return 0
    try {
      const spec = { ...held.spec, ...this.#renewedSpec() }
      this.#held = await this.#update({ ...held, spec })
    } catch (error) {
      if (!isKubeError(error, 'Conflict', 'NotFound')) throw error
      return this.#contested()
    }
    if (this.#state === 'leader') this.#renewed(started)
    return this.#timings.renewEvery
  }

  /** Called if somebody wrote or deleted the lease, or our own renewal succeeded but its answer was lost. */
  async #contested(): Promise<number> {
    const current = (await this.#read()) ?? (await this.#create({ ...this.#held?.spec, ...this.#renewedSpec() }))
    if (current?.spec?.holderIdentity !== this.#options.identity) {
      this.#lose('another process took the lease')
      return 0
    }
    this.#held = current
    return 0
  }

  #read(): Promise<LeaseObject | undefined> {
    return readLease(this.#options.client, this.#ref, this.#call)
  }

  #renewed(started: number): void {
    this.#validUntil = started + this.#timings.deadline
    this.#expiry?.cancel()
    this.#expiry = this.#clock.setTimeout(
      () => this.#lose('it could not be renewed in time'),
      this.#validUntil - this.#clock.monotonic(),
    )
  }

  #lose(why: string): void {
    if (this.#state !== 'leader') return
    this.#end('lost')
    this.#log.error({ why }, 'This process lost the lease.')
    this.#notify(() => this.#options.onLost?.(why))
  }

  #end(state: 'lost' | 'stopped'): void {
    this.#state = state
    this.#validUntil = Number.NEGATIVE_INFINITY
    this.#timer?.cancel()
    this.#expiry?.cancel()
  }

  async #release(): Promise<void> {
    try {
      const held = await this.#read()
      if (held?.spec?.holderIdentity !== this.#options.identity) return
      const spec = { ...held.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: this.#now() }
      await this.#update({ ...held, spec })
    } catch (error) {
      this.#log.warn({ err: error }, 'The lease could not be released; it expires by itself.')
    }
  }

  #renewedSpec() {
    return {
      holderIdentity: this.#options.identity,
      leaseDurationSeconds: Math.ceil(this.#timings.duration / 1000),
      renewTime: this.#now(),
    }
  }

  /** For people only: no code compares it. */
  #now(): string {
    return microTimestamp(this.#clock.now())
  }

  #notify(call: () => void): void {
    try {
      call()
    } catch (error) {
      this.#log.error({ err: error }, 'A listener of the lease failed.')
    }
  }
}
