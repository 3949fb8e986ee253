import { z } from 'zod'
import { EVENT_HEADER, KEY_HEADER } from './functions.ts'

/** What the facade, which accepts test calls of functions, and the activator, which makes them, share. */

/** The request to a function. It gets exactly these headers, and the length of the body. */
export type TestCall = {
  /** The boundary of the function, so that no boundary's calls take all slots. */
  readonly boundaryId: string
  readonly method: string
  /** With the query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Base64 */
  readonly body: string
}

/** Why the function has not answered a call. */
export const TEST_CALL_FAILURES = ['Gone', 'Disabled', 'Full', 'NoCopy', 'TooSlow', 'Broken', 'Simulated'] as const
export type TestCallFailure = (typeof TEST_CALL_FAILURES)[number]

export const TestAnswer = z.union([
  z.object({ refused: z.enum(TEST_CALL_FAILURES) }),
  z.object({
    statusCode: z.int().min(200).max(599),
    headers: z.record(z.string(), z.string()),
    /** Truncated if it is longer than is passed on. */
    body: z.base64(),
    isTruncated: z.boolean(),
    isColdStart: z.boolean(),
    durationMilliseconds: z.number().nonnegative(),
  }),
])
export type TestAnswer = z.output<typeof TestAnswer>

/** Maximum bytes of the function's body that are passed on. */
export const MAX_ANSWER_BODY_BYTES = 256 * 1024
/** Maximum bytes of a whole call, and of a whole answer: Base64, JSON and headers add to the body. */
export const MAX_TEST_CALL_BYTES = 1024 * 1024
/** Maximum concurrent test calls: unlike other calls, they are held in memory as a whole. */
export const CONCURRENT_TEST_CALLS_MAX = 100

/** Headers of a connection and not of the message (RFC 9110, 7.6.1). */
export const HOP_BY_HOP_HEADERS: readonly string[] = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'proxy-connection',
  'expect',
]

/** The name of a header as CGI and WSGI read it: they make one variable of `x-function-event` and `x_function_event`. */
const hyphenatedHeader = (name: string): string => name.toLowerCase().replaceAll('_', '-')

/** Whether only the platform sets or consumes this header, so that no caller can pass it to a function. */
export function isReservedHeader(name: string): boolean {
  const own = [...HOP_BY_HOP_HEADERS, 'host', 'content-length', 'forwarded', EVENT_HEADER, KEY_HEADER]
  const read = hyphenatedHeader(name)
  return own.includes(read) || read.startsWith('x-forwarded-')
}
