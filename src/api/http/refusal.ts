import type { IncomingMessage, ServerResponse } from 'node:http'
import { PlatformError } from '../../core/errors.ts'
import { type DrainOptions, drainUnreadBody, endAfter } from '../../core/unreadBody.ts'
import { type ErrorAnswer, errorAnswer } from './problem.ts'
import type { Match } from './router.ts'
import type { Trace } from './tracing.ts'

export function isRefusal(error: unknown): error is PlatformError {
  return error instanceof PlatformError && error.status < 500
}

/** The parts of a request that a refusal needs. */
type Refused = {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly trace: Trace
  readonly match: Match | undefined
  /** Where to get a token, for the 401 challenge. */
  readonly metadata: string
}

/** Returns the refusal in the form of the request's route. */
export function buildRefusal(
  { request, trace, match, metadata }: Omit<Refused, 'response'>,
  error: PlatformError,
): ErrorAnswer {
  const { correlationId, traceId } = trace
  return errorAnswer(error, {
    module: match?.route.module ?? 'platform',
    form: match?.route.errors ?? 'platform',
    correlationId,
    traceId,
    hasToken: request.headers.authorization !== undefined,
    metadata,
  })
}

export function sendRefusal(refused: Refused, error: PlatformError, dropping: DrainOptions): void {
  const { request, response } = refused
  // Part of the response has been sent: the client must not mistake it for the whole.
  if (response.headersSent) {
    response.destroy()
    return
  }
  const { status, headers, body } = buildRefusal(refused, error)
  const rest = drainUnreadBody(request, response, dropping)
  response.statusCode = status
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  const text = JSON.stringify(body)
  response.setHeader('content-length', Buffer.byteLength(text))
  endAfter(rest, response, text)
}
