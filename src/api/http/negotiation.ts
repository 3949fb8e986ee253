import Negotiator from 'negotiator'
import { PlatformError } from '../../core/errors.ts'
import type { Route } from './route.ts'

/** @throws PlatformError NOT_ACCEPTABLE if the client accepts no media type of the route */
export function negotiate(route: Route, accept: string | undefined): void {
  if (accept === undefined || accept === '') return
  const supported = [...new Set([route.replyMediaType, 'application/json', 'application/problem+json'])]
  // Parameters choose nothing here: JSON is UTF-8 whatever a client says of it.
  const ranges = accept.replace(/;\s*(?!q=)[^;,]*/gi, '')
  if (new Negotiator({ headers: { accept: ranges } }).mediaType(supported) === undefined) {
    throw new PlatformError('NOT_ACCEPTABLE', 'None of the accepted media types is available.', { supported })
  }
}
