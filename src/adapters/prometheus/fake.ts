import { stepBoundaries } from './increments.ts'
import type { CountedRequests, RequestFigures, RoutedService, Steps } from './port.ts'

export type FakeRequest = { at: number; code: number; seconds: number; bytesIn?: number; bytesOut?: number }

const keyOf = ({ namespace, route, service }: RoutedService) => `${namespace}/${route}/${service}`

/** The requests of a Gateway in memory, measured during a given time. */
export class FakeRequestFigures implements RequestFigures {
  readonly #requests = new Map<string, FakeRequest[]>()
  readonly #bounds: readonly number[]
  readonly #measuredRange: { from: number; to: number }
  isGone = false

  /** @param bounds of the durations, in seconds; @param measured start and end, in seconds since the epoch */
  constructor(bounds: readonly number[], measured: { from: number; to: number }) {
    this.#bounds = bounds
    this.#measuredRange = measured
  }

  answered(routed: RoutedService, ...requests: readonly FakeRequest[]): void {
    this.#requests.set(keyOf(routed), [...(this.#requests.get(keyOf(routed)) ?? []), ...requests])
  }

  async of(routed: RoutedService, steps: Steps): Promise<CountedRequests | undefined> {
    if (this.isGone) return undefined
    const isMeasured = (time: number) => time >= this.#measuredRange.from && time <= this.#measuredRange.to
    const times = stepBoundaries(steps)
    const all = this.#requests.get(keyOf(routed)) ?? []
    return {
      isComplete: isMeasured(steps.from) && isMeasured(steps.to),
      steps: times.slice(1).flatMap((end, index) => {
        const at = times[index] ?? end
        const those = all.filter((one) => one.at > at && one.at <= end && isMeasured(at))
        return isMeasured(end) ? [{ at, ...this.#sumRequests(those) }] : []
      }),
    }
  }

  #sumRequests(requests: readonly FakeRequest[]) {
    const sum = (of: (one: FakeRequest) => number) => requests.reduce((total, one) => total + of(one), 0)
    const codes = [...new Set(requests.map(({ code }) => code))]
    return {
      codes: Object.fromEntries(codes.map((code) => [code, requests.filter((one) => one.code === code).length])),
      bytesIn: sum(({ bytesIn = 0 }) => bytesIn),
      bytesOut: sum(({ bytesOut = 0 }) => bytesOut),
      seconds: sum(({ seconds }) => seconds),
      durations:
        requests.length === 0
          ? []
          : [...this.#bounds, Number.POSITIVE_INFINITY].map(
              (bound) => [bound, requests.filter(({ seconds }) => seconds <= bound).length] as const,
            ),
    }
  }
}
