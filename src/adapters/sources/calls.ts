import type { z } from 'zod'
import { parseForeignJson } from '../../core/tryParseJson.ts'
import { OutgoingError, type OutgoingFetch } from '../outgoing/port.ts'
import { SourceError, type SourceReason } from './port.ts'

export type Call = {
  method?: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  headers?: Record<string, string>
  body?: unknown
  /** Reads only this many bytes of the answer. */
  beginning?: number
  /** The meaning of a 409 or 422 answer. */
  conflict?: SourceReason
  signal?: AbortSignal | undefined
}

/** Sends a request. @throws SourceError if the address is not allowed or nobody answers */
export async function sendToProvider(fetch: OutgoingFetch, url: string, call: Call = {}): Promise<Response> {
  const { method = 'GET', headers = {}, body, beginning, signal } = call
  try {
    return await fetch(url, {
      method,
      headers: {
        accept: 'application/json',
        'user-agent': 'freehold',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      beginning,
      signal,
    })
  } catch (error) {
    return throwSourceError(error)
  }
}

/** Translates an OutgoingError. @throws SourceError; any other error unchanged */
export function throwSourceError(error: unknown): never {
  if (!(error instanceof OutgoingError)) throw error
  throw new SourceError(error.reason, error.message, error)
}

/** Sends a request and parses the answer with the schema. @throws SourceError by status */
export async function fetchFromProvider<Schema extends z.ZodType>(
  fetch: OutgoingFetch,
  url: string,
  schema: Schema,
  call: Call = {},
): Promise<z.output<Schema>> {
  const answer = await sendToProvider(fetch, url, call)
  assertSuccess(answer, new URL(url).host, call.conflict)
  const read = schema.safeParse(parseForeignJson(await answer.text()))
  if (read.success) return read.data
  throw new SourceError('Unreachable', `${new URL(url).host} does not answer in the form of this provider.`)
}

/** @throws SourceError unless the status is a success */
export function assertSuccess(
  { status, headers }: Pick<Response, 'status' | 'headers'>,
  host: string,
  conflict: SourceReason = 'Unreachable',
): void {
  if (status >= 200 && status < 300) return
  // GitHub reports exhausted rate limits with status 403.
  const isSpent = headers.has('retry-after') || headers.get('x-ratelimit-remaining') === '0'
  if (status === 429 || (status === 403 && isSpent))
    throw new SourceError('Unreachable', `${host} has had too many calls (status ${status}): try again later.`)
  if (status === 401 || status === 403) {
    throw new SourceError('CredentialRejected', `${host} does not accept the credentials (status ${status}).`)
  }
  if (status === 404) throw new SourceError('NotFound', `${host} does not know this, or hides it from the credentials.`)
  if (status === 409 || status === 422) throw new SourceError(conflict, `${host} refused it (status ${status}).`)
  throw new SourceError('Unreachable', `${host} answers with status ${status}.`)
}

/** Validates an id, because it becomes part of a path. @throws SourceError NotFound */
export function safeId(id: string, pattern: RegExp): string {
  if (pattern.test(id)) return id
  throw new SourceError('NotFound', 'The provider has no repository with that id.')
}

/** Returns a header value for basic authentication (RFC 7617). */
export function basicAuthHeader(username: string, password: string | undefined): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}

export const NUMERIC_ID = /^[0-9]{1,20}$/
