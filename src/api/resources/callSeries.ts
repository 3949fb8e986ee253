import { CALL_BUCKET_SECONDS, type CallBucket, type CountedCalls } from '../../contracts/functionCalls.ts'
import { timestamp } from '../../core/clock.ts'
import type { CountedSeries, MetricsTimeRange, Points } from './metrics.ts'

/** The counts of one step, and how many of its seconds were counted. */
type Step = { seconds: number; buckets: Readonly<CallBucket>[] }

const RATES = [
  ['Invocations', 'invocations'],
  ['Errors', 'errors'],
  ['Throttles', 'throttles'],
  ['ColdStarts', 'coldStarts'],
] as const
const PERCENTILES = [
  ['DurationP50', 0.5],
  ['DurationP95', 0.95],
  ['DurationP99', 0.99],
] as const

/**
 * Returns the series of calls: a point at the beginning of each step in which calls were counted, and durations only
 * where there was a call. Calls are counted in buckets of fifteen seconds, and a bucket belongs to the step in which it
 * begins; one that is under way when the span begins belongs to its first step. A rate is over the seconds that were
 * counted, so that the running step, or the one in which counting began, shows no false drop.
 *
 * `isComplete` if all calls of the span were counted: it begins no earlier than what is known, and ends no later.
 */
export function callSeries(counted: CountedCalls | undefined, span: MetricsTimeRange): CountedSeries {
  if (counted === undefined) return { isComplete: false, points: {} }
  const steps = [...stepsOf(counted, span)]
  const series = (read: (step: Step) => number | undefined): Points =>
    steps.flatMap(([at, step]) => {
      const value = read(step)
      return value === undefined ? [] : [{ timestamp: timestamp(at * 1000), value }]
    })
  const points = Object.fromEntries([
    ...RATES.map(([name, what]) => [name, series((step) => rateOf(step, what))] as const),
    ...PERCENTILES.map(([name, part]) => [name, series(({ buckets }) => percentile(buckets, part))] as const),
  ])
  // Clocks of two machines differ a little: a span that ends now does not end in the future.
  const isComplete = span.from >= counted.since && span.to < counted.until + CALL_BUCKET_SECONDS
  return { isComplete, points }
}

/** Returns the steps by the second at which they begin. */
function stepsOf(
  { since, until, buckets }: CountedCalls,
  { from, to, stepSeconds }: MetricsTimeRange,
): Map<number, Step> {
  const byBegin = new Map(buckets.map((bucket) => [bucket.at, bucket]))
  const steps = new Map<number, Step>()
  const first = Math.floor(Math.max(from, since) / CALL_BUCKET_SECONDS) * CALL_BUCKET_SECONDS
  for (let at = first; at < Math.min(to, until); at += CALL_BUCKET_SECONDS) {
    const begin = from + Math.max(0, Math.floor((at - from) / stepSeconds)) * stepSeconds
    const step = steps.get(begin) ?? { seconds: 0, buckets: [] }
    steps.set(begin, step)
    step.seconds += Math.min(at + CALL_BUCKET_SECONDS, until) - Math.max(at, since)
    const bucket = byBegin.get(at)
    if (bucket !== undefined) step.buckets.push(bucket)
  }
  return steps
}

function rateOf({ seconds, buckets }: Step, what: (typeof RATES)[number][1]): number {
  return buckets.reduce((total, bucket) => total + bucket[what], 0) / seconds
}

/** Returns the shortest duration that this part of the calls does not exceed; a sample may stand for several calls. */
function percentile(buckets: readonly Readonly<CallBucket>[], part: number): number | undefined {
  const samples = buckets
    .flatMap(({ durations, invocations }) =>
      durations.map((milliseconds) => ({ milliseconds, calls: invocations / durations.length })),
    )
    .sort((one, other) => one.milliseconds - other.milliseconds)
  const wanted = part * samples.reduce((total, { calls }) => total + calls, 0)
  let passed = 0
  for (const { milliseconds, calls } of samples) {
    passed += calls
    // Sums of fractions are not exact.
    if (passed >= wanted - 1e-9) return milliseconds
  }
  return samples.at(-1)?.milliseconds
}
