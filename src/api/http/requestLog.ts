import type { IncomingMessage, ServerResponse } from 'node:http'
import type { PlatformError } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { Caller } from './context.ts'
import { describeWithCauses } from './describeWithCauses.ts'
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
