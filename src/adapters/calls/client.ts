import { request } from 'undici'
import { z } from 'zod'
import {
  BUCKET_SECONDS,
  type CountedCalls,
  KEPT_SECONDS,
  MOST_SAMPLES,
  pathOfCalls,
} from '../../contracts/functionCalls.ts'
import { messageOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { readWithin } from '../../core/readWithin.ts'
import type { CallFigures } from './port.ts'

export type CallFiguresClientOptions = {
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

/** Asks the activator, which is another process. */
export function createCallFiguresClient({ url, log, timeout = 2_000 }: CallFiguresClientOptions): CallFigures {
  const base = url.replace(/\/$/, '')
  return {
    async of(namespace, name): Promise<CountedCalls | undefined> {
      try {
        const signal = AbortSignal.timeout(timeout)
        const { statusCode, body } = await request(`${base}${pathOfCalls(namespace, name)}`, { signal })
        const text = await readWithin(
          ANSWER_MAX,
          body,
          () => new Error('The activator answered with more than is allowed.'),
        )
        if (statusCode !== 200) throw new Error(`The activator answered ${statusCode}.`)
        return Answer.parse(JSON.parse(text.toString('utf8')))
      } catch (error) {
        log.debug({ error: messageOf(error) }, 'The activator did not report its counts of calls.')
        return undefined
      }
    },
  }
}
