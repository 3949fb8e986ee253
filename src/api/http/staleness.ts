import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../../core/clock.ts'
import { PlatformError } from '../../core/errors.ts'
import { isRefusal } from './refusal.ts'
import { isNoCacheRequest, type PermissionEnds } from './requestContext.ts'

/** How old the caches are, and how old they may be to be served, in milliseconds. */
export type Staleness = { readonly age: () => number; readonly bound: number }

/** Milliseconds: a watch that the API server closes is reopened sooner than this. */
const TOLERATED_AGE_MS = 2_000
const NEVER_STALE: Staleness = { age: () => 0, bound: Number.POSITIVE_INFINITY }

/**
 * Adds the age of the caches to responses while the API server does not answer (RFC 9111, 5.1). Beyond a bound it
 * refuses: what exists and who may do what may both have changed.
 *
 * @throws PlatformError SERVICE_UNAVAILABLE
 */
export function addAgeHeader(
  { request, response }: { request: IncomingMessage; response: ServerResponse },
  { age, bound }: Staleness = NEVER_STALE,
): void {
  const milliseconds = age()
  if (milliseconds < TOLERATED_AGE_MS) return
  if (milliseconds > bound) {
    const message = 'The platform has lost its connection to the API server; its data is too old to answer from.'
    throw new PlatformError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 5 })
  }
  if (!['GET', 'HEAD'].includes(request.method ?? '') || isNoCacheRequest(request)) return
  response.setHeader('age', String(Math.round(milliseconds / 1000)))
}

/**
 * Makes the check that streams repeat. A stream outlives an outage for as long as reads are answered from old caches;
 * after that, its permission may have been withdrawn long ago.
 *
 * @param state gets the cause, because a handler only sees that it was aborted
 */
export function createStreamCheck(
  requirePermission: () => Promise<void>,
  state: { ended?: unknown },
  {
    services: { clock },
    staleness: { age, bound } = NEVER_STALE,
  }: { services: { clock: Clock }; staleness?: Staleness | undefined },
): PermissionEnds {
  let knownAt = clock.monotonic()
  return async () => {
    const error = await requirePermission().catch((thrown: unknown) => thrown)
    if (error === undefined) knownAt = clock.monotonic() - age()
    const end = isRefusal(error) ? error : endOfUnchecked(clock.monotonic() - knownAt, bound)
    state.ended = end ?? state.ended
    return end
  }
}

function endOfUnchecked(unknownFor: number, bound: number): PlatformError | undefined {
  if (unknownFor <= bound) return undefined
  const message = `The platform could not check for ${bound / 1000} s whether you may still read this.`
  return new PlatformError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 5 })
}
