import type { RequestHandler } from 'express'
import { rateLimit } from 'express-rate-limit'
import { PlatformError } from '../../core/errors.ts'
import { UNMETERED_DRAIN } from '../../core/unreadBody.ts'
import { toRetryAfterSeconds } from './limits.ts'
import { sendRefusal } from './refusal.ts'
import { traceOf } from './tracing.ts'

const MINUTE_MS = 60_000

/** Limits the pages for browsers, per address. Their refusal is that of the routes: programs ask for these paths too. */
export function pageLimit(requestsPerMinute: number): RequestHandler {
  return rateLimit({
    windowMs: MINUTE_MS,
    limit: requestsPerMinute,
    legacyHeaders: false,
    validate: false,
    handler(request, response) {
      const { resetTime } = (request as typeof request & { rateLimit: { resetTime?: Date } }).rateLimit
      const retryAfterSeconds = toRetryAfterSeconds((resetTime?.getTime() ?? Date.now() + MINUTE_MS) - Date.now())
      const message = `Too many requests: try again in ${retryAfterSeconds} s.`
      const error = new PlatformError('TOO_MANY_REQUESTS', message, { retryAfterSeconds })
      const trace = traceOf(request.get('x-correlation-id'), request.get('traceparent'))
      response.set('x-correlation-id', trace.correlationId)
      sendRefusal({ request, response, trace, match: undefined, metadata: '' }, error, UNMETERED_DRAIN)
    },
  })
}
