import { z } from 'zod'
import { DENY_REASONS, type Flow, type FlowEnd } from '../../adapters/flows/port.ts'
import { timestamp } from '../../core/clock.ts'
import { notFound } from '../../core/errors.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { action, route } from '../http/route.ts'
import { applyListRequest } from '../resources/appliedList.ts'
import { shapeOf } from '../resources/collection/columns.ts'
import { resourcesOfGroup } from '../resources/contents.ts'
import { DateTime, pagedListOf, Uuid } from '../resources/dto.ts'
import { dateTime, enumeration, number, text } from '../resources/paging.ts'
import { badParameter } from '../resources/queryFaults.ts'
import { flowsIn, listBoundaryClusters, listVisibleGroups, type SeenCluster } from './boundaryClusters.ts'
import { groupDenies, type KnownEnd, knownEnd, type ObservedDeny } from './flows.ts'
import { networkVisibilityOf } from './networkVisibility.ts'
import { NetworkRuleDto } from './record.ts'
import { type VisibleContents, visibleContents } from './visibleContents.ts'
import { shownWindow, WindowQuery, windowFields, windowOf } from './window.ts'

export const NODE_KINDS = ['Resource', 'Group', 'Platform', 'Cluster', 'Internet'] as const
const DIRECTIONS = ['Ingress', 'Egress'] as const

const NetworkEndpointDto = namedRecord('NetworkEndpointDto', {
  kind: z.enum(NODE_KINDS),
  name: z.string().nullable(),
  resourceGroup: z.string().nullable(),
  namespace: z.string().nullable(),
  podName: z.string().nullable(),
  ipAddress: z.string().nullable(),
  labels: z.record(z.string(), z.string()),
})
const denyFields = {
  id: Uuid.describe('The same for as long as it goes on between the same two'),
  firstSeenAt: DateTime,
  lastSeenAt: DateTime,
  count: z.int(),
  direction: z.enum(DIRECTIONS),
  reason: z.enum(DENY_REASONS),
  reasonText: z.string(),
  from: NetworkEndpointDto,
  to: NetworkEndpointDto,
  protocol: z.string(),
  port: z.int(),
  rule: NetworkRuleDto.nullable(),
  clusterId: Uuid,
  clusterName: z.string(),
}
const NetworkDenyDto = namedRecord('NetworkDenyDto', denyFields)
type Deny = z.output<typeof NetworkDenyDto>
const NetworkDenySample = namedRecord('NetworkDenySample', {
  timestamp: DateTime,
  fromIp: z.string(),
  toIp: z.string(),
  nodeName: z.string(),
})
const NetworkDenyDetailDto = namedRecord('NetworkDenyDetailDto', {
  ...denyFields,
  samples: z.array(NetworkDenySample).describe('The newest 20'),
  suggestion: z.string().nullable().describe('The rule that would allow it, as YAML'),
})

const DeniesQuery = z.strictObject({
  direction: z.enum(DIRECTIONS).optional().describe('Only denials in this direction'),
  resource: z.string().min(1).max(52).optional().describe('Name of a resource at either end'),
  resourceGroup: z.string().min(1).max(52).optional().describe('Group of an end'),
  ...WindowQuery,
})
type Query = z.output<typeof DeniesQuery>

/** Returns what a query is about. A name alone must be unique. @throws PlatformError NOT_FOUND, BAD_REQUEST */
export async function resolveFlowSubject(
  context: Context,
  { resource, resourceGroup }: Pick<Query, 'resource' | 'resourceGroup'>,
) {
  const groups = await listVisibleGroups(context, resourceGroup)
  const { boundaryId = '' } = context.parameters
  const visibility = networkVisibilityOf(context, boundaryId)
  const all = groups.flatMap(({ name }) => resourcesOfGroup(context.services, boundaryId, name))
  const { shown: resources = [], hidden = [] } = Object.groupBy(all, (one) =>
    visibility.resource(one) ? 'shown' : 'hidden',
  )
  const named = resources.filter(({ object }) => object.metadata.name === resource)
  if (resource !== undefined && named.length === 0) throw notFound(`Resource "${resource}"`)
  if (new Set(named.map((found) => found.resourceGroup)).size > 1)
    throw badParameter('resourceGroup', `Several groups have a resource "${resource}": name its resourceGroup.`)
  const isMeant = ({ resource: found }: KnownEnd) =>
    resource === undefined || (found !== undefined && named.includes(found))
  return { contents: visibleContents({ groups, resources, hidden }), isMeant }
}

const endsOf = ({ from, to }: Flow, contents: VisibleContents) =>
  [from, to].map((end) => knownEnd(end, contents, SYSTEM_NAMESPACE)) as [KnownEnd, KnownEnd]

