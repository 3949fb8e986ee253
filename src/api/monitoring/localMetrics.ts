import type { Aggregation } from '../../contracts/metrics.ts'
import { DAY_MS } from '../../core/clock.ts'
import { ServerlessFunction } from '../../crds/functions.ts'
import { VaultEntry } from '../../crds/vaults.ts'
import type { Services } from '../http/context.ts'
import { callSeries } from '../resources/callSeries.ts'
import type { MonitoringTimeRange } from './metricQuery.ts'
import type { MonitoredResource } from './monitoredResource.ts'

type Asked = { metric: string; aggregation: Aggregation }
type Found = { labels: Readonly<Record<string, string>>; points: { at: number; value: number }[] }[]

/** How long before its expiry a secret counts as expiring soon, in milliseconds. */
const EXPIRING_SOON_MS = 30 * DAY_MS

/** Returns metrics of the activator or computed from our objects. Reads and writes of secrets are not counted. */
export async function queryLocalMetric(
  services: Services,
  watched: MonitoredResource,
  selection: Asked,
  span: MonitoringTimeRange,
): Promise<Found> {
  if (watched.location.collection === 'functionnamespaces') return callsOf(services, watched, selection, span)
  if (selection.metric === 'SecretsExpiringSoon')
    return [{ labels: {}, points: currentPoint(services, span, expiringSoon(services, watched)) }]
  return []
}

/** Returns one series per function. */
async function callsOf(
  { records, functions }: Pick<Services, 'records' | 'functions'>,
  { namespace, location }: MonitoredResource,
  { metric, aggregation }: Asked,
  span: MonitoringTimeRange,
): Promise<Found> {
  const all = records
    .peekAll(ServerlessFunction, { namespace })
    .filter(({ spec }) => spec.namespaceName === location.name)
  const name = metric === 'Duration' ? `${metric}${aggregation}` : metric
  const factor = aggregation === 'Sum' ? span.stepSeconds : 1
  return Promise.all(
    all.map(async ({ metadata, spec }) => {
      const counted = callSeries(await functions.calls.of(namespace, metadata.name), span)
      const points = (counted.points[name] ?? []).flatMap(({ timestamp, value }) =>
        value === null ? [] : [{ at: Date.parse(timestamp) / 1000, value: value * factor }],
      )
      return { labels: { function: spec.functionName }, points }
    }),
  )
}

/** @param watched one vault; the whole platform if absent */
export function expiringSoon(
  { records, clock }: Pick<Services, 'records' | 'clock'>,
  watched?: MonitoredResource,
): number {
  const now = clock.now()
  const entries = records.peekAll(VaultEntry, watched && { namespace: watched.namespace })
  return entries.filter(({ spec }) => {
    const left = Date.parse(spec.expiresOn ?? '') - now
    const isMeant = watched === undefined || spec.vaultName === watched.location.name
    return isMeant && spec.state === 'Active' && left > 0 && left <= EXPIRING_SOON_MS
  }).length
}

/**
 * Returns a point in the last step for a value that is only known now, if the span reaches the present. Allows for the
 * time that a request takes.
 */
export function currentPoint(
  { clock }: Pick<Services, 'clock'>,
  { from, to, stepSeconds }: MonitoringTimeRange,
  value: number,
) {
  const now = Math.floor(clock.now() / 1000)
  if (to + stepSeconds <= now) return []
  return [{ at: from + Math.floor((Math.min(now, to) - 1 - from) / stepSeconds) * stepSeconds, value }]
}
