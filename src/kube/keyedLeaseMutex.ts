import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { PlatformError } from '../core/errors.ts'
import { runFenced } from '../core/fencedWork.ts'
import { KeyedMutex } from '../core/keyedMutex.ts'
import { createLruCache } from '../core/lruCache.ts'
import { SYSTEM_NAMESPACE, sha256 } from '../core/names.ts'
import { lease } from './builtin.ts'
import type { KubeClient } from './client.ts'
import { isKubeError } from './errors.ts'
import { createLease, type LeaseObject, readLease } from './lease.ts'

/** All in milliseconds. */
export type LeaseMutexTimings = {
  /**
   * After this long, a turn counts as abandoned by a process that died; its Lease states it. A live holder stops
   * writing after two thirds of it; the rest is a margin for slow writes.
   */
  duration: number
  /** How long a caller waits for its turn; longer than it takes to take over an abandoned turn. */
  timeout: number
  /** Pause between two attempts, chosen at random. */
  pause: { min: number; max: number }
}

/** Overrides of the timings for one call. */
export type LeaseMutexOptions = Partial<Pick<LeaseMutexTimings, 'timeout' | 'duration'>>

type Ref = { readonly namespace: string; readonly name: string }
/** `deadline`: when the caller stops waiting, on the monotonic clock of this process. */
type LeaseRequest = { readonly deadline: number; readonly duration: number }

export const TURN_TIMINGS: LeaseMutexTimings = { duration: 15_000, timeout: 30_000, pause: { min: 10, max: 60 } }
const SEEN_MAX = 1_000
/** Retry-After for a caller that has waited in vain. */
const RETRY_SECONDS = 5

/**
 * Runs work one at a time per key across all processes, with a Lease per key in our own namespace that exists while the
 * work runs. For checks that no single object can decide, such as whether an Owner is left. The checked objects must be
 * read from the API server, not from a cache.
 */
export class KeyedLeaseMutex {
  /** Lets one caller per process contend for a Lease: many at once would load the API server and delay each other. */
  readonly #inProcess = new KeyedMutex()
  readonly #client: Pick<KubeClient, 'get' | 'create' | 'remove'>
  readonly #timings: LeaseMutexTimings
  /** Leases of others by name, and since when this process has seen them: no process relies on another's clock. */
  readonly #seen = createLruCache<string, { uid: string; since: number }>(SEEN_MAX)

  constructor(client: Pick<KubeClient, 'get' | 'create' | 'remove'>, timings: LeaseMutexTimings = TURN_TIMINGS) {
    this.#client = client
    this.#timings = timings
  }

  /** @throws PlatformError SERVICE_UNAVAILABLE if others keep the turn; what `work` throws */
  take<Result>(key: string, work: () => Promise<Result>, options: LeaseMutexOptions = {}): Promise<Result> {
    const { timeout, duration } = { ...this.#timings, ...options }
    const deadline = performance.now() + timeout
    return this.#inProcess.take(key, () => {
      // The caller may have given up by now.
      if (performance.now() > deadline) throw busy()
      return this.#takeLease(key, { deadline, duration }, work)
    })
  }

  async #takeLease<Result>(key: string, request: LeaseRequest, work: () => Promise<Result>): Promise<Result> {
    const ref = { namespace: SYSTEM_NAMESPACE, name: `turn-${sha256(key).slice(0, 40)}` }
    const { uid, since } = await this.#acquire(ref, request)
    let isOver = false
    const end = since + (request.duration * 2) / 3
    const fence = () => {
      // Calls that `work` left running after its end do not belong to the turn.
      if (!isOver && performance.now() > end) throw busy()
    }
    try {
      return await runFenced(fence, work)
    } finally {
      isOver = true
      // A Lease that cannot be deleted expires by itself.
      await this.#client.remove(lease, ref, { uid, unfenced: true }).catch(() => undefined)
    }
  }

  /** @returns the uid of the Lease, and a moment before any other process can have seen it */
  async #acquire(ref: Ref, { deadline, duration }: LeaseRequest): Promise<{ uid: string; since: number }> {
    const holder = randomUUID()
    const spec = { holderIdentity: holder, leaseDurationSeconds: Math.ceil(duration / 1000) }
    const { pause } = this.#timings
    for (;;) {
      const since = performance.now()
      const held = (await createLease(this.#client, ref, spec)) ?? (await readLease(this.#client, ref))
      if (held?.spec?.holderIdentity === holder) return { uid: held.metadata.uid ?? '', since }
      if (held !== undefined) await this.#endIfAbandoned(ref, held)
      if (performance.now() > deadline) throw busy()
      await sleep(pause.min + (pause.max - pause.min) * Math.random())
    }
  }

  async #endIfAbandoned(ref: Ref, { metadata: { uid = '' }, spec }: LeaseObject): Promise<void> {
    const now = performance.now()
    const seen = this.#seen.get(ref.name)
    const seconds = spec?.leaseDurationSeconds ?? this.#timings.duration / 1000
    if (seen?.uid !== uid) this.#seen.set(ref.name, { uid, since: now })
    else if (now - seen.since > seconds * 1000)
      await this.#client.remove(lease, ref, { uid }).catch((error: unknown) => {
        if (!isKubeError(error, 'Conflict', 'NotFound')) throw error
      })
  }
}

function busy(): PlatformError {
  const message = `A conflicting change is still in progress: try again in ${RETRY_SECONDS} s.`
  return new PlatformError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: RETRY_SECONDS })
}
