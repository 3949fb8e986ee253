import { z } from 'zod'
import type { CountedRequests, CountedStep, RequestFigures, RoutedService } from '../../adapters/prometheus/port.ts'
import { timestamp } from '../../core/clock.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { type Authorization, type RouteDraft, route } from '../http/route.ts'
import { otherClusterOf } from './find.ts'
import {
  MetricsQuery,
  type MetricsTimeRange,
  type Points,
  SeriesDto,
  series,
  toMetricsTimeRange,
  windowFields,
  windowOf,
} from './metrics.ts'

declare module '../http/context.ts' {
  interface Services {
    readonly requestFigures: RequestFigures
  }
}

const Milliseconds = z.number().nullable().describe('Null where nothing was asked for')
const WebMetricsDto = namedRecord('WebMetricsDto', {
  ...windowFields,
  totals: z.object({
    requests: z.int(),
    errors4xx: z.int(),
    errors5xx: z.int(),
    bytesIn: z.int(),
    bytesOut: z.int(),
    averageMilliseconds: Milliseconds,
    p95Milliseconds: Milliseconds,
  }),
  series: z.array(SeriesDto),
  topPaths: z
    .array(
      namedRecord('WebPathDto', {
        path: z.string(),
        requests: z.int(),
        errors5xx: z.int(),
        p95Milliseconds: z.number().nullable(),
      }),
    )
    .describe('Empty: a Gateway counts by Service, not by path'),
  statusCodes: z.record(z.string(), z.int()),
})
type WebMetrics = Omit<z.output<typeof WebMetricsDto>, 'from' | 'to' | 'stepSeconds'>

/** A resource with public hosts: its object, and the route of its hosts through the Gateway. */
type Answering = {
  object: { metadata: { creationTimestamp?: string | undefined }; spec: { clusterId?: string | undefined } }
  routed: RoutedService
}

/** `<base>/metrics/web`: what the Gateway has counted since the resource was created. */
export function webMetricsRoute(
  base: string,
  auth: Authorization,
  find: (context: Context) => Promise<Answering>,
): RouteDraft {
  return route('GET', `${base}/metrics/web` as string, {
    auth,
    summary: 'The web requests that it answered',
    query: MetricsQuery,
    reply: WebMetricsDto,
    handler: async (context) => {
      const answering = await find(context as Context)
      const now = context.services.clock.now()
      const { holdsNow: _, ...shown } = windowOf(context.query, now)
      return ok({
        ...shown,
        ...webMetrics(await countedRequests(context as Context, answering, toMetricsTimeRange(shown), now)),
      })
    },
  })
}

/** The requests that were counted, without those of an earlier resource of the same name. */
export async function countedRequests(
  { services }: Context,
  { object, routed }: Answering,
  { from, to, stepSeconds }: MetricsTimeRange,
  now: number,
): Promise<CountedRequests | undefined> {
  const isRouted = services.records
    .peekAll(PlatformCluster)
    .some(({ spec }) => spec.isPlatform && spec.gateway !== undefined)
  // The Gateway of another cluster reports to the Prometheus there, if any.
  if (!isRouted || otherClusterOf(services, object.spec.clusterId) !== undefined) return undefined
  const made = Math.floor(Date.parse(object.metadata.creationTimestamp ?? '') / 1000) || 0
  const span = { from: Math.max(from, made), to: Math.min(to, Math.floor(now / 1000)), stepSeconds }
  return span.from < span.to ? services.requestFigures.of(routed, span) : { isComplete: to <= made, steps: [] }
}

const COUNT_NAMES = [
  ['Requests', ''],
  ['Errors4xx', '4'],
  ['Errors5xx', '5'],
] as const
const PERCENTILES = [
  ['LatencyP50', 0.5],
  ['LatencyP95', 0.95],
  ['LatencyP99', 0.99],
] as const

/** The metrics as shown; undefined for those that are not known. */
export function webMetrics({ isComplete, steps }: CountedRequests = { isComplete: false, steps: [] }): WebMetrics {
  const whole = sumSteps(steps)
  const p95 = percentile(whole.durations, 0.95)
  const requests = requestsOf(whole)
  const points = (measure: (step: CountedStep) => number | undefined): Points =>
    steps.flatMap((step) => {
      const value = measure(step)
      return value === undefined ? [] : [{ timestamp: timestamp(step.at * 1000), value }]
    })
  return {
    isComplete,
    totals: {
      requests,
      errors4xx: requestsOf(whole, '4'),
      errors5xx: requestsOf(whole, '5'),
      bytesIn: Math.round(whole.bytesIn),
      bytesOut: Math.round(whole.bytesOut),
      averageMilliseconds: requests === 0 ? null : milliseconds(whole.seconds / requests),
      p95Milliseconds: p95 ?? null,
    },
    series: [
      ...COUNT_NAMES.map(([name, digit]) =>
        series(
          name,
          'count',
          points((step) => requestsOf(step, digit)),
        ),
      ),
      ...PERCENTILES.map(([name, part]) =>
        series(
          name,
          'ms',
          points(({ durations }) => percentile(durations, part)),
        ),
      ),
    ],
    topPaths: [],
    statusCodes: whole.codes,
  }
}

function sumSteps(steps: readonly CountedStep[]): Omit<CountedStep, 'at'> {
  const sum = (of: (step: CountedStep) => number) => steps.reduce((total, step) => total + of(step), 0)
  const codes: Record<string, number> = {}
  const durations = new Map<number, number>()
  for (const step of steps) {
    for (const [code, requests] of Object.entries(step.codes)) codes[code] = (codes[code] ?? 0) + requests
    for (const [atMost, requests] of step.durations) durations.set(atMost, (durations.get(atMost) ?? 0) + requests)
  }
  return {
    codes,
    bytesIn: sum(({ bytesIn }) => bytesIn),
    bytesOut: sum(({ bytesOut }) => bytesOut),
    seconds: sum(({ seconds }) => seconds),
    durations: [...durations].sort(([one], [other]) => one - other),
  }
}

function requestsOf({ codes }: Pick<CountedStep, 'codes'>, digit = ''): number {
  return Object.entries(codes).reduce((total, [code, requests]) => total + (code.startsWith(digit) ? requests : 0), 0)
}

/**
 * Returns the duration that this part of the requests does not exceed, in milliseconds, like `histogram_quantile` of
 * PromQL: interpolated between two bounds, and beyond the last one that bound. Undefined without requests.
 */
function percentile(durations: CountedStep['durations'], part: number): number | undefined {
  const wanted = part * (durations.at(-1)?.[1] ?? 0)
  if (wanted === 0) return undefined
  const found = durations.findIndex(([, requests]) => requests >= wanted)
  const [atMost, requests] = durations[found] ?? [0, 0]
  const [below, before] = durations[found - 1] ?? [0, 0]
  if (!Number.isFinite(atMost)) return milliseconds(below)
  return milliseconds(below + ((atMost - below) * (wanted - before)) / (requests - before))
}

/** Rounds to a thousandth: further digits are rounding errors of the sum. */
const milliseconds = (seconds: number) => Math.round(seconds * 1_000_000) / 1000
