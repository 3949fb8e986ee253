import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { Clock } from '../../core/clock.ts'
import { disconnectSignalOf } from '../../core/disconnectSignal.ts'
import { pauseFor } from '../../core/pause.ts'
import { collect, expectsContinue, refuseContentEncoding, tooLarge } from './body.ts'

/** A body of any media type that the handler reads itself, at most at the caller's rate. */
export interface RawBody {
  /**
   * Streams the body. A reader that stops early leaves the rest unread: destroying the request would end the connection
   * before the response.
   *
   * @throws PlatformError BODY_TOO_LARGE as soon as it exceeds the limit
   */
  pieces(): AsyncGenerator<Uint8Array>
  /** Reads a short body whole. @throws PlatformError BODY_TOO_LARGE, MODEL_BINDING_FAILED if its end does not arrive */
  whole(): Promise<Uint8Array>
}

export type RawBodyRules = {
  limitBytes: number
  /** @throws PlatformError if the caller may not send a body now */
  begin(): void
  /** Called with bytes that are held until the body is complete. @throws PlatformError if there is no room for them */
  hold(bytes: number): void
  /** @returns milliseconds until the next chunk may be read */
  pay(bytes: number): number
  /** Called once the body is complete, before it is used. @throws PlatformError if the caller may no longer send it */
  ended(): Promise<void>
}

/** @throws PlatformError BODY_TOO_LARGE, MODEL_BINDING_FAILED, TOO_MANY_REQUESTS */
export function beginRawBody(
  request: IncomingMessage,
  response: ServerResponse,
  { limitBytes, begin, hold, pay, ended }: RawBodyRules,
  clock: Clock,
): RawBody {
  refuseContentEncoding(request)
  if (Number(request.headers['content-length'] ?? 0) > limitBytes) throw tooLarge(limitBytes)
  begin()
  if (expectsContinue(request)) response.writeContinue()
  const waited = async (milliseconds: number) => {
    if (milliseconds > 0) await pauseFor(clock, milliseconds, disconnectSignalOf(response))
  }
  return {
    pieces: () => piecesOf(request, limitBytes, { paid: (bytes) => waited(pay(bytes)), ended }),
    async whole() {
      let wait = 0
      const spend = (bytes: number) => {
        hold(bytes)
        wait = pay(bytes)
      }
      const bytes = await collect(request, { limitBytes, spend }, 0, clock)
      await waited(wait)
      await ended()
      return bytes
    },
  }
}

async function* piecesOf(
  request: Readable,
  limitBytes: number,
  { paid, ended }: { paid: (bytes: number) => Promise<void>; ended: () => Promise<void> },
): AsyncGenerator<Uint8Array> {
  let size = 0
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    size += chunk.length
    if (size > limitBytes) throw tooLarge(limitBytes)
    await paid(chunk.length)
    yield chunk
  }
  await ended()
}