/** Returns the flows that a query is about, by cluster. */
export async function listObservedFlows(context: Context, query: Omit<Query, 'direction'>) {
  const window = windowOf(query.window, context.services.clock.now())
  const { isMeant, contents } = await resolveFlowSubject(context, query)
  const clusters = await listBoundaryClusters(context, contents.groups)
  const { flowsByCluster, reason } = await flowsIn(context, clusters, contents.groups, window)
  const relevant = flowsByCluster.map(({ cluster, flows }) => ({
    cluster,
    // Omits flows between ends that are both hidden.
    flows: flows.filter((flow) => endsOf(flow, contents).some((end) => isMeant(end) && end.group !== undefined)),
  }))
  return { window, contents, clusters, flowsByCluster: relevant, reason }
}

function denyDto({ id, flows }: ObservedDeny, cluster: SeenCluster, contents: VisibleContents): Deny {
  const [first] = flows
  const last = flows.at(-1) ?? first
  const [from, to] = endsOf(last, contents)
  return {
    id,
    firstSeenAt: timestamp(first.time),
    lastSeenAt: timestamp(last.time),
    count: flows.length,
    direction: last.direction,
    reason: last.denied?.reason ?? 'Other',
    reasonText: last.denied?.text ?? '',
    from: endpointDto(last.from, from),
    to: endpointDto(last.to, to),
    protocol: last.protocol,
    port: last.port,
    rule: null,
    clusterId: cluster.id,
    clusterName: cluster.name,
  }
}

function endpointDto({ namespace, podName, ipAddress, labels }: FlowEnd, { kind, group, resource }: KnownEnd) {
  // Shows pods of the boundary only.
  const isOwn = kind === 'Resource' || kind === 'Group'
  return {
    kind,
    name: resource?.object.metadata.name ?? group ?? null,
    resourceGroup: group ?? null,
    namespace: isOwn ? (namespace ?? null) : null,
    podName: isOwn ? (podName ?? null) : null,
    ipAddress: ipAddress ?? null,
    labels: isOwn ? { ...labels } : {},
  }
}

const shape = shapeOf<Deny>({
  columns: {
    lastSeenAt: dateTime('Last seen', { isFiltered: false }),
    direction: enumeration('Direction', DIRECTIONS, { isSorted: false }),
    protocol: text('Protocol', { isSorted: false }),
    port: number('Port', { isSorted: false }),
    reason: enumeration('Reason', DENY_REASONS, { isSorted: false }),
  },
  sort: '-lastSeenAt',
})

async function list(context: Context<'boundaryId', Query>) {
  const { direction } = context.query
  const { window, contents, flowsByCluster, reason } = await listObservedFlows(context, context.query)
  const rows = flowsByCluster
    .flatMap(({ cluster, flows }) => groupDenies(cluster.id, flows).map((denied) => denyDto(denied, cluster, contents)))
    .filter((row) => direction === undefined || row.direction === direction)
  const { rows: items, pagination } = applyListRequest(rows, context.list, shape)
  return ok({ items: [...items], pagination, ...shownWindow(window, reason) })
}

const SAMPLES = 20
const RETENTION_WINDOW = '7d'

/** @throws PlatformError NOT_FOUND, also if its flows are no longer stored */
async function read(context: Context<'boundaryId' | 'denyId'>) {
  const { denyId } = context.parameters
  const { contents, flowsByCluster } = await listObservedFlows(context, { window: RETENTION_WINDOW })
  for (const { cluster, flows } of flowsByCluster) {
    const denied = groupDenies(cluster.id, flows).find(({ id }) => id === denyId)
    if (denied === undefined) continue
    const samples = denied.flows.slice(-SAMPLES).reverse()
    return ok({
      ...denyDto(denied, cluster, contents),
      samples: samples.map(({ time, from, to, nodeName }) => ({
        timestamp: timestamp(time),
        fromIp: from.ipAddress ?? '',
        toIp: to.ipAddress ?? '',
        nodeName,
      })),
      suggestion: null,
    })
  }
  throw notFound(`Deny "${denyId.slice(0, 64)}"`)
}

const auth = action('boundaries/network/read')

export const denyRoutes = [
  route('GET', '{B}/network/denies', {
    auth,
    summary: 'Denied connections, the newest first',
    query: DeniesQuery,
    list: shape as never,
    unfollowed: 'the flows that the network has seen',
    reply: pagedListOf(NetworkDenyDto).extend(windowFields).meta({ id: 'PagedListResponseOfNetworkDenies' }),
    handler: list as never,
  }),
  route('GET', '{B}/network/denies/{denyId}', {
    auth,
    summary: 'Denied connections of one kind',
    reply: NetworkDenyDetailDto,
    handler: read as never,
  }),
]
