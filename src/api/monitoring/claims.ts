import { z } from 'zod'
import { type MeasuredSeries, type MetricSeriesQuery, MetricSourceError } from '../../adapters/prometheus/port.ts'
import { defaultStepSeconds } from '../../contracts/metrics.ts'
import type { KubeObject } from '../../core/object.ts'
import { plainLine } from '../../core/plainLine.ts'
import { matching } from '../../crds/fields.ts'
import type { Context, Services } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { WholeNumber } from '../http/query.ts'
import { action, type RouteDraft } from '../http/route.ts'
import { Uuid } from '../resources/dto.ts'
import { SeriesDto } from '../resources/metrics.ts'
import { enumeration, number, text } from '../resources/paging.ts'
import { clusterListRoute, type ListedCluster } from './clusterLists.ts'
import { type MonitoringTimeRange, pointsOf } from './metricQuery.ts'
import { type Claim, ownerFinder, parseQuantityBytes } from './storageObjects.ts'
import { ownerFields } from './volumes.ts'

const Amount = z.number().nullable()

export const StorageClaimDto = namedRecord('StorageClaimDto', {
  namespace: z.string(),
  name: z.string(),
  clusterId: Uuid,
  storageClass: z.string(),
  phase: z.string(),
  requestedBytes: z.int(),
  capacityBytes: z.int(),
  usedBytes: z.int().nullable().describe('Null where nothing measures it'),
  usedPercent: Amount,
  inodesUsedPercent: Amount,
  growthBytesPerDay: Amount.describe('By the last day'),
  fullInDays: Amount.describe('If it grows on like that; null if it does not grow'),
  series: z.array(SeriesDto).describe('Used, where lookbackMinutes is given'),
  ...ownerFields,
})
type StorageClaimDto = z.output<typeof StorageClaimDto>

const Query = z.strictObject({
  claim: z
    .array(matching(6_400, /[^\s,]/, 'must name a claim'))
    .max(100)
    .optional()
    .describe('Only these: namespace/name or name; repeated, or with commas between'),
  lookbackMinutes: WholeNumber(5, 10_080).optional().describe('Also what was used since then'),
  namespace: z.string().min(1).max(63).optional().describe('Only in this namespace of Kubernetes'),
})
type Asked = Context<string, z.output<typeof Query>>

type WantedClaim = { namespace: string | undefined; name: string }

function parseWantedClaims({ claim = [] }: z.output<typeof Query>): WantedClaim[] {
  const words = claim.flatMap((text) => text.split(',')).map((word) => word.trim())
  return words
    .filter((word) => word !== '')
    .map((word) => {
      const at = word.indexOf('/')
      return at < 0 ? { namespace: undefined, name: word } : { namespace: word.slice(0, at), name: word.slice(at + 1) }
    })
}

const isWanted = (wanted: readonly WantedClaim[], { namespace, name }: { namespace?: string; name: string }) =>
  wanted.length === 0 || wanted.some((one) => one.name === name && (one.namespace ?? namespace) === namespace)

type ClaimMeasures = {
  used: ReadonlyMap<string, number>
  inodes: ReadonlyMap<string, number>
  growth: ReadonlyMap<string, number>
  history: ReadonlyMap<string, MeasuredSeries['points']> | undefined
}
const NO_MEASURES: ClaimMeasures = { used: new Map(), inodes: new Map(), growth: new Map(), history: undefined }

const keyOf = (namespace = '', name = '') => `${namespace}/${name}`
const byClaim = (found: readonly MeasuredSeries[]) =>
  new Map(found.map(({ labels, points }) => [keyOf(labels.namespace, labels.persistentvolumeclaim), points] as const))
const lastOf = (found: readonly MeasuredSeries[]) =>
  new Map([...byClaim(found)].flatMap(([key, points]) => points.slice(-1).map(({ value }) => [key, value] as const)))

