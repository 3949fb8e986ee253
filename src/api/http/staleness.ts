import type { IncomingMessage, ServerResponse } from 'node:http'
import { PlatformError } from '../../core/errors.ts'
import { isNoCacheRequest } from './requestContext.ts'

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
  refuseStaleCaches({ age, bound })
  if (!['GET', 'HEAD'].includes(request.method ?? '') || isNoCacheRequest(request)) return
  response.setHeader('age', String(Math.round(milliseconds / 1000)))
}

/** @throws PlatformError SERVICE_UNAVAILABLE */
export function refuseStaleCaches({ age, bound }: Staleness = NEVER_STALE): void {
  if (age() <= bound) return
  const message = 'The platform has lost its connection to the API server; its data is too old to answer from.'
  throw new PlatformError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 5 })
}
