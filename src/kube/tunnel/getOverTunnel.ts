import { type ClientHttp2Session, constants } from 'node:http2'
import { readWithin } from '../../core/readWithin.ts'

const ANSWER_MAX_BYTES = 64 * 1024

/** Sends a GET over a tunnel and parses the answer, short JSON. @throws Error if it does not arrive in time */
export async function getOverTunnel(session: ClientHttp2Session, path: string, timeout: number): Promise<unknown> {
  const stream = session.request({ [constants.HTTP2_HEADER_PATH]: path })
  stream.setTimeout(timeout, () => stream.destroy(new Error('No answer came in time.')))
  return JSON.parse(
    (await readWithin(ANSWER_MAX_BYTES, stream, () => new Error('The answer is too long.'))).toString('utf8'),
  )
}
