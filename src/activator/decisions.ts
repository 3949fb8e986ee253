/** What the activator decides, without doing any of it. Durations and times are milliseconds. */

export type Limits = {
  /** Requests that one copy serves at once. */
  concurrency: number
  minReplicas: number
  maxReplicas: number
  /** Without a need for so long, copies stop. */
  idle: number
  enabled: boolean
  /** Why no copy comes, where none does; calls that copies of before may serve still wait. */
  failed?: string | undefined
}

export type Load = {
  inFlight: number
  waiting: number
}

/** How many copies the calls of this moment need. */
export function copiesNeeded({ inFlight, waiting }: Load, { concurrency, maxReplicas, enabled }: Limits): number {
  if (!enabled) return 0
  return Math.min(Math.ceil((inFlight + waiting) / concurrency), maxReplicas)
}

/** What is remembered between two looks: how many copies are asked for, and since when fewer would do. */
export type Scale = {
  desired: number
  /** The most that was needed since `lowSince`. */
  peak: number
  lowSince: number | undefined
}

/**
 * Up at once, down to what the last idle time needed at most.
 *
 * @returns the next scale, and when to look again though nothing happens; undefined if only a call changes it
 */
export function nextScale(
  { desired, peak, lowSince }: Scale,
  needed: number,
  limits: Limits,
  now: number,
): { scale: Scale; lookAt: number | undefined } {
  const least = limits.enabled ? limits.minReplicas : 0
  const wanted = Math.max(needed, least)
  if (wanted >= desired) return { scale: { desired: wanted, peak: 0, lowSince: undefined }, lookAt: undefined }
  if (!limits.enabled) return { scale: { desired: 0, peak: 0, lowSince: undefined }, lookAt: undefined }
  const since = lowSince ?? now
  const most = Math.max(lowSince === undefined ? 0 : peak, wanted)
  const until = since + limits.idle
  if (now < until) return { scale: { desired, peak: most, lowSince: since }, lookAt: until }
  if (most <= least) return { scale: { desired: most, peak: 0, lowSince: undefined }, lookAt: undefined }
  // Fewer are left; whether they are needed is a question of the next idle time.
  return { scale: { desired: most, peak: wanted, lowSince: now }, lookAt: now + limits.idle }
}

export type Copy = { address: string; inFlight: number }

/** The copy with the fewest calls that takes one more; undefined if all are full. */
export function chooseCopy(copies: readonly Copy[], concurrency: number): Copy | undefined {
  return copies
    .filter(({ inFlight }) => inFlight < concurrency)
    .reduce<Copy | undefined>(
      (best, copy) => (best === undefined || copy.inFlight < best.inFlight ? copy : best),
      undefined,
    )
}

/** Calls of one function that may wait: beyond them memory would be the bound. */
export const MOST_WAITING = 1000

export type Arrival = 'wait' | 'refuse' | 'disabled'

/** What becomes of a call that arrives; whoever waits is served in turn, as soon as a copy has room. */
export function admit({ waiting }: Pick<Load, 'waiting'>, { enabled }: Pick<Limits, 'enabled'>): Arrival {
  if (!enabled) return 'disabled'
  return waiting < MOST_WAITING ? 'wait' : 'refuse'
}
