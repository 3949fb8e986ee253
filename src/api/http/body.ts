import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { Clock } from '../../core/clock.ts'
import { PlatformError } from '../../core/errors.ts'
import { hasBody } from '../../core/framing.ts'
import { parseStrictJson, type StrictJsonResult, unwrapStrictJson } from '../../core/json.ts'

/** Among the media types of a route, this one allows any type. */
export const ANY_TYPE = '*/*'
export const JSON_LIMIT_BYTES = 1_048_576
/** How long a JSON body may take: one byte every ten seconds would hold the connection forever. */
const BODY_TIMEOUT_MS = 20_000
/** Larger bodies take milliseconds to parse, and are parsed on a worker thread. */
const WORKER_MIN_BYTES = 65_536
/**
 * Bodies of up to this many times the limit are read to the end and dropped before they are refused: many clients read
 * the response only after sending the whole body, and would see a closed connection instead.
 */
const DRAIN_FACTOR = 8

export type BodyRules = {
  mediaTypes: readonly string[]
  limitBytes: number
  isOptional: boolean
  /** Called with bytes of the body before they are read, or as they arrive; throws if the caller is over a limit. */
  spend?: (bytes: number) => void
  readLarge: (bytes: Uint8Array) => Promise<StrictJsonResult>
}

function refuse(message: string): PlatformError {
  return new PlatformError('MODEL_BINDING_FAILED', message, { errors: [{ field: '', message }] })
}

/** Whether the client waits for `100 Continue` (RFC 9110 section 10.1.1), which is sent only after authorization. */
export function expectsContinue({ headers }: IncomingMessage): boolean {
  return headers.expect?.toLowerCase() === '100-continue'
}

/** Returns the media type in lower case without its parameters, and the charset. */
function mediaTypeOf(header: string): { type: string; charset: string | undefined } {
  const [type = '', ...parameters] = header.split(';').map((part) => part.trim().toLowerCase())
  const charset = parameters.find((part) => part.startsWith('charset='))?.slice('charset='.length)
  return { type, charset: charset?.replace(/^"(.*)"$/, '$1') }
}

/** @throws PlatformError MODEL_BINDING_FAILED */
export function checkMediaType(request: IncomingMessage, accepted: readonly string[]): void {
  refuseContentEncoding(request)
  const { 'content-type': header } = request.headers
  const { type, charset } = mediaTypeOf(header ?? '')
  if (!accepted.includes(type)) throw refuse(`The body must be sent as ${accepted.join(' or ')}.`)
  if (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8') throw refuse('The body must be UTF-8.')
}

export function refuseContentEncoding({ headers: { 'content-encoding': encoding } }: IncomingMessage): void {
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw refuse('Compressed bodies are not accepted: leave Content-Encoding out.')
}

/**
 * Reads a JSON body. A body whose Content-Length is far too large is refused unread; smaller values are not trusted.
 *
 * @throws PlatformError BODY_TOO_LARGE with `limitBytes`, MODEL_BINDING_FAILED
 */
export async function readJsonBody(
  request: IncomingMessage,
  response: ServerResponse,
  rules: BodyRules,
  clock: Clock,
): Promise<unknown> {
  if (!hasBody(request)) {
    if (rules.isOptional) return undefined
    throw refuse('A JSON body is required.')
  }
  const { 'content-type': type, 'content-length': length } = request.headers
  // A chunked body may turn out to be empty, and then needs no media type.
  const mayBeEmpty = rules.isOptional && type === undefined && length === undefined
  if (!mayBeEmpty) checkMediaType(request, rules.mediaTypes)
  const announced = Number(length ?? 0)
  const isWaiting = expectsContinue(request)
  if (announced > (isWaiting ? 1 : DRAIN_FACTOR) * rules.limitBytes) throw tooLarge(rules.limitBytes)
  // Spend before reading: reading a body only to refuse it costs memory, and garbage collection delays everybody else.
  rules.spend?.(Math.min(announced, rules.limitBytes))
  if (isWaiting) response.writeContinue()
  const bytes = await collect(request, rules, announced, clock)
  if (bytes.length === 0) {
    if (rules.isOptional) return undefined
    throw refuse('A JSON body is required.')
  }
  if (mayBeEmpty) checkMediaType(request, rules.mediaTypes)
  return unwrapStrictJson(bytes.length <= WORKER_MIN_BYTES ? parseStrictJson(bytes) : await rules.readLarge(bytes))
}

export function tooLarge(limitBytes: number): PlatformError {
  return new PlatformError('BODY_TOO_LARGE', `The body is larger than ${limitBytes} bytes.`, { limitBytes })
}

/** @param announced bytes that have been spent already */
export function collect(
  request: Readable,
  { limitBytes, spend }: Pick<BodyRules, 'limitBytes' | 'spend'>,
  announced: number,
  clock: Clock,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    let spent = announced
    const finish = (failure?: Error) => {
      const error = size > limitBytes ? tooLarge(limitBytes) : failure
      timer.cancel()
      request.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone)
      if (error === undefined)
        resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size))
      else {
        request.pause()
        reject(error)
      }
    }
    const onData = (chunk: Buffer) => {
      size += chunk.length
      if (size > DRAIN_FACTOR * limitBytes) return finish()
      if (size > limitBytes) chunks.length = 0
      else {
        if (size - spent >= WORKER_MIN_BYTES) settle()
        chunks.push(chunk)
      }
    }
    const settle = (): boolean => {
      try {
        if (size > spent) spend?.(size - spent)
        spent = size
        return true
      } catch (error) {
        finish(error as Error)
        return false
      }
    }
    const onEnd = () => {
      if (size > limitBytes || settle()) finish()
    }
    const onGone = () => finish(refuse('The body ended too early.'))
    const timer = clock.setTimeout(() => finish(refuse('The body did not arrive in time.')), BODY_TIMEOUT_MS)
    request.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone)
  })
}
