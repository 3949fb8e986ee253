import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Unproved } from './callerLimits.ts'
import type { Caller } from './context.ts'
import type { Failure } from './requestLog.ts'
import type { Match } from './router.ts'
import type { Trace } from './tracing.ts'
import type { Attendance } from './witness.ts'

/** One request on its way. */
export type Passage = {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly trace: Trace
  readonly address: string | undefined
  /** Where a client learns how to get a token: a parameter of the challenge of 401. */
  readonly metadata: string
  match: Match | undefined
  caller: Caller | undefined
  /** From the moment that the caller is known, on routes that change something. */
  attendance: Attendance | undefined
  /** On routes whose requests are signed, until the answer is there. */
  unproved: Unproved | undefined
  /** Why the caller may no longer, where the right to send a body ended before the body did. */
  ended?: unknown
  /** Why a list that is followed could not be read any more. */
  unread?: Failure
}
