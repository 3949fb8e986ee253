import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

export type HttpMetrics = {
  began(): void
  /** `route` is the template, because the path itself would create a time series per resource. */
  ended(method: string, route: string, status: number, seconds: number): void
  limited(kind: 'principal' | 'address'): void
  /** Adds to the number of followed lists; negative when one ends. */
  following(more: number): void
}

/** Seconds: from a cached read to a slow write (OpenTelemetry semantic conventions, HTTP server metrics). */
const BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Metrics of the facade in the Prometheus form of the OpenTelemetry HTTP conventions. */
export function createHttpMetrics(registry: Registry): HttpMetrics {
  const duration = new Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'Duration of requests to the facade',
    labelNames: ['http_request_method', 'http_route', 'http_response_status_code'],
    buckets: BUCKETS_SECONDS,
    registers: [registry],
  })
  let active = 0
  new Gauge({
    name: 'http_server_active_requests',
    help: 'Requests that the facade is working on',
    registers: [registry],
    collect() {
      this.set(active)
    },
  })
  const limited = new Counter({
    name: 'freehold_facade_limited_requests_total',
    help: 'Requests answered with 429',
    labelNames: ['kind'],
    registers: [registry],
  })
  const following = new Gauge({
    name: 'freehold_facade_followed_lists',
    help: 'Lists that are open as event streams',
    registers: [registry],
  })
  // Looking labels up costs more than the observation, and a route has few combinations.
  const children = new Map<string, Histogram.Internal<string>>()
  return {
    began() {
      active += 1
    },
    ended(method, route, status, seconds) {
      active -= 1
      const key = `${method} ${route} ${status}`
      let child = children.get(key)
      if (child === undefined) {
        child = duration.labels(method, route, String(status))
        children.set(key, child)
      }
      child.observe(seconds)
    },
    limited: (kind) => limited.inc({ kind }),
    following: (more) => following.inc(more),
  }
}

export const noMetrics: HttpMetrics = { began: () => {}, ended: () => {}, limited: () => {}, following: () => {} }
