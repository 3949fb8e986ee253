import type { OutgoingHttpHeaders } from 'node:http'
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ClientSessionRequestOptions,
  constants,
} from 'node:http2'
import type { TimeShare } from '../../core/timeShare.ts'

export type PacedSession = { readonly session: ClientHttp2Session; readonly share: Pick<TimeShare, 'spend'> }

/** Milliseconds of the thread that a frame is counted as, however small it is. */
const FRAME_MS = 0.02
/** Maximum frames that wait for their reader: 64 bytes each in a full flow-control window. */
const FRAMES_WAITING_MAX = 16_384

/**
 * Sends a request to an untrusted agent. HTTP/2 limits the bytes that a peer may send, but not the frames: a byte in a
 * frame of its own takes as much time as 16 KiB, and a hundred times its size in memory.
 *
 * @returns the stream, and its answer: the frames of a cluster take their share of the time, and no more
 */
export function requestPaced(
  { session, share }: PacedSession,
  headers: OutgoingHttpHeaders,
  options?: ClientSessionRequestOptions,
): { stream: ClientHttp2Stream; body: AsyncIterable<Buffer> } {
  const stream = session.request(headers, options)
  let frames = 0
  let waiting = 0
  const push = stream.push.bind(stream)
  // Counts them when they arrive, because a reader gets those that wait in one piece.
  stream.push = (bytes, encoding) => {
    frames += 1
    waiting = stream.readableLength === 0 ? 1 : waiting + 1
    if (waiting > FRAMES_WAITING_MAX) stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)
    return push(bytes, encoding)
  }
  // Informational answers (1xx) are not limited by flow control, and no agent relays any.
  stream.once('headers', () => stream.close(constants.NGHTTP2_PROTOCOL_ERROR))
  async function* body() {
    for await (const bytes of stream) {
      yield bytes as Buffer
      const counted = frames
      frames = 0
      await share.spend(counted * FRAME_MS)
    }
  }
  return { stream, body: body() }
}
