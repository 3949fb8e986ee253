import { z } from 'zod'
import type { Flow } from '../../adapters/flows/port.ts'
import { timestamp } from '../../core/clock.ts'
import { objectId } from '../../core/ids.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { compareTexts } from '../../core/textOrder.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { action, route } from '../http/route.ts'
import type { GroupResource } from '../resources/contents.ts'
import { DateTime, Uuid } from '../resources/dto.ts'
import { recordStatusOf } from '../resources/resourceShape.ts'
import {
  CLUSTER_NODE,
  groupNode,
  INTERNET_NODE,
  listDeclaredEdges,
  listReferenceEdges,
  PLATFORM_NODE,
  resourceNode,
} from './declaredEdges.ts'
import { listObservedFlows, NODE_KINDS } from './denies.ts'
import { type KnownEnd, knownEnd } from './flows.ts'
import type { NetworkPolicy } from './policy/kubernetes.ts'
import type { VisibleContents } from './visibleContents.ts'
import { shownWindow, WindowQuery, windowFields } from './window.ts'

const NetworkNode = namedRecord('NetworkNode', {
  id: z.string(),
  kind: z.enum(NODE_KINDS),
  name: z.string(),
  resourceGroup: z.string().nullable(),
  collection: z.string().nullable(),
  resourceId: Uuid.nullable(),
  status: z.string().nullable(),
})
const NetworkEdge = namedRecord('NetworkEdge', {
  id: z.string(),
  sourceId: z.string(),
  targetId: z.string(),
  protocol: z.string().describe('Any: every protocol'),
  port: z.int().describe('0: every port'),
  allowedCount: z.int(),
  deniedCount: z.int(),
  bytes: z.int().nullable(),
  requestsPerSecond: z.number().nullable(),
  errorRatio: z.number().nullable(),
  p95Milliseconds: z.number().nullable(),
  lastSeenAt: DateTime.nullable().describe('Null if no connection was seen'),
  isDeclared: z.boolean().describe('Whether some rule allows it'),
})
type Edge = z.output<typeof NetworkEdge>
const NetworkGraphDto = namedRecord('NetworkGraphDto', {
  ...windowFields,
  nodes: z.array(NetworkNode),
  edges: z.array(NetworkEdge),
})

const GraphQuery = z.strictObject({
  resourceGroup: z.string().min(1).max(52).optional().describe('Only this group, and what it has to do with'),
  ...WindowQuery,
})

const NODES_MAX = 500
const EDGES_MAX = 2000

async function graph(context: Context<'boundaryId', z.output<typeof GraphQuery>>) {
  const { window, contents, clusters, flowsByCluster, reason } = await listObservedFlows(context, context.query)
  const isOfHidden = ({ metadata }: NetworkPolicy) => {
    const group = contents.groupOfNamespace(metadata.namespace)
    return group !== undefined && contents.isHiddenIn(group, metadata.labels)
  }
  const policies = clusters
    .flatMap(({ seen }) => (typeof seen === 'string' ? [] : seen.policies.kubernetes))
    .filter((policy) => !isOfHidden(policy))
  const edges = new Map<string, Edge>()
  const declared = listDeclaredEdges(policies, contents)
  for (const each of declared) add(edges, each, true)
  // Edges of other nodes are not shown.
  const consumers = contents.resources.toSorted(byNode).slice(0, NODES_MAX)
  for (const { isAllowed, ...each } of listReferenceEdges({ ...contents, resources: consumers }, declared))
    add(edges, each, isAllowed)
  for (const flow of flowsByCluster.flatMap(({ flows }) => flows)) count(edges, flow, contents)
  const nodes = nodesOf(contents, [...edges.values()]).sort(byId)
  const shown = nodes.slice(0, NODES_MAX)
  const ids = new Set(shown.map(({ id }) => id))
  const kept = [...edges.values()].filter(({ sourceId, targetId }) => ids.has(sourceId) && ids.has(targetId))
  const isCut = nodes.length > NODES_MAX || kept.length > EDGES_MAX
  const why = isCut ? `Only the first ${NODES_MAX} nodes and ${EDGES_MAX} edges of the graph are shown.` : undefined
  const reasons = [reason, why].filter((each) => each !== undefined)
  return ok({
    ...shownWindow(window, reasons.length === 0 ? undefined : reasons.join(' ')),
    nodes: shown,
    edges: kept.sort(byId).slice(0, EDGES_MAX),
  })
}

