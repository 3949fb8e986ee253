import { fetch as send } from 'undici'
import { readWithin } from '../../core/readWithin.ts'
import { OutgoingError, type OutgoingFetch } from '../outgoing/port.ts'

const TIMEOUT_MS = 10_000
const MAX_BYTES = 4 * 1024 * 1024

/** Calls a registry that the administrator configured: its address is not vetted, and it may lack TLS. */
export const mirrorFetch: OutgoingFetch = async (url, { headers = {}, signal } = {}) => {
  const { host } = new URL(url)
  const deadline = AbortSignal.timeout(TIMEOUT_MS)
  try {
    const signals = signal === undefined ? deadline : AbortSignal.any([deadline, signal])
    const answer = await send(url, { headers, redirect: 'error', signal: signals })
    const tooLong = () => new OutgoingError('Unreachable', `${host} answers with more than ${MAX_BYTES} bytes.`)
    const body = answer.body as AsyncIterable<Uint8Array> | null
    const text = body === null ? '' : (await readWithin(MAX_BYTES, body, tooLong)).toString('utf8')
    return new Response(text, { status: answer.status, headers: [...answer.headers] })
  } catch (cause) {
    if (cause instanceof OutgoingError) throw cause
    throw new OutgoingError('Unreachable', `${host} does not answer in time.`, cause)
  }
}
