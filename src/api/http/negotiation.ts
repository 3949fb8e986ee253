import Negotiator from 'negotiator'
import { PlatformError } from '../../core/errors.ts'
import type { Route } from './route.ts'

export const EVENT_STREAM = 'text/event-stream'
const JSON_TYPE = 'application/json'

/** Whether a list can be followed as a stream of events. */
export const isFollowable = ({ list, unfollowed }: Pick<Route, 'list' | 'unfollowed'>) =>
  list !== undefined && unfollowed === undefined

/** The media types of a route's answer: the usual one, and the one that a client gets if it prefers it. */
export function mediaTypesOf(route: Pick<Route, 'list' | 'unfollowed' | 'reply' | 'replyMediaType'>): string[] {
  const { reply, replyMediaType } = route
  if (isFollowable(route)) return [replyMediaType, EVENT_STREAM]
  return replyMediaType === 'text/plain' && reply !== undefined ? [replyMediaType, JSON_TYPE] : [replyMediaType]
}

/**
 * Returns the media type of the route that the client prefers.
 *
 * @throws PlatformError NOT_ACCEPTABLE if the client accepts no media type of the route
 */
export function negotiate(route: Route, accept: string | undefined): string {
  if (accept === undefined || accept === '') return route.replyMediaType
  const plainTypes = [...new Set([route.replyMediaType, JSON_TYPE, 'application/problem+json'])]
  const supported = isFollowable(route) ? [...plainTypes, EVENT_STREAM] : plainTypes
  // Media type parameters select nothing here: JSON is UTF-8 whatever a client says of it.
  const ranges = accept.replace(/;\s*(?!q=)[^;,]*/gi, '')
  // A client that accepts any text has not asked for a response without an end.
  const acceptsEvents = ranges.toLowerCase().includes(EVENT_STREAM)
  const chosen = new Negotiator({ headers: { accept: ranges } }).mediaType(acceptsEvents ? supported : plainTypes)
  if (chosen !== undefined) return mediaTypesOf(route).find((type) => type === chosen) ?? route.replyMediaType
  const isUnfollowed = route.unfollowed !== undefined && acceptsEvents
  const message = isUnfollowed
    ? `This list cannot be followed: ${notFollowed(route)}.`
    : 'None of the accepted media types is available.'
  throw new PlatformError('NOT_ACCEPTABLE', message, { supported })
}

/** Says why a list cannot be followed. */
export const notFollowed = ({ unfollowed }: Pick<Route, 'unfollowed'>) =>
  `it comes from ${unfollowed}, where nobody says what changes`
