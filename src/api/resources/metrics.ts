import { z } from 'zod'
import { timestamp } from '../../core/clock.ts'
import { parseQuantity } from '../../core/quantity.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { WholeNumber } from '../http/query.ts'
import { type Authorization, type RouteDraft, route } from '../http/route.ts'
import { DateTime } from './dto.ts'
import type { WorkloadRef } from './liveState.ts'
import { podOf } from './pods.ts'
import { badParameter } from './queryFaults.ts'

const Second = WholeNumber(0, 253_402_300_799)
export const MetricsQuery = z.strictObject({
  from: Second.optional().describe('Seconds since 1970; an hour before to if absent'),
  to: Second.optional().describe('Seconds since 1970; now if absent'),
  stepSeconds: WholeNumber(15, 86_400).optional().describe('Seconds from point to point'),
  step: z
    .string()
    .regex(/^[1-9][0-9]{0,4}(s|m|h|d)$/, 'must be a duration, such as 30s, 5m, 1h or 1d')
    .optional()
    .describe('The same as a duration'),
})

const PointDto = namedRecord('Point', { timestamp: DateTime, value: z.number().nullable() })
export const SeriesDto = namedRecord('Series', {
  name: z.string(),
  unit: z.string(),
  labels: z.record(z.string(), z.string()),
  points: z.array(PointDto).describe('Only where something was measured'),
})
type Series = z.output<typeof SeriesDto>
export type Points = Series['points']

export const windowFields = {
  from: DateTime,
  to: DateTime,
  stepSeconds: z.int(),
  isComplete: z
    .boolean()
    .describe(
      'True if all calls or requests of the requested time were counted. What the cluster measures, such as CpuUsage, is known only for now, whatever this says',
    ),
}
const MetricsDto = namedRecord('MetricsDto', { ...windowFields, series: z.array(SeriesDto) })
const UNITS = { s: 1, m: 60, h: 3600, d: 86_400 } as const
const RANGE_MAX_SECONDS = 31 * 86_400
const POINTS_MAX = 1500

/** Returns the requested time span and step. @throws PlatformError BAD_REQUEST */
export function windowOf({ from, to, stepSeconds, step }: z.output<typeof MetricsQuery>, now: number) {
  if (stepSeconds !== undefined && step !== undefined)
    throw badParameter('step', 'step and stepSeconds mean the same: send one of them.')
  const end = to ?? Math.floor(now / 1000)
  const begin = from ?? end - 3600
  if (begin >= end) throw badParameter('from', 'from must be before to.')
  if (end - begin > RANGE_MAX_SECONDS) throw badParameter('from', 'from and to must be at most 31 days apart.')
  const given =
    step === undefined ? stepSeconds : Number(step.slice(0, -1)) * UNITS[step.slice(-1) as keyof typeof UNITS]
  const seconds = given ?? Math.max(15, Math.ceil((end - begin) / 120))
  if (seconds < 15 || seconds > 86_400) throw badParameter('step', 'step must be from 15s to 1d.')
  if ((end - begin) / seconds > POINTS_MAX)
    throw badParameter('step', `That would be more than ${POINTS_MAX} points: use a longer step.`)
  return { from: timeAt(begin), to: timeAt(end), stepSeconds: seconds, holdsNow: end * 1000 > now - seconds * 1000 }
}

const timeAt = (seconds: number) => timestamp(seconds * 1000)

type Find = (context: Context) => Promise<WorkloadRef>
/** The requested time span, in seconds since the epoch. */
export type MetricsTimeRange = { from: number; to: number; stepSeconds: number }
/** The counts, by the name of the series; `isComplete` if the whole span was counted. */
export type CountedSeries = { isComplete: boolean; points: Readonly<Record<string, Points>> }

type MetricsOptions = {
  measures?: Measures
  /** The counts, if something counts them. */
  counted?: (context: Context, workload: WorkloadRef, span: MetricsTimeRange) => Promise<CountedSeries>
}

const nothingCounted = async (): Promise<CountedSeries> => ({ isComplete: false, points: {} })

/** `<base>/metrics`. The cluster reports only current usage, without history. */
export function metricsRoute(
  base: string,
  auth: Authorization,
  find: Find,
  { measures = POD_MEASURES, counted = nothingCounted }: MetricsOptions = {},
): RouteDraft {
  return route('GET', `${base}/metrics` as string, {
    auth,
    summary: 'What it uses',
    query: MetricsQuery,
    reply: MetricsDto,
    handler: async (context) => {
      const workload = await find(context as Context)
      const { holdsNow, ...shown } = windowOf(context.query, context.services.clock.now())
      const [{ isComplete, points }, now] = await Promise.all([
        counted(context as Context, workload, toMetricsTimeRange(shown)),
        pointsOfNow(context as Context, workload, holdsNow),
      ])
      const all: CountedSeries['points'] = { ...now, ...points }
      return ok({ ...shown, isComplete, series: measures.map(([name, unit]) => series(name, unit, all[name])) })
    },
  })
}

export const toMetricsTimeRange = ({
  from,
  to,
  stepSeconds,
}: {
  from: string
  to: string
  stepSeconds: number
}): MetricsTimeRange => ({
  from: Date.parse(from) / 1000,
  to: Date.parse(to) / 1000,
  stepSeconds,
})

export const series = (name: string, unit: string, points: Points = []): Series => ({
  name,
  unit,
  labels: {},
  points,
})

const MILLI = 1000

type Measures = readonly (readonly [name: string, unit: string])[]
const POD_MEASURES: Measures = [
  ['CpuUsage', 'cores'],
  ['MemoryUsage', 'bytes'],
  ['NetworkIn', 'bytes/s'],
  ['NetworkOut', 'bytes/s'],
  ['Restarts', 'count'],
  ['Replicas', 'count'],
]
/** The series of functions, with their units. */
export const CALL_MEASURES: Measures = [
  ['Invocations', '1/s'],
  ['Errors', '1/s'],
  ['Throttles', '1/s'],
  ['DurationP50', 'ms'],
  ['DurationP95', 'ms'],
  ['DurationP99', 'ms'],
  ['ColdStarts', '1/s'],
  ['Replicas', 'count'],
  ['CpuUsage', 'cores'],
  ['MemoryUsage', 'bytes'],
]

/** Returns the present usage in the cluster, if the span ends about now. */
async function pointsOfNow(
  { services }: Context,
  workload: WorkloadRef,
  holdsNow: boolean,
): Promise<CountedSeries['points']> {
  const pods = holdsNow ? await services.live.pods(workload) : []
  const usage = [...(pods.length === 0 ? new Map<string, never>() : await services.live.usage(workload)).values()]
  const sum = (what: 'cpu' | 'memory') =>
    Number(usage.reduce((total, one: { cpu: string; memory: string }) => total + parseQuantity(one[what]), 0n)) / MILLI
  const shown = pods.map((pod) => podOf(pod as never))
  const now: Readonly<Record<string, number>> = {
    ...(usage.length > 0 && { CpuUsage: sum('cpu'), MemoryUsage: sum('memory') }),
    ...(holdsNow && {
      Restarts: shown.reduce((total, { restartCount }) => total + restartCount, 0),
      Replicas: shown.filter(({ ready }) => ready).length,
    }),
  }
  const point = { timestamp: timestamp(services.clock.now()) }
  return Object.fromEntries(Object.entries(now).map(([name, value]) => [name, [{ ...point, value }]]))
}
