import type { Readable } from 'node:stream'
import type { z } from 'zod'
import { datesInUtc } from '../../crds/dates.ts'
import type { ListEntry } from './streams/listState.ts'

/**
 * What a handler answers. `body` becomes JSON; `parts` is JSON already, in pieces; `bytes` are sent as they are;
 * `stream` is passed on as it comes.
 */
export type Answer<Body = unknown> = {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Body
  readonly parts?: readonly string[]
  readonly bytes?: Uint8Array
  /** The records of a list, one by one. */
  readonly entries?: () => readonly ListEntry[]
  readonly stream?: Readable
  /** For a stream: how many bytes are in memory until it is read, if that is more than one chunk. */
  readonly held?: number
  /** For a stream: the headers are sent at once, because its first byte may take long. */
  readonly isOpenEnded?: boolean
}

/** Keeps caches on the way from storing secrets (RFC 9111 section 5.2.2.5). */
export const NO_STORE = { 'cache-control': 'no-store' }

type Extras = { etag?: string | undefined; headers?: Record<string, string> | undefined }

function answer<Body>(status: number, body: Body, { etag, headers }: Extras): Answer<Body> {
  if (etag === undefined) return headers === undefined ? { status, body } : { status, body, headers }
  return { status, body, headers: { ...headers, etag } }
}

export function ok<Body>(body: Body, extras: Extras = {}): Answer<Body> {
  return answer(200, body, extras)
}

export function created<Body>(body: Body, extras: Extras = {}): Answer<Body> {
  return answer(201, body, extras)
}

/** 202: the work continues; `body` shows its state. */
export function accepted<Body>(body: Body, extras: Extras = {}): Answer<Body> {
  return answer(202, body, extras)
}

export function noContent(): Answer<never> {
  return { status: 204 }
}

/** 202 without a body: a deletion that is still in progress. */
export function acceptedEmpty(): Answer<never> {
  return { status: 202 }
}

/** Shows the dates of an answer in UTC; kubectl may have stored one with an offset. */
export function withDatesInUtc(answer: Answer, reply: z.ZodType | undefined): Answer {
  if (reply === undefined || answer.body === undefined) return answer
  const body = datesInUtc(reply)(answer.body)
  return body === answer.body ? answer : { ...answer, body }
}
