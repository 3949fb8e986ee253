import type { IncomingMessage, ServerResponse } from 'node:http'
import type { UnauthenticatedRequest } from './callerLimits.ts'
import type { Caller } from './context.ts'
import type { Failure } from './requestLog.ts'
import type { RequestWrites } from './requestObserver.ts'
import type { Match } from './router.ts'
import type { Trace } from './tracing.ts'

/** The state of one request in the pipeline. */
export type RequestState = {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly trace: Trace
  readonly address: string | undefined
  /** Where a client learns how to get a token: a parameter of the 401 challenge. */
  readonly metadata: string
  match: Match | undefined
  caller: Caller | undefined
  /** Set once the caller is known, on routes that change something. */
  writes: RequestWrites | undefined
  /** Set on routes with signed requests, until the answer exists. */
  unproved: UnauthenticatedRequest | undefined
  /** The refusal of a caller whose permission ended before the body, or the work that they wait for, did. */
  ended?: unknown
  /** Why a followed list could no longer be read. */
  unread?: Failure
}
