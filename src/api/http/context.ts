import type { ActionName } from '../../core/actions.ts'
import type { Clock } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import type { BoundariesOfPrincipal, ScopesOfAction } from '../../iam/evaluate.ts'
import type { Permissions } from '../../iam/permissions.ts'
import type { Decision } from '../../iam/records.ts'
import type { Caller } from '../callers/tokens.ts'
import type { Records } from '../records/records.ts'
import type { ListRequest } from '../resources/paging.ts'
import type { SeenVersion } from './etag.ts'
import type { RawBody } from './rawBody.ts'

export type { Caller, TokenVerifier } from '../callers/tokens.ts'

/** Authorization decisions from the assignments in force. */
export interface Access {
  isAllowed(principalId: string, action: string, scope: string): boolean
  /**
   * Reads from the API server what lets the principal act at the scope and may not be in the caches yet; later
   * decisions count it. Never fails, and is rate limited. Call it before each refusal, and decide again.
   */
  catchUp(principalId: string, scope: string): Promise<void>
  explain(principalId: string, action: string, scope: string): Decision
  /** Every action of the interface that the principal holds at the scope. */
  permissionsAt(principalId: string, scope: string): ActionName[]
  /** The scopes where the principal holds the action, as filters for lists over many scopes. */
  scopesWith(principalId: string, action: string): ScopesOfAction
  /** The boundaries that the principal's assignments reach into. */
  boundariesOf(principalId: string): BoundariesOfPrincipal
  /** Whether the principal holds all of these permissions at the scope, and so may grant them. */
  holdsAll(principalId: string, permissions: Permissions, scope: string): boolean
  /** The roles that the principal holds at exactly this scope, by an assignment of its own or of a group. */
  rolesAt(principalId: string, scope: string): string[]
}

/**
 * What handlers work with. An area that needs a port of its own (an engine, a secret store) declares it by declaration
 * merging beside its routes, so that the composition root must supply it.
 */
export interface Services {
  readonly records: Records
  readonly access: Access
  readonly clock: Clock
  readonly log: Log
  /** Names that no resource may have, because a route has a literal segment in their place. */
  readonly reservedNames: ReadonlySet<string>
}

/** One request to a route, after authentication, authorization and parsing. */
export type Context<Parameters extends string = string, Query = unknown, Body = unknown> = {
  readonly services: Services
  /** @throws PlatformError UNAUTHORIZED on an anonymous route without a token */
  readonly caller: Caller
  readonly isAnonymous: boolean
  /** The client's address; behind trusted proxies, the one they report. Undefined if the client has disconnected. */
  readonly address: string | undefined
  /** Decoded once. Names of boundaries, groups and resources are well-formed. */
  readonly parameters: { readonly [Name in Parameters]: string }
  readonly query: Query
  readonly body: Body
  /** `page`, `pageSize`, `search`, `sort` and `filter`, on routes that declare a list. */
  readonly list: ListRequest
  /** The versions that If-Match names; undefined without the header or with `*`. */
  readonly ifMatch: readonly SeenVersion[] | undefined
  /** The media type of the route that the client prefers. */
  readonly mediaType: string
  /** `Cache-Control: no-cache`: read through to the API server. */
  readonly fresh: boolean
  header(name: string): string | undefined
  /**
   * On `signed` routes: the sender is now known, by a name that no other sender has. The request counts for that
   * sender, and no longer for its address.
   *
   * @param principal absent for a part of the platform, which has no limit
   * @throws PlatformError TOO_MANY_REQUESTS
   */
  prove(principal?: string): void
  /** Counts bytes that were read for the answer: the caller's next request waits as after a long answer. */
  owe(bytes: number): void
  /** On routes with `bodyKind: 'raw'` only. */
  readonly rawBody: RawBody
  readonly correlationId: string
  readonly log: Log
  /** Aborted when the client disconnects or the request times out. */
  readonly signal: AbortSignal
  /**
   * Like `signal`, and also aborted within seconds once this request would be refused: the permission is withdrawn, the
   * token has expired, the principal is disabled. For streams without an end.
   */
  readonly whilePermitted: AbortSignal
  /** Like `whilePermitted`, for a handler that requires more than its route: also aborted once `isHeld` returns false. */
  whileHolding(isHeld: () => boolean): AbortSignal
  /** The scope that the route was authorized at; undefined on routes without an action. */
  readonly scope: string | undefined
}
