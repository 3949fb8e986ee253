import type { IncomingMessage, ServerResponse } from 'node:http'
import { messageOf, PlatformError } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { stackInSources } from '../../core/stack.ts'
import type { Caller } from './context.ts'
import type { Match } from './router.ts'
import type { Trace } from './tracing.ts'

/** What was thrown, and the error that the caller sees. */
export type Failure = { readonly thrown: unknown; readonly error: PlatformError }

type Logged = {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly trace: Trace
  readonly match: Match | undefined
  readonly caller: Caller | undefined
}

/** Returns the path template, which logs and metrics use. */
export function routeOf({ match }: Pick<Logged, 'match'>): string {
  return match?.route.path ?? 'none'
}

export function logRequest(log: Log, logged: Logged, milliseconds: number, failure: Failure | undefined): void {
  const { response, request, trace, caller, match } = logged
  const fields = {
    method: request.method,
    route: routeOf(logged),
    status: response.statusCode,
    milliseconds: Math.round(milliseconds * 100) / 100,
    principalId: caller?.principalId,
    boundaryId: match?.parameters.boundaryId,
    correlationId: trace.correlationId,
    traceId: trace.traceId,
  }
  const { error, thrown } = failure ?? {}
  // A feature that another system lacks is no incident, so it is logged as info.
  const isServerError = error !== undefined && error.status >= 500 && error.code !== 'NOT_IMPLEMENTED'
  if (isServerError) log.error({ ...fields, reason: describeWithCauses(thrown) }, 'A request failed.')
  else log.info(fields, 'request')
}

/** Describes an error with its cause, for the log only: our own messages contain no text of other systems. */
function describeWithCauses(failure: unknown): string {
  const cause = failure instanceof Error ? failure.cause : undefined
  const stack = failure instanceof PlatformError ? undefined : failure instanceof Error ? failure.stack : undefined
  return [
    stack === undefined ? messageOf(failure) : stackInSources(stack),
    ...(cause === undefined ? [] : [messageOf(cause)]),
  ].join(' <- ')
}
