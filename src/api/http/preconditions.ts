import type { IncomingHttpHeaders } from 'node:http'
import { PlatformError } from '../../core/errors.ts'
import { nothingToMatch } from './etag.ts'
import { createsUnnamed, type Route } from './route.ts'

/**
 * Refuses conditions that the route does not compare: a write that ignored a false condition would overwrite what its
 * caller meant to keep.
 *
 * @throws PlatformError CONFLICT, BAD_REQUEST
 */
export function refuseUnsupportedConditions(route: Route, headers: IncomingHttpHeaders): void {
  if (createsUnnamed(route) && headers['if-match'] !== undefined) throw nothingToMatch()
  const mayReplace = ['PUT', 'PATCH', 'DELETE'].includes(route.method) || route.isNamedByBody
  if (!mayReplace || headers['if-none-match'] === undefined) return
  const advice = 'send the ETag that was read in If-Match, or leave the header out'
  throw new PlatformError('BAD_REQUEST', `If-None-Match guards no write here: ${advice}.`)
}
