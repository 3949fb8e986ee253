import type { IncomingMessage, ServerResponse } from 'node:http'
import { addressKey } from '../../core/addressKey.ts'
import { disconnectSignalOf } from '../../core/disconnectSignal.ts'
import { PlatformError, permissionMissing } from '../../core/errors.ts'
import { FairShare } from '../../core/fairShare.ts'
import { ambiguityOf } from '../../core/framing.ts'
import type { Log } from '../../core/log.ts'
import { onBehalfOf } from '../../core/origin.ts'
import type { DrainOptions } from '../../core/unreadBody.ts'
import { holdsNow } from '../callers/holdsNow.ts'
import type { PrincipalStatus } from '../callers/principalStatus.ts'
import { tenantsOf } from '../callers/principals.ts'
import { levelsOf, type PathLevels, scopeOfPath } from '../callers/scopes.ts'
import { authorizationHeader } from '../callers/tokens.ts'
import { type Answer, withDatesInUtc } from './answer.ts'
import { badName } from './badName.ts'
import { ANY_TYPE, checkMediaType, JSON_LIMIT_BYTES } from './body.ts'
import {
  CallerLimits,
  type CallerLimitsOptions,
  originOf,
  type RateLimitKey,
  rateLimitKeyOf,
  rateLimitScopeOf,
} from './callerLimits.ts'
import { checkCondition, checkFurtherPermission, checkRefusal, checkReply } from './checkReply.ts'
import type { Caller, Services, TokenVerifier } from './context.ts'
import { checkLocation, withLocation } from './location.ts'
import type { HttpMetrics } from './metrics.ts'
import { EVENT_STREAM, mediaTypesOf, negotiate } from './negotiation.ts'
import { refuseUnsupportedConditions } from './preconditions.ts'
import { toPlatformError } from './problem.ts'
import { metadataParameter } from './protectedResource.ts'
import { parseQuery } from './query.ts'
import { beginRawBody, type RawBody } from './rawBody.ts'
import { buildRefusal, sendRefusal } from './refusal.ts'
import {
  firstHeader,
  isNoCacheRequest,
  type ParsedRequest,
  type PermissionEnds,
  RequestContext,
} from './requestContext.ts'
import { type Failure, logRequest, routeOf } from './requestLog.ts'
import { type RequestObserver, RequestWrites } from './requestObserver.ts'
import type { RequestState } from './requestState.ts'
import type { Route } from './route.ts'
import { readRouteBody } from './routeBody.ts'
import { type Match, Router } from './router.ts'
import { withNoStore } from './secretAnswers.ts'
import { send } from './sending.ts'
import { addAgeHeader, createStreamCheck, type Staleness } from './staleness.ts'
import { OpenStreams } from './streams/openStreams.ts'
import { type RequestTracer, traceOf } from './tracing.ts'

export type PipelineOptions = {
  routes: readonly Route[]
  services: Services
  tokens: Pick<TokenVerifier, 'verify'>
  /** Refuses tokens of deleted or disabled principals. Absent if the issuer (Keycloak) does not tell us who exists. */
  standing?: PrincipalStatus | undefined
  log: Log
  metrics: HttpMetrics
  limits: CallerLimitsOptions
  /** Checks every answer against the schema of its route; for tests. */
  checkReplies?: boolean
  /** False until the caches are filled; once true, it stays true. Until then, routes that need a sign-in answer 503. */
  isReady?: () => boolean
  /** How old the caches are, and how old they may be to be served, in milliseconds. Absent: never stale. */
  staleness?: Staleness | undefined
  /** Called for every finished request that could change something. */
  observer?: RequestObserver | undefined
  /** Absent if tracing is off. */
  tracer?: RequestTracer | undefined
}

const INACTIVE_PHRASES = { deleted: 'no longer exists', disabled: 'is disabled' } as const

/** All followed lists share the turns of this key: one tenant may have many principals that each follow many lists. */
const FOLLOWED_LISTS_KEY = 'followed lists'

/**
 * The stages of a request: route, authentication, rate, authorization, negotiation, query, body, handler. Authorization
 * comes before the body is read and before anything in the path is looked up, so that a caller without permission
 * learns nothing about what exists.
 */
export class Pipeline {
  readonly #options: PipelineOptions
  readonly #router: Router
  readonly #levels: ReadonlyMap<Route, PathLevels>
  readonly #limits: CallerLimits
  readonly #fairShare = new FairShare()
  readonly #streams: OpenStreams
  readonly #metadata: string
  #isReady = false

