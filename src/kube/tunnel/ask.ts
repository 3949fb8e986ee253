import { type ClientHttp2Session, constants } from 'node:http2'

const ANSWER_MAX = 64 * 1024

/** One short question over a tunnel, answered as JSON. @throws Error without an answer in time */
export async function askTunnel(session: ClientHttp2Session, path: string, timeout: number): Promise<unknown> {
  const stream = session.request({ [constants.HTTP2_HEADER_PATH]: path })
  stream.setTimeout(timeout, () => stream.destroy(new Error('No answer came in time.')))
  let text = ''
  for await (const chunk of stream.setEncoding('utf8') as AsyncIterable<string>) {
    text += chunk
    if (text.length > ANSWER_MAX) throw new Error('The answer is too long.')
  }
  return JSON.parse(text)
}
