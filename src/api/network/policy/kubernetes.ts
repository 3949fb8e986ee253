import type { KubeObject } from '../../../core/object.ts'
import { type Addresses, common, networks, union, without } from './addresses.ts'
import {
  anyFit,
  type Direction,
  type End,
  type Fit,
  type Judged,
  namedPortFits,
  type Pod,
  type Question,
  type Reading,
  textOf,
} from './question.ts'
import { labelsTaken, type Selector } from './selectors.ts'

export type Peer = {
  podSelector?: Selector
  namespaceSelector?: Selector
  ipBlock?: { cidr?: string; except?: readonly string[] }
}
type Port = { port?: number | string; endPort?: number; protocol?: string }
export type PolicyRule = { from?: readonly Peer[]; to?: readonly Peer[]; ports?: readonly Port[] }

/** A NetworkPolicy of Kubernetes (networking.k8s.io/v1). */
export type NetworkPolicy = KubeObject & {
  spec?: {
    podSelector?: Selector
    policyTypes?: readonly string[]
    ingress?: readonly PolicyRule[]
    egress?: readonly PolicyRule[]
  }
}

/** Returns what a policy says about traffic of the pod; undefined if it does not apply. */
export function readNetworkPolicy(
  policy: NetworkPolicy,
  pod: Pod,
  direction: Direction,
  question: Question,
): Reading | undefined {
  const { metadata, spec = {} } = policy
  if (metadata.namespace !== pod.namespace || !labelsTaken(spec.podSelector ?? {}, pod.labels)) return undefined
  if (!directionsOf(policy).includes(direction)) return undefined
  const ref = { kind: 'NetworkPolicy', namespace: metadata.namespace, name: metadata.name } as const
  const rules = (spec[direction] ?? []).map((rule, ruleIndex): Judged => {
    const other = direction === 'ingress' ? question.from : question.to
    const peers = direction === 'ingress' ? rule.from : rule.to
    const ports = portsFit(rule.ports, question)
    const covers = peersCover(peers, other, pod.namespace, question)
    const judged = { rule: { ...ref, ruleIndex, effect: 'Allow', text: textOf(rule) }, covers: [] } as const
    if (ports === false || covers.length === 0) return judged
    if (ports !== true) return { ...judged, doubt: ports.doubt }
    const isByAddress = other.kind === 'pod' && peersCover(peers, other, pod.namespace, LABELS_ALONE).length === 0
    return { ...judged, covers, ...(isByAddress && { note: BY_ADDRESS }) }
  })
  return { policy: ref, isolates: true, rules }
}

const LABELS_ALONE = { blocksTakePods: false }
const BY_ADDRESS = 'An address block selects these pods by their addresses, which not every network plugin supports.'

/** Returns the directions that a policy isolates. Without `policyTypes`: ingress, and egress if it has egress rules. */
export function directionsOf({ spec = {} }: Pick<NetworkPolicy, 'spec'>): Direction[] {
  const types = spec.policyTypes ?? []
  if (types.length === 0) return spec.egress === undefined ? ['ingress'] : ['ingress', 'egress']
  return (['ingress', 'egress'] as const).filter((each) => types.some((type) => type.toLowerCase() === each))
}

function portsFit(ports: readonly Port[] = [], question: Question): Fit {
  if (ports.length === 0) return true
  return anyFit(
    ports.map(({ port, endPort, protocol = 'TCP' }): Fit => {
      if (protocol !== question.protocol) return false
      if (port === undefined) return true
      if (typeof port === 'string') return namedPortFits(port, question)
      return question.port >= port && question.port <= (endPort ?? port)
    }),
  )
}

/** Returns the part of the other end that the peers of a rule match. No peers match everybody. */
function peersCover(
  peers: readonly Peer[] | undefined,
  other: End,
  home: string,
  { blocksTakePods }: Pick<Question, 'blocksTakePods'>,
): Addresses {
  if (peers === undefined || peers.length === 0) return other.addresses
  const covers = peers.map(({ ipBlock, podSelector, namespaceSelector }): Addresses => {
    if (ipBlock !== undefined) {
      if (other.kind === 'pod' && !blocksTakePods) return []
      return common(other.addresses, without(networks(ipBlock.cidr ?? ''), networks(...(ipBlock.except ?? []))))
    }
    if (other.kind !== 'pod' || (podSelector === undefined && namespaceSelector === undefined)) return []
    const isThere =
      namespaceSelector === undefined ? other.namespace === home : labelsTaken(namespaceSelector, other.namespaceLabels)
    return isThere && labelsTaken(podSelector ?? {}, other.labels) ? other.addresses : []
  })
  return union(covers.flat())
}