/** Caches list in the order in which they learned, which differs between replicas. */
const byId = (one: { id: string }, other: { id: string }) => compareTexts(one.id, other.id)

const byNode = (one: GroupResource, other: GroupResource) =>
  byId({ id: resourceNode(one) }, { id: resourceNode(other) })

type Ends = Pick<Edge, 'sourceId' | 'targetId' | 'protocol' | 'port'>

/** Returns the edge between these ends, creating it if needed. */
function add(edges: Map<string, Edge>, { sourceId, targetId, protocol, port }: Ends, isDeclared: boolean): Edge {
  const id = `${sourceId}>${targetId}:${protocol}/${port}`
  const known = edges.get(id)
  if (known !== undefined && (known.isDeclared || !isDeclared)) return known
  const nothing = { bytes: null, requestsPerSecond: null, errorRatio: null, p95Milliseconds: null, lastSeenAt: null }
  const edge = { ...{ id, sourceId, targetId, protocol, port, allowedCount: 0, deniedCount: 0 }, ...nothing }
  edges.set(id, { ...edge, ...known, isDeclared })
  return edges.get(id) as Edge
}

function count(edges: Map<string, Edge>, flow: Flow, contents: VisibleContents): void {
  const [sourceId, targetId] = [flow.from, flow.to].map((end) => nodeOf(knownEnd(end, contents, SYSTEM_NAMESPACE))) as [
    string,
    string,
  ]
  const edge = add(edges, { sourceId, targetId, protocol: flow.protocol, port: flow.port }, false)
  const isAllowed = flow.denied === undefined
  edge.allowedCount += isAllowed ? 1 : 0
  edge.deniedCount += isAllowed ? 0 : 1
  edge.lastSeenAt = timestamp(flow.time)
}

function nodeOf({ kind, group, resource }: KnownEnd): string {
  if (resource !== undefined) return resourceNode(resource)
  if (group !== undefined) return groupNode(group)
  return kind === 'Platform' ? PLATFORM_NODE : kind === 'Cluster' ? CLUSTER_NODE : INTERNET_NODE
}

/** Returns all nodes of the boundary, and others only if an edge leads to them. */
function nodesOf({ groups, resources }: VisibleContents, edges: readonly Edge[]): z.output<typeof NetworkNode>[] {
  const none = { resourceGroup: null, collection: null, resourceId: null, status: null }
  const used = new Set(edges.flatMap(({ sourceId, targetId }) => [sourceId, targetId]))
  const others = [
    { id: PLATFORM_NODE, kind: 'Platform', name: 'Platform' },
    { id: CLUSTER_NODE, kind: 'Cluster', name: 'Cluster' },
    { id: INTERNET_NODE, kind: 'Internet', name: 'Internet' },
  ] as const
  return [
    ...others.filter(({ id }) => used.has(id)).map((node) => ({ ...none, ...node })),
    ...groups.map(({ name }) => {
      const id = groupNode(name)
      return { ...none, id, kind: 'Group', name, resourceGroup: name } as const
    }),
    ...resources.map((resource) => {
      const { kind, object, resourceGroup } = resource
      const { name } = object.metadata
      return {
        id: resourceNode(resource),
        kind: 'Resource',
        name,
        resourceGroup,
        collection: kind.segment,
        resourceId: objectId(kind.resource, object.metadata),
        status: recordStatusOf(object),
      } as const
    }),
  ]
}

export const graphRoute = route('GET', '{B}/network/graph', {
  auth: action('boundaries/network/read'),
  summary: 'What connects to what, by rules and references, and as observed',
  query: GraphQuery,
  reply: NetworkGraphDto,
  handler: graph as never,
})
