import { z } from 'zod'
import { EVENT_HEADER, KEY_HEADER } from './functions.ts'

/** What the facade, which takes test calls of functions, and the activator, which makes them, agree on. */

/** What a function is sent. Its headers are those that it gets, but for the length of the body. */
export type TestCall = {
  /** Whose function it is: nobody's calls take all places. */
  readonly boundaryId: string
  readonly method: string
  /** With the query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Base64 */
  readonly body: string
}

/** Why a call has no answer of the function. */
export const NO_ANSWERS = ['Gone', 'Disabled', 'Full', 'NoCopy', 'TooSlow', 'Broken', 'Simulated'] as const
export type NoAnswer = (typeof NO_ANSWERS)[number]

export const TestAnswer = z.union([
  z.object({ refused: z.enum(NO_ANSWERS) }),
  z.object({
    statusCode: z.int().min(200).max(599),
    headers: z.record(z.string(), z.string()),
    /** Its beginning if it is longer than is passed on. */
    body: z.base64(),
    isTruncated: z.boolean(),
    isColdStart: z.boolean(),
    durationMilliseconds: z.number().nonnegative(),
  }),
])
export type TestAnswer = z.output<typeof TestAnswer>

/** Bytes of the function's body that are passed on. */
export const MOST_ANSWER_BYTES = 256 * 1024
/** Bytes of a whole call, and of a whole answer: Base64 and JSON take more than the body, and headers have bounds. */
export const MOST_TOLD_BYTES = 1024 * 1024
/** Test calls at once: unlike others they are held in memory as a whole. */
export const MOST_AT_ONCE = 100

/** Of one connection, and not of the message (RFC 9110, 7.6.1). */
export const HOP_HEADERS: readonly string[] = [
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

/** What the platform says itself, or reads and keeps: nobody else says it to a function. */
export function isOwnHeader(name: string): boolean {
  const own = [...HOP_HEADERS, 'host', 'content-length', 'forwarded', EVENT_HEADER, KEY_HEADER]
  return own.includes(name.toLowerCase()) || /^x-forwarded-/i.test(name)
}
