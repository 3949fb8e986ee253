import type { KubeObject } from '../../../core/object.ts'
import { type Addresses, intersectRanges, parseNetworks, subtractRanges, uniteRanges } from './addresses.ts'
import {
  bestMatch,
  type ConnectionQuestion,
  type Direction,
  type End,
  type MatchResult,
  namedPortMatches,
  type Pod,
  type PolicyMatch,
  type RuleMatch,
  textOf,
} from './question.ts'
import { type Selector, selectorMatchesLabels } from './selectors.ts'

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

export function selectsPod({ metadata, spec = {} }: NetworkPolicy, pod: Pod): boolean {
  return metadata.namespace === pod.namespace && selectorMatchesLabels(spec.podSelector ?? {}, pod.labels)
}

/** Returns what a policy says about traffic of the pod; undefined if it does not apply. */
export function readNetworkPolicy(
  policy: NetworkPolicy,
  pod: Pod,
  direction: Direction,
  question: ConnectionQuestion,
): PolicyMatch | undefined {
  const { metadata, spec = {} } = policy
  if (!selectsPod(policy, pod)) return undefined
  if (!directionsOf(policy).includes(direction)) return undefined
  const ref = { kind: 'NetworkPolicy', namespace: pod.namespace, name: metadata.name } as const
  const rules = (spec[direction] ?? []).map((rule, ruleIndex): RuleMatch => {
    const other = direction === 'ingress' ? question.from : question.to
    const peers = direction === 'ingress' ? rule.from : rule.to
    const ports = portsFit(rule.ports, question)
    const covers = peersCover(peers, other, pod.namespace, question)
    const noMatch = { rule: { ...ref, ruleIndex, effect: 'Allow', text: textOf(rule) }, covers: [] } as const
    if (ports === false || covers.length === 0) return noMatch
    if (ports !== true) return { ...noMatch, uncertainty: ports.uncertainty }
    const isByAddress = other.kind === 'pod' && peersCover(peers, other, pod.namespace, POD_LABELS_ONLY).length === 0
    return { ...noMatch, covers, ...(isByAddress && { note: IP_BLOCK_NOTE }) }
  })
  return { policy: ref, isolates: true, rules }
}

const POD_LABELS_ONLY = { blocksTakePods: false }
const IP_BLOCK_NOTE = 'An address block selects these pods by their addresses, which not every network plugin supports.'

/** Returns the directions that a policy isolates. Without `policyTypes`: ingress, and egress if it has egress rules. */
export function directionsOf({ spec = {} }: Pick<NetworkPolicy, 'spec'>): Direction[] {
  const types = spec.policyTypes ?? []
  if (types.length === 0) return spec.egress === undefined ? ['ingress'] : ['ingress', 'egress']
  return (['ingress', 'egress'] as const).filter((each) => types.some((type) => type.toLowerCase() === each))
}

function portsFit(ports: readonly Port[] = [], question: ConnectionQuestion): MatchResult {
  if (ports.length === 0) return true
  return bestMatch(
    ports.map(({ port, endPort, protocol = 'TCP' }): MatchResult => {
      if (protocol !== question.protocol) return false
      if (port === undefined) return true
      if (typeof port === 'string') return namedPortMatches(port, question)
      return question.port >= port && question.port <= (endPort ?? port)
    }),
  )
}

/** Returns the part of the other end that the peers of a rule match. No peers match everybody. */
function peersCover(
  peers: readonly Peer[] | undefined,
  other: End,
  policyNamespace: string,
  { blocksTakePods }: Pick<ConnectionQuestion, 'blocksTakePods'>,
): Addresses {
  if (peers === undefined || peers.length === 0) return other.addresses
  const covers = peers.map(({ ipBlock, podSelector, namespaceSelector }): Addresses => {
    if (ipBlock !== undefined) {
      if (other.kind === 'pod' && !blocksTakePods) return []
      return intersectRanges(
        other.addresses,
        subtractRanges(parseNetworks(ipBlock.cidr ?? ''), parseNetworks(...(ipBlock.except ?? []))),
      )
    }
    if (other.kind !== 'pod' || (podSelector === undefined && namespaceSelector === undefined)) return []
    const isThere =
      namespaceSelector === undefined
        ? other.namespace === policyNamespace
        : selectorMatchesLabels(namespaceSelector, other.namespaceLabels)
    return isThere && selectorMatchesLabels(podSelector ?? {}, other.labels) ? other.addresses : []
  })
  return uniteRanges(covers.flat())
}
