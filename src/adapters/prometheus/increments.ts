import type { CountedRequests, CountedStep, Steps } from './port.ts'

/** Kinds of counters; `since` is not one, but the start of the counting process, in seconds since the epoch. */
export const COUNTER_KINDS = ['codes', 'durations', 'seconds', 'bytesIn', 'bytesOut', 'since'] as const

/** One counter of one Gateway process; `values` by the time of the sample. */
export type Counter = {
  what: (typeof COUNTER_KINDS)[number]
  instance: string
  /** The status code, or the upper bound of the bucket in seconds. */
  of: string
  values: ReadonlyMap<number, number>
}

/** Returns the boundaries of all steps, in seconds since the epoch. */
export function stepBoundaries({ from, to, stepSeconds }: Steps): number[] {
  const whole = Math.floor((to - from) / stepSeconds)
  const times = Array.from({ length: whole + 1 }, (_, index) => from + index * stepSeconds)
  return times.at(-1) === to ? times : [...times, to]
}

/**
 * Computes the increase of each counter per step. Unlike PromQL's `increase` it does not extrapolate, and it counts the
 * first requests of a Service, for which Traefik creates the counter.
 */
export function computeIncrements(counters: readonly Counter[], times: readonly number[]): CountedRequests {
  const began = new Map(counters.filter(({ what }) => what === 'since').map((one) => [one.instance, one.values]))
  const isMeasured = (time: number | undefined) =>
    time !== undefined && [...began.values()].some((values) => values.has(time))
  const steps = new Map<number, Increments>()
  for (const [index, time] of times.slice(1).entries())
    if (isMeasured(time)) steps.set(time, new Increments(times[index] ?? time))
  for (const counter of counters)
    for (const [time, increment] of increments(counter, began.get(counter.instance) ?? new Map(), times))
      steps.get(time)?.add(counter, increment)
  return {
    isComplete: isMeasured(times[0]) && isMeasured(times.at(-1)),
    steps: [...steps.values()].map((step) => step.counted()),
  }
}

function* increments(
  { what, values }: Counter,
  began: ReadonlyMap<number, number>,
  times: readonly number[],
): Generator<[time: number, increment: number]> {
  if (what === 'since') return
  let known = values.get(times[0] ?? Number.NaN)
  for (const [index, time] of times.slice(1).entries()) {
    const value = values.get(time)
    if (value === undefined) continue
    const before = times[index] ?? time
    // A new counter counts in full, unless it may have begun before the process was measured.
    const isNew = began.has(before) || (began.get(time) ?? 0) >= before
    if (known !== undefined) yield [time, value >= known ? value - known : value]
    else if (isNew) yield [time, value]
    known = value
  }
}

class Increments {
  readonly #at: number
  readonly #codes = new Map<string, number>()
  readonly #durations = new Map<number, number>()
  readonly #sums = { seconds: 0, bytesIn: 0, bytesOut: 0, since: 0 }

  constructor(at: number) {
    this.#at = at
  }

  add({ what, of }: Counter, increment: number): void {
    if (what === 'codes') this.#codes.set(of, (this.#codes.get(of) ?? 0) + increment)
    else if (what === 'durations') {
      const atMost = of === '+Inf' ? Number.POSITIVE_INFINITY : Number(of)
      this.#durations.set(atMost, (this.#durations.get(atMost) ?? 0) + increment)
    } else this.#sums[what] += increment
  }

  counted(): CountedStep {
    const { since: _, ...sums } = this.#sums
    const isAny = [...this.#durations.values()].some((requests) => requests > 0)
    return {
      at: this.#at,
      codes: Object.fromEntries([...this.#codes].filter(([, requests]) => requests > 0)),
      ...sums,
      durations: [...this.#durations].filter(() => isAny).sort(([one], [other]) => one - other),
    }
  }
}
