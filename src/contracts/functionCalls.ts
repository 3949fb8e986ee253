import { z } from 'zod'

/** What the activator, which counts calls of functions, and the facade, which shows them, agree on. */

export const BUCKET_SECONDS = 15
/** An hour, and a minute for whoever asks for the last hour: the question takes a while, and clocks differ. */
export const KEPT_SECONDS = 3660
export const MOST_SAMPLES = 256

const Count = z.int().nonnegative()

/** What is counted of one function in fifteen seconds. */
const CallBucket = z.object({
  /** Seconds since the epoch at which it begins. */
  at: Count.multipleOf(BUCKET_SECONDS),
  invocations: Count,
  errors: Count,
  throttles: Count,
  coldStarts: Count,
  /** Milliseconds of some of the calls. */
  durations: z.array(z.number().nonnegative()).max(MOST_SAMPLES),
})
export type CallBucket = z.output<typeof CallBucket>

export const CountedCalls = z.object({
  /** Seconds since the epoch: calls before are not known, because nobody counted or because they were forgotten. */
  since: Count,
  /** Seconds since the epoch: the calls before it are counted. */
  until: Count,
  /** The oldest first: those that are kept, and the one that runs. Where there is none there was no call. */
  buckets: z.array(CallBucket).max(KEPT_SECONDS / BUCKET_SECONDS + 1),
})
export type CountedCalls = z.output<typeof CountedCalls>

const PATH = '/calls'

/** Where the activator tells of a function (GET) and calls it (POST), on a port that only facades reach. */
export const pathOfCalls = (namespace: string, name: string) => `${PATH}?${new URLSearchParams({ namespace, name })}`

/** The key of the function that is asked for; undefined if none is. */
export function keyOfCalls(asked: string): string | undefined {
  const [path, query] = asked.split('?')
  const given = new URLSearchParams(query)
  const [namespace, name] = [given.get('namespace'), given.get('name')]
  return path === PATH && namespace && name ? `${namespace}/${name}` : undefined
}
