/** What the activator, which counts calls of functions, and the facade, which shows them, agree on. */

/** What is counted of one function in fifteen seconds. */
export type CallBucket = {
  /** Seconds since the epoch at which it begins: a multiple of `BUCKET_SECONDS`. */
  at: number
  invocations: number
  errors: number
  throttles: number
  coldStarts: number
  /** Milliseconds of some of the calls, at most `MOST_SAMPLES`. */
  durations: number[]
}

export const BUCKET_SECONDS = 15
/** An hour, and a minute for whoever asks for the last hour: the question takes a while, and clocks differ. */
export const KEPT_SECONDS = 3660
export const MOST_SAMPLES = 256

/** What is known of the calls of one function. */
export type CountedCalls = {
  /** Seconds since the epoch: calls before are not known, because nobody counted or because they were forgotten. */
  readonly since: number
  /** Seconds since the epoch: the calls before it are counted. */
  readonly until: number
  /** The oldest first. Where there is none there was no call. */
  readonly buckets: readonly Readonly<CallBucket>[]
}

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
