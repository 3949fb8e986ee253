/** Pure scaling and admission decisions of the activator. Durations and times are in milliseconds. */

export type Limits = {
  /** Requests that one copy serves at once. */
  concurrency: number
  minReplicas: number
  maxReplicas: number
  /** Copies stop after this long without being needed. */
  idle: number
  enabled: boolean
  /** Why no copy can start. Calls still wait while copies of an earlier revision serve. */
  failed?: string | undefined
}

export type Load = {
  inFlight: number
  waiting: number
}

/** Returns how many copies the current calls need. */
export function copiesNeeded({ inFlight, waiting }: Load, { concurrency, maxReplicas, enabled }: Limits): number {
  if (!enabled) return 0
  return Math.min(Math.ceil((inFlight + waiting) / concurrency), maxReplicas)
}

/** Scaling state between two decisions: the number of copies requested, and since when fewer would do. */
export type Scale = {
  desired: number
  /** The highest need since `lowSince`. */
  peak: number
  lowSince: number | undefined
}

/** As many copies as are needed. */
export const settledScale = (desired: number): Scale => ({ desired, peak: 0, lowSince: undefined })

/**
 * Scales up at once, and down only to the highest need of the last idle period.
 *
 * @returns the next scale and when to look again even if nothing happens; undefined if only a call can change it
 */
export function nextScale(
  { desired, peak, lowSince }: Scale,
  needed: number,
  limits: Limits,
  now: number,
): { scale: Scale; checkAt: number | undefined } {
  const settled = (copies: number) => ({ scale: settledScale(copies), checkAt: undefined })
  if (!limits.enabled) return settled(0)
  const wanted = Math.max(needed, limits.minReplicas)
  if (wanted >= desired) return settled(wanted)
  const since = lowSince ?? now
  const highest = Math.max(peak, wanted)
  const until = since + limits.idle
  if (now < until) return { scale: { desired, peak: highest, lowSince: since }, checkAt: until }
  if (highest <= limits.minReplicas) return settled(highest)
  // Scale down in steps: the next idle period decides whether the remaining copies are needed.
  return { scale: { desired: highest, peak: wanted, lowSince: now }, checkAt: now + limits.idle }
}

export type Copy = { address: string; inFlight: number }

/** Returns the least busy copy that can take another call; undefined if all are full. */
export function chooseCopy(copies: readonly Copy[], concurrency: number): Copy | undefined {
  return copies
    .filter(({ inFlight }) => inFlight < concurrency)
    .reduce<Copy | undefined>(
      (best, copy) => (best === undefined || copy.inFlight < best.inFlight ? copy : best),
      undefined,
    )
}

/** Bounds the waiting calls of one function; otherwise only memory would bound them. */
export const MAX_WAITING_CALLS = 1000

export type Arrival = 'wait' | 'refuse' | 'disabled'

/** Decides whether a new call waits. Waiting calls are served in order, as soon as a copy has room. */
export function admit({ waiting }: Pick<Load, 'waiting'>, { enabled }: Pick<Limits, 'enabled'>): Arrival {
  if (!enabled) return 'disabled'
  return waiting < MAX_WAITING_CALLS ? 'wait' : 'refuse'
}