  constructor(options: PipelineOptions) {
    this.#options = options
    this.#router = new Router(options.routes)
    this.#levels = new Map(options.routes.map((route) => [route, levelsOf(route)]))
    this.#limits = new CallerLimits(options.limits, options.services.clock, options.metrics)
    this.#streams = new OpenStreams(options.services.clock, options.metrics)
    this.#metadata = metadataParameter(options.services.protectedResource)
  }

  /** Ends the streams that have no end of their own. */
  drain(): void {
    this.#streams.stop()
  }

  async handle(request: IncomingMessage, response: ServerResponse, address: string | undefined): Promise<void> {
    const { metrics, services, tracer } = this.#options
    const began = services.clock.monotonic()
    const trace = traceOf(firstHeader(request, 'x-correlation-id'), firstHeader(request, 'traceparent'), tracer)
    response.setHeader('x-correlation-id', trace.correlationId)
    response.setHeader('traceparent', trace.traceparent)
    const beganAt = services.clock.now()
    const state: RequestState = {
      request,
      response,
      trace,
      address,
      metadata: this.#metadata,
      match: undefined,
      caller: undefined,
      writes: undefined,
      unproved: undefined,
    }
    metrics.began()
    let failure: Failure | undefined
    let milliseconds: number | undefined
    const measure = (status: number) => {
      if (milliseconds !== undefined) return milliseconds
      milliseconds = services.clock.monotonic() - began
      metrics.ended(request.method ?? '', routeOf(state), status, milliseconds / 1000)
      return milliseconds
    }
    try {
      const answer = await this.#answer(state).finally(() => state.unproved?.end())
      const limitKey = rateLimitKeyOf(state)
      // The duration of a stream says nothing about the time to answer, so measure now.
      if (answer.isOpenEnded === true) measure(answer.status)
      await send(request, response, answer, {
        turn: () => this.#fairShare.take(limitKey.key),
        spend: (bytes) => this.#limits.oweAnswer(limitKey, bytes, { scope: rateLimitScopeOf(state), response }),
        dropping: this.#drainOptions(limitKey),
      })
    } catch (thrown) {
      failure = this.#failure(state, thrown)
    }
    if (failure !== undefined) {
      measure(failure.error.status)
      if (failure.error.status === 429) await this.#limits.holdRefusal(disconnectSignalOf(response))
      sendRefusal(state, failure.error, this.#drainOptions(rateLimitKeyOf(state)))
    }
    const { method = '' } = request
    const outcome = { trace, method, route: routeOf(state), status: response.statusCode, beganAt }
    tracer?.traced({ ...outcome, milliseconds: measure(response.statusCode) })
    logRequest(this.#options.log, state, measure(response.statusCode), failure ?? state.unread)
    this.#notifyObserver(state, beganAt, failure)
  }

  #drainOptions(limitKey: RateLimitKey): DrainOptions {
    return { clock: this.#options.services.clock, pay: (bytes) => this.#limits.payDropped(limitKey, bytes) }
  }

  #failure({ match }: RequestState, thrown: unknown): Failure {
    const error = toPlatformError(thrown)
    if (this.#options.checkReplies !== true || match === undefined) return { thrown, error }
    try {
      checkRefusal(match.route, error)
      return { thrown, error }
    } catch (undocumented) {
      return { thrown: undocumented, error: toPlatformError(undocumented) }
    }
  }

  #notifyObserver(state: RequestState, beganAt: number, failure: Failure | undefined) {
    const { writes, match, caller, trace, address, response } = state
    if (writes === undefined || match === undefined || caller === undefined) return
    const { id, writes: written, isUnchanged } = writes
    const { correlationId, traceId } = trace
    const origin = { caller, address, correlationId, traceId }
    const result = { status: response.statusCode, error: failure?.error, written, isUnchanged }
    this.#options.observer?.({ id, match, ...origin, beganAt, ...result })
  }

  async #answer(state: RequestState): Promise<Answer> {
    const { request } = state
    const ambiguity = ambiguityOf(request)
    if (ambiguity !== undefined) {
      await this.#takeTurn(state)
      throw new PlatformError('BAD_REQUEST', ambiguity)
    }
    const [path = ''] = (request.url ?? '').split('?', 1)
    state.match = this.#router.find(request.method ?? '', path)
    if (state.match === undefined) {
      await this.#countProbe(state)
      throw new PlatformError('NOT_FOUND', 'There is no such route.')
    }
    const { route, segments } = state.match
    if (route.authorization.kind === 'anonymous') await this.#takeTurn(state)
    else {
      this.#refuseUntilReady()
      addAgeHeader(state, this.#options.staleness)
      await this.#authenticate(state, route)
    }
    if (this.#options.observer !== undefined && route.method !== 'GET' && state.caller !== undefined)
      state.writes = new RequestWrites(state.caller.principalId)
    if (mediaTypesOf(route).length > 1) state.response.setHeader('vary', 'Accept')
    const scope = await this.#authorize(state, state.match)
    const mediaType = negotiate(route, firstHeader(request, 'accept'))
    const isFollowed = mediaType === EVENT_STREAM
    refuseUnsupportedConditions(route, request.headers)
    const { query, list } = parseQuery(route, request.url?.slice(path.length + 1) ?? '', isFollowed)
    const requirePermitted = this.#permissionCheck(state, state.match)
    const replacing = (field: string) => this.#router.replacing(segments, field)
    const sent = { ...state, route, replacing, scope: rateLimitScopeOf(state) }
    const body = await readRouteBody(sent, this.#limits, this.#options.services)
    if (body !== undefined) await requirePermitted()
    const rawBody = this.#rawBody(state, route, requirePermitted)
    const parts = { query, list, body, rawBody, scope, mediaType, fresh: !isFollowed && isNoCacheRequest(request) }
    if (isFollowed) return this.#follow(state, state.match, parts)
    const context = this.#context(state, state.match, parts)
    const origin = state.writes ?? originOf(state)
    // If the caller lost its permission while sending a body, that refusal is the cause of the handler's failure.
    const answer = await onBehalfOf(origin, async () => route.handler(context)).catch((error: unknown) => {
      if (this.#options.checkReplies === true) checkFurtherPermission(route, error)
      throw state.ended ?? error
    })
    if (this.#options.checkReplies === true) {
      checkReply(route, answer)
      checkCondition(route, context)
    }
    const prepared = withNoStore(route, withDatesInUtc(answer, route.reply))
    if (prepared.status !== 201)
      return this.#streams.logs.admit(prepared, rateLimitKeyOf(state).key, context.parameters.boundaryId)
    const located = withLocation(this.#router, route, path, prepared)
    if (this.#options.checkReplies === true) checkLocation(this.#router, located)
    return located
  }

  /** Before the caches are filled, every answer would be a wrong 403 or 404. */
  #refuseUntilReady(): void {
    this.#isReady ||= this.#options.isReady?.() ?? true
    if (this.#isReady) return
    throw new PlatformError('SERVICE_UNAVAILABLE', 'The platform is starting: try again in a moment.', {
      retryAfterSeconds: 1,
    })
  }

  /** Takes a turn of the caller if it is known, otherwise of the address. */
  async #takeTurn(state: RequestState): Promise<void> {
    const limitKey = rateLimitKeyOf(state)
    await this.#fairShare.take(limitKey.key)
    const authorization = state.match?.route.authorization
    const isSigned = authorization?.kind === 'anonymous' && authorization.isSigned === true
    if (isSigned) state.unproved = await this.#limits.takeUnproved(limitKey)
    else this.#limits.takeRequest(limitKey)
  }

  /** A mistyped path counts for its caller; probing for routes without a valid token counts for the address. */
  async #countProbe(state: RequestState): Promise<void> {
    if (state.request.headers.authorization === undefined) return this.#takeTurn(state)
    await this.#authenticate(state).catch((error: unknown) => {
      if (error instanceof PlatformError && error.code === 'TOO_MANY_REQUESTS') throw error
    })
  }

  /** Refused tokens count against the address, so that guessing is as slow as anonymous requests. */
  async #authenticate(state: RequestState, route?: Route): Promise<void> {
    try {
      const caller = await this.#options.tokens.verify(authorizationHeader(state.request))
      await this.#requireActivePrincipal(caller, route)
      state.caller = caller
    } catch (error) {
      this.#limits.takeRequest({ kind: 'address', key: addressKey(state.address) })
      throw error
    }
    await this.#takeTurn(state)
  }

  /** @throws PlatformError UNAUTHORIZED if the token's principal was deleted or disabled after it was issued */
  async #requireActivePrincipal({ principalId, principalType, principalUid }: Caller, route?: Route): Promise<void> {
    const ended = await this.#options.standing?.endOf(principalId, principalType, principalUid)
    if (ended === undefined || (ended === 'deleted' && route?.answersUnknownCallers === true)) return
    throw new PlatformError('UNAUTHORIZED', `The principal of the access token ${INACTIVE_PHRASES[ended]}.`)
  }

