import { z } from 'zod'
import { timestamp } from '../../core/clock.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { action, route } from '../http/route.ts'
import { DateTime, Uuid } from '../resources/dto.ts'
import { SeriesDto } from '../resources/metrics.ts'
import {
  flowStateOf,
  flowsIn,
  listBoundaryClusters,
  listVisibleGroups,
  policiesOf,
  type SeenCluster,
} from './boundaryClusters.ts'
import { listObservedFlows } from './denies.ts'
import { rates, windowStepSeconds } from './flows.ts'
import { directionsOf } from './policy/kubernetes.ts'
import type { Selector } from './policy/selectors.ts'
import { shownWindow, WindowQuery, windowFields, windowOf } from './window.ts'

const NetworkClusterDto = namedRecord('NetworkClusterDto', {
  clusterId: Uuid,
  clusterName: z.string(),
  isReachable: z.boolean(),
  connectedNodes: z.int().describe('Nodes whose flows are collected'),
  unavailableNodes: z.int(),
  flowsPerSecond: z.number(),
  version: z.string().nullable(),
})
const NetworkStatusDto = namedRecord('NetworkStatusDto', {
  source: z
    .enum(['Flows', 'PolicyOnly', 'None'])
    .describe('PolicyOnly: policies are known, and nothing collects flows. None: there are no policies either'),
  observedAt: DateTime,
  retentionHours: z.int(),
  defaultDeny: z.boolean().describe('Whether every group denies incoming traffic that no rule allows'),
  policyCount: z.int(),
  deniedLastHour: z.int(),
  clusters: z.array(NetworkClusterDto),
  ...windowFields,
})

const RETENTION_HOURS = 168

async function status(context: Context<'boundaryId'>) {
  const now = context.services.clock.now()
  const groups = await listVisibleGroups(context, undefined)
  const clusters = await listBoundaryClusters(context, groups)
  const window = windowOf('1h', now)
  const { flowsByCluster, reason } = await flowsIn(context, clusters, groups, window)
  const states = await Promise.all(clusters.map((cluster) => flowStateOf(context, cluster)))
  const policyCount = clusters.reduce((sum, cluster) => sum + policiesOf(cluster).length, 0)
  const collected = states.some((state) => state !== undefined)
  return ok({
    source: collected ? 'Flows' : policyCount > 0 ? 'PolicyOnly' : 'None',
    observedAt: timestamp(now),
    retentionHours: RETENTION_HOURS,
    defaultDeny: isClosed(
      clusters,
      groups.map(({ namespace }) => namespace),
    ),
    policyCount,
    deniedLastHour: flowsByCluster.flatMap(({ flows }) => flows.filter(({ denied }) => denied !== undefined)).length,
    clusters: clusters.map(({ id, name, seen }, index) => ({
      clusterId: id,
      clusterName: name,
      isReachable: typeof seen !== 'string',
      connectedNodes: states[index]?.connectedNodes ?? 0,
      unavailableNodes: states[index]?.unavailableNodes ?? 0,
      flowsPerSecond: states[index]?.flowsPerSecond ?? 0,
      version: states[index]?.version ?? null,
    })),
    ...shownWindow(window, reason),
  } as const)
}

/** Returns whether, on every cluster, each group namespace has an ingress policy that selects all pods. */
function isClosed(clusters: readonly SeenCluster[], namespaces: readonly string[]): boolean {
  return clusters.every(({ seen, other }) => {
    if (typeof seen === 'string') return false
    const closed = new Set(
      seen.policies.kubernetes
        .filter((policy) => directionsOf(policy).includes('ingress') && isForAll(policy.spec?.podSelector))
        .map(({ metadata }) => metadata.namespace),
    )
    // On another cluster, a group may have no namespace.
    const existing = other === undefined ? namespaces : namespaces.filter((name) => seen.namespaceLabels.has(name))
    return existing.every((name) => closed.has(name))
  })
}

function isForAll({ matchLabels = {}, matchExpressions = [] }: Selector = {}): boolean {
  return Object.keys(matchLabels).length === 0 && matchExpressions.length === 0
}

const SeriesQuery = z.strictObject({
  resource: z.string().min(1).max(52).optional().describe('Name of a resource at either end'),
  resourceGroup: z.string().min(1).max(52).optional().describe('Group of an end'),
  ...WindowQuery,
})
const NetworkSeriesDto = namedRecord('NetworkSeriesDto', {
  ...windowFields,
  stepSeconds: z.int(),
  series: z.array(SeriesDto).describe('AllowedFlows and DeniedFlows per second; none where nothing collects flows'),
})

async function series(context: Context<'boundaryId', z.output<typeof SeriesQuery>>) {
  const { window, clusters, flowsByCluster, reason } = await listObservedFlows(context, context.query)
  const stepSeconds = windowStepSeconds(window)
  const states = await Promise.all(clusters.map((cluster) => flowStateOf(context, cluster)))
  const points = rates(
    flowsByCluster.flatMap(({ flows }) => flows),
    window,
    stepSeconds,
  )
  const all = states.every((state) => state === undefined) ? [] : Object.entries(points)
  const shown = all.map(([name, found]) => ({ name, unit: 'flows/s', labels: {}, points: found }))
  return ok({ ...shownWindow(window, reason), stepSeconds, series: shown })
}

const auth = action('boundaries/network/read')

export const statusRoutes = [
  route('GET', '{B}/network/series', {
    auth,
    summary: 'How many connections there were, over time',
    query: SeriesQuery,
    reply: NetworkSeriesDto,
    handler: series as never,
  }),
  route('GET', '{B}/network/status', {
    auth,
    summary: 'What is known of the network of the boundary, and from where',
    reply: NetworkStatusDto,
    handler: status as never,
  }),
]
