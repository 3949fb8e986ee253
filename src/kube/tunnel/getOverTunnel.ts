import { constants } from 'node:http2'
import { readWithin } from '../../core/readWithin.ts'
import { type PacedSession, requestPaced } from './pacedRequest.ts'

const ANSWER_MAX_BYTES = 64 * 1024

/** Sends a GET over a tunnel and parses the answer, short JSON. @throws Error if it does not arrive in time */
export async function getOverTunnel(tunnel: PacedSession, path: string, timeout: number): Promise<unknown> {
  const { stream, body } = requestPaced(tunnel, { [constants.HTTP2_HEADER_PATH]: path })
  // Not a timeout of the stream: one byte now and then would keep that from passing.
  const timer = setTimeout(() => stream.destroy(new Error('No answer came in time.')), timeout)
  try {
    const bytes = await readWithin(ANSWER_MAX_BYTES, body, () => new Error('The answer is too long.'))
    return JSON.parse(bytes.toString('utf8'))
  } finally {
    clearTimeout(timer)
  }
}