  /** @returns the scope that was checked; undefined on routes without an action */
  async #authorize({ caller }: RequestState, { route, parameters, segments }: Match): Promise<string | undefined> {
    const { services } = this.#options
    const levels = this.#levels.get(route) ?? levelsOf(route)
    const { text, badPart } = scopeOfPath(levels, segments)
    let scope: string | undefined
    if (route.authorization.kind === 'iam') {
      const { action } = route.authorization
      scope = route.scopeFrom === undefined ? text : (route.scopeFrom(parameters, services) ?? '/')
      const principal = caller?.principalId ?? ''
      const at = scope
      const may = () =>
        services.access.isAllowed(principal, action, at) || route.mayPass?.(principal, services, parameters) === true
      // A refusal does not reveal a scope that is not in the path, nor whether the object exists.
      const toldScope = route.scopeFrom === undefined ? at : '/'
      if (!(await holdsNow(services.access, principal, at, may))) throw permissionMissing(action, toldScope)
    }
    if (badPart !== undefined) throw badName(route, badPart, segments)
    return scope
  }

  #rawBody(state: RequestState, route: Route, requirePermitted: () => Promise<void>): RawBody | undefined {
    const { bodyKind, mediaTypes, bodyLimit: limitBytes = JSON_LIMIT_BYTES } = route
    if (bodyKind !== 'raw') return undefined
    // A body without Content-Type may have any type (RFC 9110 section 8.3).
    const isTyped = state.request.headers['content-type'] !== undefined
    if (isTyped && !mediaTypes.includes(ANY_TYPE)) checkMediaType(state.request, mediaTypes)
    const limitKey = rateLimitKeyOf(state)
    const rules = {
      limitBytes,
      begin: () => this.#limits.beginUpload(limitKey),
      hold: this.#limits.bodyHeld(limitKey, rateLimitScopeOf(state), state.response),
      pay: (bytes: number) => this.#limits.payUpload(limitKey, bytes),
      ended: requirePermitted,
    }
    return beginRawBody(state.request, state.response, rules, this.#options.services.clock)
  }

  /** Streams a list and its changes while the same request would be allowed. A tenant's people share one scope. */
  async #follow(state: RequestState, match: Match, parts: ParsedRequest): Promise<Answer> {
    const limitKey = rateLimitKeyOf(state)
    const scope = match.parameters.boundaryId ?? (await tenantsOf(this.#options.services, limitKey.key)).join()
    const read = async () => {
      await this.#recheckAccess(state, match)
      const { entries } = await match.route.handler(this.#context(state, match, parts))
      if (entries === undefined) throw new TypeError(`${match.route.path} does not tell its records one by one.`)
      return entries()
    }
    const permissionEnds = this.#permissionEnds(state, match)
    return this.#streams.open(
      { principal: limitKey.key, scope },
      {
        read: () =>
          read().catch((thrown: unknown) => {
            state.unread = this.#failure(state, thrown)
            throw thrown
          }),
        ask: async () => {
          const end = await permissionEnds()
          if (end !== undefined) throw end
        },
        turn: () => this.#fairShare.take(FOLLOWED_LISTS_KEY),
        spend: (bytes) => this.#limits.oweAnswer(limitKey, bytes),
        refusalOf: (error) => JSON.stringify(buildRefusal(state, toPlatformError(error)).body),
        lastEventId: firstHeader(state.request, 'last-event-id'),
        signal: disconnectSignalOf(state.response),
        cut: () => state.response.destroy(),
      },
    )
  }

  #permissionEnds(state: RequestState, match: Match): PermissionEnds {
    return createStreamCheck(() => this.#recheckAccess(state, match), state, this.#options)
  }

  #context(state: RequestState, match: Match, parts: ParsedRequest): RequestContext {
    const permissionEnds = () => this.#permissionEnds(state, match)
    const owe = (bytes: number) => this.#limits.oweAnswer(rateLimitKeyOf(state), bytes)
    return new RequestContext(state, { permissionEnds, owe }, match, parts, this.#options)
  }

  /**
   * Returns a check that repeats authorization after a body that took long: a caller who sends slowly keeps no right
   * longer than others.
   */
  #permissionCheck(state: RequestState, match: Match): () => Promise<void> {
    const { clock } = this.#options.services
    const since = clock.monotonic()
    return async () => {
      if (state.caller === undefined || clock.monotonic() - since <= PERMISSION_TTL_MS) return
      await this.#recheckAccess(state, match).catch((error: unknown) => {
        state.ended = error
        throw error
      })
    }
  }

  /** Repeats authentication and authorization. @throws PlatformError UNAUTHORIZED, FORBIDDEN */
  async #recheckAccess(state: RequestState, match: Match): Promise<void> {
    const caller = await this.#options.tokens.verify(authorizationHeader(state.request))
    await this.#requireActivePrincipal(caller, match.route)
    await this.#authorize(state, match)
  }
}

/** Milliseconds for which an authorization holds without being checked again. */
const PERMISSION_TTL_MS = 1_000
