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
import { listObservedFlows, NODE_KINDS } from './denies.ts'
import { type KnownEnd, knownEnd } from './flows.ts'
import type { NetworkPolicy, Peer, PolicyRule } from './policy/kubernetes.ts'
import { selects } from './policy/selectors.ts'
import type { Group, Labels, VisibleContents } from './visibleContents.ts'
import { shownWindow, WindowQuery, windowFields } from './window.ts'

/** Pure: connections that policies allow, as edges between nodes of a boundary. */

/** An edge; protocol `Any` and port 0 stand for all. */
type DeclaredEdge = {
  readonly sourceId: string
  readonly targetId: string
  readonly protocol: string
  readonly port: number
}

const PLATFORM_NODE = 'platform'
const CLUSTER_NODE = 'cluster'
const INTERNET_NODE = 'internet'
const groupNode = (name: string) => `group:${name}`
const resourceNode = ({ kind, object, resourceGroup }: GroupResource) =>
  `resource:${resourceGroup}/${kind.segment}/${object.metadata.name}`

export function listDeclaredEdges(policies: readonly NetworkPolicy[], contents: VisibleContents): DeclaredEdge[] {
  return policies.flatMap((policy) => {
    const group = contents.groupOfNamespace(policy.metadata.namespace)
    if (group === undefined) return []
    const self = nodeOfOwner(policy.metadata.labels, group, contents)
    const edges = (rules: readonly PolicyRule[] = [], side: 'from' | 'to') =>
      rules.flatMap((rule) =>
        peersOf(rule[side], group, contents).flatMap((other) =>
          portsOf(rule).map((port) => {
            const [sourceId, targetId] = side === 'from' ? [other, self] : [self, other]
            return { sourceId, targetId, ...port }
          }),
        ),
      )
    return [...edges(policy.spec?.ingress, 'from'), ...edges(policy.spec?.egress, 'to')].filter(
      ({ sourceId, targetId }) => sourceId !== targetId,
    )
  })
}

function peersOf(peers: readonly Peer[] | undefined, ownGroup: Group, contents: VisibleContents): string[] {
  if (peers === undefined || peers.length === 0) return [INTERNET_NODE, CLUSTER_NODE]
  const found = peers.map(({ ipBlock, podSelector, namespaceSelector }) => {
    if (ipBlock !== undefined) return INTERNET_NODE
    if (namespaceSelector === undefined) return nodeOfOwner(podSelector?.matchLabels, ownGroup, contents)
    const takes = (name: string) =>
      selects(namespaceSelector, (key) => (key === 'kubernetes.io/metadata.name' ? name : undefined))
    if (takes(SYSTEM_NAMESPACE)) return PLATFORM_NODE
    const named = namespaceSelector.matchLabels?.['kubernetes.io/metadata.name']
    const candidates = named === undefined ? contents.groups : [contents.groupOfNamespace(named) ?? []].flat()
    const group = candidates.find(({ namespace }) => takes(namespace))
    return group === undefined ? CLUSTER_NODE : nodeOfOwner(podSelector?.matchLabels, group, contents)
  })
  return [...new Set(found)]
}

/** Returns the resource that labels name, or else the whole group. */
function nodeOfOwner(labels: Labels, group: Group, contents: VisibleContents): string {
  const found = contents.ownerIn(group, labels)
  return found === undefined ? groupNode(group.name) : resourceNode(found)
}

function portsOf({ ports = [] }: PolicyRule): { protocol: string; port: number }[] {
  if (ports.length === 0) return [{ protocol: 'Any', port: 0 }]
  return ports.map(({ port, protocol = 'TCP' }) => ({
    protocol: `${protocol.slice(0, 1)}${protocol.slice(1).toLowerCase()}`,
    port: typeof port === 'number' ? port : 0,
  }))
}

type ReferringSpec = Variables & { components?: readonly Variables[] }
/** Unknown, because other kinds use `env` differently (a job has a map of values) and refer to no resource with it. */
type Variables = { env?: unknown }
type Variable = { output?: { collection: string; name: string } }

const outputsOf = ({ env }: Variables) =>
  Array.isArray(env) ? (env as Variable[]).flatMap(({ output }) => output ?? []) : []

/** Returns edges from resources to those they refer to, on each port that the target opens to its group. */
export function listReferenceEdges(
  { resources, findResource }: VisibleContents,
  declared: readonly DeclaredEdge[],
): (DeclaredEdge & { isAllowed: boolean })[] {
  const openings = Map.groupBy(declared, endsKey)
  return resources.flatMap((consumer) => {
    const { resourceGroup, object } = consumer
    const spec = object.spec as ReferringSpec
    const outputs = [spec, ...(spec.components ?? [])].flatMap(outputsOf)
    const targets = outputs.flatMap(({ collection, name }) => findResource(resourceGroup, collection, name) ?? [])
    return [...new Set(targets)].flatMap((target): (DeclaredEdge & { isAllowed: boolean })[] => {
      const ends = { sourceId: resourceNode(consumer), targetId: resourceNode(target) }
      const open = openings.get(endsKey({ ...ends, sourceId: groupNode(resourceGroup) })) ?? []
      if (open.length === 0) return [{ ...ends, protocol: 'Any', port: 0, isAllowed: false }]
      return open.map(({ protocol, port }) => ({ ...ends, protocol, port, isAllowed: true }))
    })
  })
}

const endsKey = ({ sourceId, targetId }: Pick<DeclaredEdge, 'sourceId' | 'targetId'>) => `${sourceId}>${targetId}`

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
