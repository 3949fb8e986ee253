import { request } from 'undici'
import { z } from 'zod'
import {
  BUCKET_SECONDS,
  type CountedCalls,
  KEPT_SECONDS,
  MOST_SAMPLES,
  pathOfCalls,
} from '../../contracts/functionCalls.ts'
import { MOST_TOLD_BYTES, NO_ANSWERS, type TestAnswer } from '../../contracts/testCalls.ts'
import { messageOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { readWithin } from '../../core/readWithin.ts'
import type { Calls } from './port.ts'

export type CallsClientOptions = {
  /** Such as http://127.0.0.1:9091. */
  url: string
  log: Pick<Log, 'debug'>
  /** Milliseconds for one question; 2 s. */
  timeout?: number
}

/** Buckets that there may be: those that are kept, and the one that runs. */
const MOST_BUCKETS = KEPT_SECONDS / BUCKET_SECONDS + 1
/** Bytes; all buckets full of samples take less than half of it. */
const ANSWER_MAX = 2 * 1024 * 1024

const Count = z.int().nonnegative()
const Answer = z.object({
  since: Count,
  until: Count,
  buckets: z
    .array(
      z.object({
        at: Count.multipleOf(BUCKET_SECONDS),
        invocations: Count,
        errors: Count,
        throttles: Count,
        coldStarts: Count,
        durations: z.array(z.number().nonnegative()).max(MOST_SAMPLES),
      }),
    )
    .max(MOST_BUCKETS),
})

const Made = z.union([
  z.object({ refused: z.enum(NO_ANSWERS) }),
  z.object({
    statusCode: z.int().min(200).max(599),
    headers: z.record(z.string(), z.string()),
    body: z.base64(),
    isTruncated: z.boolean(),
    isColdStart: z.boolean(),
    durationMilliseconds: z.number().nonnegative(),
  }),
])

/** Asks the activator, which is another process. */
export function createCallsClient({ url, log, timeout = 2_000 }: CallsClientOptions): Calls {
  const base = url.replace(/\/$/, '')
  return {
    async of(namespace, name): Promise<CountedCalls | undefined> {
      try {
        const signal = AbortSignal.timeout(timeout)
        return Answer.parse(await said(`${base}${pathOfCalls(namespace, name)}`, ANSWER_MAX, { signal }))
      } catch (error) {
        log.debug({ error: messageOf(error) }, 'The activator did not report its counts of calls.')
        return undefined
      }
    },
    async call(namespace, name, call, signal): Promise<TestAnswer | undefined> {
      try {
        const asked = { method: 'POST', body: JSON.stringify(call), signal, ...AS_LONG_AS_THE_FUNCTION } as const
        return Made.parse(await said(`${base}${pathOfCalls(namespace, name)}`, MOST_TOLD_BYTES, asked))
      } catch (error) {
        log.debug({ error: messageOf(error) }, 'The activator did not make a test call.')
        return undefined
      }
    },
  }
}

/** The activator ends a call in time; only the caller may go before. */
const AS_LONG_AS_THE_FUNCTION = { headersTimeout: 0, bodyTimeout: 0 }

/** @throws Error unless it is an answer of 200 in JSON that is not too long */
async function said(url: string, most: number, options: Parameters<typeof request>[1]): Promise<unknown> {
  const { statusCode, body } = await request(url, options)
  const text = await readWithin(most, body, () => new Error('The activator answered with more than is allowed.'))
  if (statusCode !== 200) throw new Error(`The activator answered ${statusCode}.`)
  return JSON.parse(text.toString('utf8'))
}
