import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { GroupResource } from '../resources/contents.ts'
import type { NetworkPolicy, Peer, PolicyRule } from './policy/kubernetes.ts'
import { selects } from './policy/selectors.ts'
import type { Group, Labels, VisibleContents } from './visibleContents.ts'

/** Pure: connections that policies allow, as edges between nodes of a boundary. */

/** An edge; protocol `Any` and port 0 stand for all. */
export type DeclaredEdge = {
  readonly sourceId: string
  readonly targetId: string
  readonly protocol: string
  readonly port: number
}

export const PLATFORM_NODE = 'platform'
export const CLUSTER_NODE = 'cluster'
export const INTERNET_NODE = 'internet'
export const groupNode = (name: string) => `group:${name}`
export const resourceNode = ({ kind, object, resourceGroup }: GroupResource) =>
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