/** Returns what kubelets report about the claims; nothing if there is no metric source or it does not answer. */
async function measuresOf({ services, query }: Asked, wanted: readonly WantedClaim[]): Promise<ClaimMeasures> {
  const { metrics } = services.monitoring
  if (metrics === undefined) return NO_MEASURES
  const target = {
    namespace: query.namespace ?? 'anywhere',
    claims: wanted.map(({ name }) => ({ claim: name, tail: 'None' as const })),
    ...{ pods: [], routes: [], buckets: [], jobs: [] },
  }
  const now = Math.floor(services.clock.now() / 1000)
  const ask = (metric: string, aggregation: MetricSeriesQuery['aggregation'], span: MonitoringTimeRange) =>
    metrics.of({ collection: 'platform', metric, aggregation, target }, span)
  const current = { from: now - 60, to: now, stepSeconds: 60 }
  const { lookbackMinutes: back } = query
  const since =
    back === undefined ? undefined : { from: now - back * 60, to: now, stepSeconds: defaultStepSeconds(back * 60) }
  try {
    const [used, inodes, growth, history] = await Promise.all([
      ask('ClaimUsed', 'Last', current),
      ask('ClaimInodesUsed', 'Last', current),
      ask('ClaimGrowth', 'Last', current),
      since && ask('ClaimUsed', 'Average', since),
    ])
    return { used: lastOf(used), inodes: lastOf(inodes), growth: lastOf(growth), history: history && byClaim(history) }
  } catch (error) {
    if (error instanceof MetricSourceError) return NO_MEASURES
    throw error
  }
}

const ROUNDING = 100
const rounded = (value: number | undefined) => (value === undefined ? null : Math.round(value * ROUNDING) / ROUNDING)

/** Returns the records of claims, with their owners and measurements. */
export function claimDtos(
  services: Pick<Services, 'records'>,
  { clusterId }: Pick<ListedCluster, 'clusterId'>,
  claims: readonly KubeObject[],
  measures: ClaimMeasures,
): StorageClaimDto[] {
  const ownerOf = ownerFinder(services)
  return (claims as readonly Claim[]).map((claim) => {
    const { metadata, spec = {}, status = {} } = claim
    const { namespace = '', name } = metadata
    const key = keyOf(namespace, name)
    const capacity = parseQuantityBytes(status.capacity?.storage)
    const [used, growth] = [measures.used.get(key), measures.growth.get(key)]
    const left = used === undefined ? undefined : Math.max(0, capacity - used)
    return {
      namespace,
      name: plainLine(name, 253),
      clusterId,
      storageClass: spec.storageClassName ?? '',
      phase: status.phase ?? 'Pending',
      requestedBytes: parseQuantityBytes(spec.resources?.requests?.storage),
      capacityBytes: capacity,
      usedBytes: used === undefined ? null : Math.round(used),
      usedPercent: used === undefined || capacity === 0 ? null : rounded((100 * used) / capacity),
      inodesUsedPercent: rounded(measures.inodes.get(key)),
      growthBytesPerDay: growth === undefined ? null : Math.round(growth),
      fullInDays: left === undefined || growth === undefined || growth <= 0 ? null : rounded(left / growth),
      series:
        measures.history === undefined
          ? []
          : [{ name: 'Used', unit: 'bytes', labels: {}, points: pointsOf(measures.history.get(key) ?? []) }],
      ...ownerOf(namespace, claim),
    }
  })
}

/** Claims of all clusters (interface section 4.16, records: monitoring). */
export const claimsRoute: RouteDraft = clusterListRoute('/admin/monitoring/storage/claims', {
  auth: action('monitoring/platform/read'),
  summary: 'The volume claims of all reachable clusters, and how full they are',
  dto: StorageClaimDto,
  query: Query,
  columns: {
    name: text('Name', { isSearched: true }),
    namespace: text('Namespace', { isSearched: true }),
    clusterId: text('Cluster id', { isShown: false }),
    storageClass: text('Class'),
    phase: enumeration('Phase'),
    capacityBytes: number('Capacity'),
    usedBytes: number('Used'),
    usedPercent: number('Used %'),
    fullInDays: number('Full in days'),
    boundaryId: text('Boundary', { isShown: false }),
    resourceGroup: text('Resource group'),
    collection: text('Type'),
    resourceName: text('Resource'),
  },
  sort: 'name',
  name: 'namespace',
  id: 'name',
  rowsOf: async (context) => {
    const { services, query } = context
    const wanted = parseWantedClaims(query)
    const measures = await measuresOf(context, wanted)
    return async (where) => {
      const claims = await services.monitoring.objects.claims(where)
      const own = claims.filter(
        ({ metadata }) => (query.namespace ?? metadata.namespace) === metadata.namespace && isWanted(wanted, metadata),
      )
      // Kubelets of other clusters report to another Prometheus.
      return claimDtos(services, where, own, where.otherClusterId === undefined ? measures : NO_MEASURES)
    }
  },
})
