import type { Aggregation } from '../../contracts/metrics.ts'
import { ServerlessFunction } from '../../crds/functions.ts'
import { VaultEntry } from '../../crds/vaults.ts'
import type { Services } from '../http/context.ts'
import { callSeries } from '../resources/callSeries.ts'
import type { Span } from './asked.ts'
import type { Watched } from './watched.ts'

type Asked = { metric: string; aggregation: Aggregation }
type Found = { labels: Readonly<Record<string, string>>; points: { at: number; value: number }[] }[]

/** Milliseconds before the end of a secret that its expiry is near. */
const SOON = 30 * 86_400_000

/** What the activator counts of calls, and what our own objects tell. Reads and writes of secrets are counted by nobody. */
export async function countedHere(services: Services, watched: Watched, asked: Asked, span: Span): Promise<Found> {
  if (watched.place.collection === 'functionnamespaces') return callsOf(services, watched, asked, span)
  if (asked.metric === 'SecretsExpiringSoon')
    return [{ labels: {}, points: pointOfNow(services, span, expiringSoon(services, watched)) }]
  return []
}

/** One series for each function. */
async function callsOf(
  { records, functions }: Pick<Services, 'records' | 'functions'>,
  { namespace, place }: Watched,
  { metric, aggregation }: Asked,
  span: Span,
): Promise<Found> {
  const all = records.peekAll(ServerlessFunction, { namespace }).filter(({ spec }) => spec.namespaceName === place.name)
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

/** @param watched one vault; all of the platform if absent */
export function expiringSoon({ records, clock }: Pick<Services, 'records' | 'clock'>, watched?: Watched): number {
  const now = clock.now()
  const entries = records.peekAll(VaultEntry, watched && { namespace: watched.namespace })
  return entries.filter(({ spec }) => {
    const left = Date.parse(spec.expiresOn ?? '') - now
    const isMeant = watched === undefined || spec.vaultName === watched.place.name
    return isMeant && spec.state === 'Active' && left > 0 && left <= SOON
  }).length
}

/**
 * Of what is known of this moment only: a point in the last step, if the span reaches until now. Who asks until now is
 * answered a moment later.
 */
export function pointOfNow({ clock }: Pick<Services, 'clock'>, { from, to, stepSeconds }: Span, value: number) {
  const now = Math.floor(clock.now() / 1000)
  if (to + stepSeconds <= now) return []
  return [{ at: from + Math.floor((Math.min(now, to) - 1 - from) / stepSeconds) * stepSeconds, value }]
}
