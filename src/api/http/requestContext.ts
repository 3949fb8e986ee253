import type { IncomingMessage, ServerResponse } from 'node:http'
import { disconnectSignalOf } from '../../core/disconnectSignal.ts'
import { PlatformError } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { UnauthenticatedRequest } from './callerLimits.ts'
import type { Caller, Context, Services } from './context.ts'
import { parseIfMatch } from './etag.ts'
import type { RawBody } from './rawBody.ts'
import type { Match } from './router.ts'
import type { Trace } from './tracing.ts'

/** The results of the stages before the handler. */
export type ParsedRequest = Pick<Context, 'query' | 'list' | 'body' | 'scope' | 'mediaType' | 'fresh'> & {
  readonly rawBody: RawBody | undefined
}

/** The connection of a request, and its caller. */
export type RequestOrigin = {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly trace: Trace
  readonly address: string | undefined
  readonly caller: Caller | undefined
  readonly unproved: UnauthenticatedRequest | undefined
}

/** Returns why a stream must end now: the same request would be refused, or nobody could check that for too long. */
export type PermissionEnds = () => Promise<PlatformError | undefined>

/** Milliseconds between two checks whether a stream may continue, so that it ends within five seconds. */
const RECHECK_INTERVAL_MS = 2_000

/** A class, because the getters of an object literal would be created for each request. */
export class RequestContext implements Context {
  readonly services: Services
  readonly log: Log
  readonly query: Context['query']
  readonly list: Context['list']
  readonly body: unknown
  readonly scope: string | undefined
  readonly parameters: Context['parameters']
  readonly address: string | undefined
  readonly correlationId: string
  /** Whether the handler has read If-Match. */
  hasComparedVersions = false
  readonly mediaType: string
  readonly fresh: boolean
  readonly isAnonymous: boolean
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #rawBody: RawBody | undefined
  readonly #caller: Caller | undefined
  readonly #unauthenticated: UnauthenticatedRequest | undefined
  readonly #permissionEnds: () => PermissionEnds
  readonly owe: Context['owe']

  constructor(
    { request, response, trace, caller, unproved, address }: RequestOrigin,
    { permissionEnds, owe }: { permissionEnds: () => PermissionEnds; owe: Context['owe'] },
    match: Match,
    parts: ParsedRequest,
    { services, log }: Pick<Context, 'services' | 'log'>,
  ) {
    this.services = services
    this.log = log
    this.query = parts.query
    this.list = parts.list
    this.body = parts.body
    this.scope = parts.scope
    this.parameters = match.parameters
    this.address = address
    this.correlationId = trace.correlationId
    this.#request = request
    this.#rawBody = parts.rawBody
    this.mediaType = parts.mediaType
    this.fresh = parts.fresh
    this.isAnonymous = caller === undefined
    this.#response = response
    this.#caller = caller
    this.#unauthenticated = unproved
    this.#permissionEnds = permissionEnds
    this.owe = owe
  }

  get caller(): Caller {
    if (this.#caller === undefined) throw new PlatformError('UNAUTHORIZED', 'This needs a signed-in caller.')
    return this.#caller
  }

  get rawBody(): RawBody {
    if (this.#rawBody === undefined) throw new TypeError('The route has no body that its handler reads.')
    return this.#rawBody
  }

  prove(principal?: string): void {
    this.#unauthenticated?.prove(principal)
  }

  get ifMatch(): Context['ifMatch'] {
    return parseIfMatch(this.header('if-match'))
  }

  header(name: string): string | undefined {
    this.hasComparedVersions ||= name === 'if-match'
    return firstHeader(this.#request, name)
  }

  /** A getter, because most handlers never wait for anything that could be aborted. */
  get signal(): AbortSignal {
    return disconnectSignalOf(this.#response)
  }

  get whilePermitted(): AbortSignal {
    return this.whileHolding(() => true)
  }

  whileHolding(isHeld: () => boolean): AbortSignal {
    const { clock } = this.services
    const controller = new AbortController()
    const permissionEnds = this.#permissionEnds()
    const recheck = async () => {
      if (this.#response.closed) return
      const end = (await permissionEnds()) ?? (isHeld() ? undefined : new Error('The caller may no longer see this.'))
      if (end === undefined) clock.setTimeout(recheck, RECHECK_INTERVAL_MS)
      else controller.abort(end)
    }
    clock.setTimeout(recheck, RECHECK_INTERVAL_MS)
    return AbortSignal.any([this.signal, controller.signal])
  }
}

export function isNoCacheRequest(request: IncomingMessage): boolean {
  return /(^|[\s,])no-cache\b/i.test(firstHeader(request, 'cache-control') ?? '')
}

export function firstHeader(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name]
  return Array.isArray(value) ? value[0] : value
}
