import { isOwnedBy } from '../../contracts/workloads.ts'
import { OWNER_KIND_LABEL, OWNER_NAME_LABEL } from '../../core/labels.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { GroupResource } from '../resources/contents.ts'
import type { Group } from './flows.ts'
import type { NetworkPolicy, Peer, PolicyRule } from './policy/kubernetes.ts'
import { type Selector, selects } from './policy/selectors.ts'

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

type BoundaryContents = { readonly groups: readonly Group[]; readonly resources: readonly GroupResource[] }

export function listDeclaredEdges(policies: readonly NetworkPolicy[], contents: BoundaryContents): DeclaredEdge[] {
  return policies.flatMap((policy) => {
    const group = contents.groups.find(({ namespace }) => namespace === policy.metadata.namespace)
    if (group === undefined) return []
    const self = subjectOf(policy, group, contents.resources)
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

/** Returns the subject of a policy: the resource that owns it, or else the whole group. */
function subjectOf({ metadata }: NetworkPolicy, group: Group, resources: readonly GroupResource[]): string {
  const owner = resources.find(
    ({ kind, object, resourceGroup }) =>
      resourceGroup === group.name && isOwnedBy(metadata, kind.kind, object.metadata.name),
  )
  return owner === undefined ? groupNode(group.name) : resourceNode(owner)
}

function peersOf(peers: readonly Peer[] | undefined, ownGroup: Group, contents: BoundaryContents): string[] {
  if (peers === undefined || peers.length === 0) return [INTERNET_NODE, CLUSTER_NODE]
  const found = peers.map(({ ipBlock, podSelector, namespaceSelector }) => {
    if (ipBlock !== undefined) return INTERNET_NODE
    if (namespaceSelector === undefined) return nodeOfSelector(podSelector, ownGroup, contents)
    const takes = (name: string) =>
      selects(namespaceSelector, (key) => (key === 'kubernetes.io/metadata.name' ? name : undefined))
    if (takes(SYSTEM_NAMESPACE)) return PLATFORM_NODE
    const group = contents.groups.find(({ namespace }) => takes(namespace))
    return group === undefined ? CLUSTER_NODE : nodeOfSelector(podSelector, group, contents)
  })
  return [...new Set(found)]
}

function nodeOfSelector(selector: Selector | undefined, group: Group, { resources }: BoundaryContents): string {
  const { [OWNER_KIND_LABEL]: kind, [OWNER_NAME_LABEL]: name } = selector?.matchLabels ?? {}
  const found = resources.find(
    (each) => each.resourceGroup === group.name && each.kind.kind === kind && each.object.metadata.name === name,
  )
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
  { resources }: BoundaryContents,
  declared: readonly DeclaredEdge[],
): (DeclaredEdge & { isAllowed: boolean })[] {
  return resources.flatMap((consumer) => {
    const spec = consumer.object.spec as ReferringSpec
    const outputs = [spec, ...(spec.components ?? [])].flatMap(outputsOf)
    const targets = outputs.flatMap(
      ({ collection, name }) =>
        resources.find(
          (each) =>
            each.resourceGroup === consumer.resourceGroup &&
            each.kind.segment === collection &&
            each.object.metadata.name === name,
        ) ?? [],
    )
    return [...new Set(targets)].flatMap((target): (DeclaredEdge & { isAllowed: boolean })[] => {
      const ends = { sourceId: resourceNode(consumer), targetId: resourceNode(target) }
      const open = declared.filter(
        ({ sourceId, targetId }) => targetId === ends.targetId && sourceId === groupNode(consumer.resourceGroup),
      )
      if (open.length === 0) return [{ ...ends, protocol: 'Any', port: 0, isAllowed: false }]
      return open.map(({ protocol, port }) => ({ ...ends, protocol, port, isAllowed: true }))
    })
  })
}
