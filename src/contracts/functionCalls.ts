import { z } from 'zod'

/** Length of a bucket in which the activator counts calls of functions for the facade. */

export const CALL_BUCKET_SECONDS = 15
/** An hour, and a minute for requests for the last hour: they take a while, and clocks differ. */
export const CALL_RETENTION_SECONDS = 3660
export const CALL_SAMPLES_MAX = 256

const Count = z.int().nonnegative()

/** The counts of one function in one bucket. */
const CallBucket = z.object({
  /** Begin of the bucket, in seconds since the epoch. */
  at: Count.multipleOf(CALL_BUCKET_SECONDS),
  invocations: Count,
  errors: Count,
  throttles: Count,
  coldStarts: Count,
  /** Milliseconds of a sample of the calls. */
  durations: z.array(z.number().nonnegative()).max(CALL_SAMPLES_MAX),
})
export type CallBucket = z.output<typeof CallBucket>

export const CountedCalls = z.object({
  /** Seconds since the epoch: earlier calls are unknown, because they were not counted or were dropped. */
  since: Count,
  /** Seconds since the epoch: the calls before it are counted. */
  until: Count,
  /** Oldest first, with the unfinished bucket. A bucket is missing if there was no call. */
  buckets: z.array(CallBucket).max(CALL_RETENTION_SECONDS / CALL_BUCKET_SECONDS + 1),
})
export type CountedCalls = z.output<typeof CountedCalls>

const PATH = '/calls'

/** Path where the activator reports on a function (GET) and calls it (POST), on a port that only facades reach. */
export const functionCallsPath = (namespace: string, name: string) =>
  `${PATH}?${new URLSearchParams({ namespace, name })}`

/** Returns the key of the function that a request names; undefined if it names none. */
export function parseFunctionCallsPath(url: string): string | undefined {
  const [path, query] = url.split('?')
  const given = new URLSearchParams(query)
  const [namespace, name] = [given.get('namespace'), given.get('name')]
  return path === PATH && namespace && name ? `${namespace}/${name}` : undefined
}
