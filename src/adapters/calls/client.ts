import { request } from 'undici'
import { CountedCalls, functionCallsPath } from '../../contracts/functionCalls.ts'
import { MAX_TEST_CALL_BYTES, TestAnswer } from '../../contracts/testCalls.ts'
import { messageOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { readWithin } from '../../core/readWithin.ts'
import type { ActivatorClient } from './port.ts'

export type ActivatorClientOptions = {
  /** For example http://127.0.0.1:9091. */
  url: string
  log: Pick<Log, 'debug'>
  /** Milliseconds for reading counts; 2 s. */
  timeout?: number
}

/** Bytes; the answer takes less than half of this even if all buckets are full. */
const ANSWER_MAX = 2 * 1024 * 1024

/** Calls an activator that runs in another process. */
export function createActivatorClient({ url, log, timeout = 2_000 }: ActivatorClientOptions): ActivatorClient {
  const base = url.replace(/\/$/, '')
  return {
    async of(namespace, name): Promise<CountedCalls | undefined> {
      try {
        const signal = AbortSignal.timeout(timeout)
        return CountedCalls.parse(
          await requestJson(`${base}${functionCallsPath(namespace, name)}`, ANSWER_MAX, { signal }),
        )
      } catch (error) {
        log.debug({ error: messageOf(error) }, 'The activator did not report its counts of calls.')
        return undefined
      }
    },
    async call(namespace, name, call, signal): Promise<TestAnswer | undefined> {
      try {
        const options = { method: 'POST', body: JSON.stringify(call), signal, ...NO_TIMEOUT } as const
        return TestAnswer.parse(
          await requestJson(`${base}${functionCallsPath(namespace, name)}`, MAX_TEST_CALL_BYTES, options),
        )
      } catch (error) {
        log.debug({ error: messageOf(error) }, 'The activator did not make a test call.')
        return undefined
      }
    },
  }
}

/** No own timeout: the activator bounds the call, and only the caller may abort it earlier. */
const NO_TIMEOUT = { headersTimeout: 0, bodyTimeout: 0 }

/** @throws Error unless the answer is 200, JSON and within the bound */
async function requestJson(url: string, maxBytes: number, options: Parameters<typeof request>[1]): Promise<unknown> {
  const { statusCode, body } = await request(url, options)
  const text = await readWithin(maxBytes, body, () => new Error('The activator answered with more than is allowed.'))
  if (statusCode !== 200) throw new Error(`The activator answered ${statusCode}.`)
  return JSON.parse(text.toString('utf8'))
}
