import type { KubeObject } from '../../../core/object.ts'
import { matchesWildcard } from '../../../core/wildcard.ts'
import {
  type Addresses,
  IPV4,
  IPV6,
  intersectRanges,
  parseNetwork,
  parseNetworks,
  subtractRanges,
  uniteRanges,
} from './addresses.ts'
import {
  bestMatch,
  type ConnectionQuestion,
  type Direction,
  type End,
  type MatchResult,
  namedPortMatches,
  type Pod,
  type PolicyKind,
  type PolicyMatch,
  type RuleMatch,
  textOf,
} from './question.ts'
import { type Selector, selects, usesLabel } from './selectors.ts'

type CidrSet = { cidr?: string; except?: readonly string[] }
type PortRule = {
  ports?: readonly { port?: string; endPort?: number; protocol?: string }[]
  rules?: Readonly<Record<string, unknown>>
}
type Fqdn = { matchName?: string; matchPattern?: string }
/** A rule of either direction: peer fields start with `from` for ingress and with `to` for egress. */
type CiliumRule = { toPorts?: readonly PortRule[]; toFQDNs?: readonly Fqdn[]; icmps?: readonly unknown[] } & {
  [field: string]: unknown
}
type Spec = {
  endpointSelector?: Selector
  enableDefaultDeny?: { ingress?: boolean; egress?: boolean }
  ingress?: readonly CiliumRule[]
  ingressDeny?: readonly CiliumRule[]
  egress?: readonly CiliumRule[]
  egressDeny?: readonly CiliumRule[]
}

/** A CiliumNetworkPolicy or CiliumClusterwideNetworkPolicy (cilium.io/v2). */
export type CiliumPolicy = KubeObject & { spec?: Spec; specs?: readonly Spec[] }

/** Returns what each spec of a policy says about traffic of the pod; specs that do not select it say nothing. */
export function readCiliumPolicy(
  policy: CiliumPolicy,
  pod: Pod,
  direction: Direction,
  question: ConnectionQuestion,
): PolicyMatch[] {
  const { namespace, name } = policy.metadata
  const kind: PolicyKind = namespace === undefined ? 'CiliumClusterwideNetworkPolicy' : 'CiliumNetworkPolicy'
  if (namespace !== undefined && namespace !== pod.namespace) return []
  const ref = { kind, namespace: namespace ?? null, name }
  const specs = [...(policy.spec === undefined ? [] : [policy.spec]), ...(policy.specs ?? [])]
  let [allows, denies] = [0, 0]
  return specs.flatMap((spec): PolicyMatch[] => {
    const [allow = [], deny = []] = [spec[direction], spec[`${direction}Deny`]]
    const [firstAllow, firstDeny] = [allows, denies]
    allows += allow.length
    denies += deny.length
    // A spec without an endpoint selector applies to nodes.
    if (spec.endpointSelector === undefined || !selectsPod(spec.endpointSelector, pod, undefined)) return []
    const matchOf = (rule: CiliumRule, ruleIndex: number, effect: 'Allow' | 'Deny'): RuleMatch => ({
      rule: { ...ref, ruleIndex, effect, text: textOf(rule) },
      ...evaluateRule(rule, direction, namespace, question),
    })
    return [
      {
        policy: ref,
        // An empty rule allows nothing but still isolates.
        isolates: spec.enableDefaultDeny?.[direction] ?? allow.length + deny.length > 0,
        rules: [
          ...deny.map((rule, index) => matchOf(rule, firstDeny + index, 'Deny')),
          ...allow.map((rule, index) => matchOf(rule, firstAllow + index, 'Allow')),
        ],
      },
    ]
  })
}

function evaluateRule(
  rule: CiliumRule,
  direction: Direction,
  policyNamespace: string | undefined,
  question: ConnectionQuestion,
) {
  const other = direction === 'ingress' ? question.from : question.to
  const ports = portsFit(rule, question)
  if (ports === false) return { covers: [] }
  const { covers, uncertainty } = peersCover(rule, direction === 'ingress' ? 'from' : 'to', policyNamespace, other)
  if (ports !== true) return { covers: [], uncertainty: covers.length > 0 ? ports.uncertainty : uncertainty }
  const note = rule.toPorts?.some(({ rules }) => rules !== undefined)
    ? 'A rule also inspects requests; which of them pass is not evaluated.'
    : undefined
  return { covers, uncertainty: covers.length > 0 ? undefined : uncertainty, note }
}

function portsFit({ toPorts, icmps }: CiliumRule, question: ConnectionQuestion): MatchResult {
  if (toPorts === undefined || toPorts.length === 0) return icmps === undefined
  const all = toPorts.flatMap(({ ports = [] }) => (ports.length === 0 ? [{}] : ports))
  return bestMatch(
    all.map(
      ({
        port = '0',
        endPort,
        protocol = 'ANY',
      }: {
        port?: string
        endPort?: number
        protocol?: string
      }): MatchResult => {
        if (protocol.toUpperCase() !== 'ANY' && protocol.toUpperCase() !== question.protocol) return false
        if (!/^[0-9]+$/.test(port)) return namedPortMatches(port, question)
        const first = Number(port)
        return first === 0 || (question.port >= first && question.port <= (endPort ?? first))
      },
    ),
  )
}

/** Peer fields that cannot be resolved here. */
const UNSUPPORTED_PEERS = ['Requires', 'Groups', 'Nodes', 'Services'] as const

function peersCover(
  rule: CiliumRule,
  side: 'from' | 'to',
  policyNamespace: string | undefined,
  other: End,
): { covers: Addresses; uncertainty?: string | undefined } {
  const list = <T>(field: string) => rule[`${side}${field}`] as readonly T[] | undefined
  const named = Object.keys(rule).filter((field) => field.startsWith(side) && field !== 'toPorts')
  // A rule with ports but no peers matches everybody; an empty rule nobody.
  if (named.length === 0) return { covers: rule.toPorts === undefined ? [] : other.addresses }
  const covers: Addresses[] = []
  const reasons: string[] = []
  if (other.kind === 'pod') {
    const isOne = list<Selector>('Endpoints')?.some((selector) => selectsPod(selector, other, policyNamespace))
    if (isOne === true) covers.push(other.addresses)
  } else covers.push(intersectRanges(other.addresses, cidrAddresses(list<string>('CIDR'), list<CidrSet>('CIDRSet'))))
  for (const entity of list<string>('Entities') ?? []) {
    const found = entityCovers(entity, other)
    if (typeof found === 'string') reasons.push(found)
    else covers.push(found)
  }
  const name = fqdnCovers(rule.toFQDNs ?? [], other)
  if (typeof name === 'string') reasons.push(name)
  else covers.push(name)
  const unknown = UNSUPPORTED_PEERS.map((field) => `${side}${field}`).find((field) => rule[field] !== undefined)
  if (unknown !== undefined) reasons.push(`It selects others by ${unknown}, which is not resolved.`)
  const hasUnresolvedGroup = list<CidrSet>('CIDRSet')?.some(({ cidr }) => cidr === undefined)
  if (hasUnresolvedGroup === true && other.kind !== 'pod')
    reasons.push('It names a group of addresses, which is not resolved.')
  return { covers: uniteRanges(covers.flat()), uncertainty: reasons[0] }
}

function cidrAddresses(cidrs: readonly string[] = [], sets: readonly CidrSet[] = []): Addresses {
  const whole = parseNetworks(...cidrs)
  const blocks = sets.flatMap(({ cidr, except = [] }) => {
    const block = cidr === undefined ? undefined : parseNetwork(cidr)
    return block === undefined ? [] : subtractRanges([block], parseNetworks(...except))
  })
  return uniteRanges([...whole, ...blocks])
}

/** Returns the part of the other end that belongs to an entity, or why this is unknown. */
function entityCovers(entity: string, other: End): Addresses | string {
  const isPod = other.kind === 'pod'
  switch (entity) {
    case 'all':
      return other.addresses
    case 'world':
      return isPod ? [] : other.addresses
    case 'world-ipv4':
      return isPod ? [] : intersectRanges(other.addresses, IPV4)
    case 'world-ipv6':
      return isPod ? [] : intersectRanges(other.addresses, IPV6)
    case 'none':
      return []
    default: {
      if (isPod) return entity === 'cluster' ? other.addresses : []
      // These entities are nodes of the cluster and what runs on them.
      const mayBeNode = other.kind === 'host' || (other.kind === 'outside' && !other.isInternet)
      return mayBeNode ? `It names the entity "${entity}", whose addresses are not known here.` : []
    }
  }
}

function fqdnCovers(names: readonly Fqdn[], other: End): Addresses | string {
  if (names.length === 0 || other.kind === 'pod') return []
  if (other.kind === 'outside') return 'It names hosts, whose addresses are not known here.'
  return names.some((name) => matchesFqdn(name, other.host)) ? other.addresses : []
}

const normalizeHost = (name: string) => name.toLowerCase().replace(/\.$/, '')

/** `*` matches any characters except a dot; alone, it matches every name. */
function matchesFqdn({ matchName, matchPattern }: Fqdn, host: string): boolean {
  if (matchName !== undefined && normalizeHost(matchName) === normalizeHost(host)) return true
  if (matchPattern === undefined) return false
  if (matchPattern === '*') return true
  const [wanted, given] = [normalizeHost(matchPattern).split('.'), normalizeHost(host).split('.')]
  return wanted.length === given.length && wanted.every((part, index) => matchesWildcard(part, given[index] ?? ''))
}

const NAMESPACE = 'io.kubernetes.pod.namespace'
const NAMESPACE_LABELS = 'io.cilium.k8s.namespace.labels.'
const SERVICE_ACCOUNT = 'io.cilium.k8s.policy.serviceaccount'
const CLUSTER = 'io.cilium.k8s.policy.cluster'
const bareKey = (key: string) => key.replace(/^(k8s|any):/, '')

/** Returns the pod as part of a cluster with this name in Cilium. */
export function inCluster(pod: Pod, name: string): Pod {
  return { ...pod, labels: { ...pod.labels, [CLUSTER]: name } }
}

/** Returns the cluster names by which policies select. */
export function clustersNamed(part: unknown): string[] {
  if (typeof part !== 'object' || part === null) return []
  const { key, values } = part as { key?: unknown; values?: unknown }
  if (typeof key === 'string' && bareKey(key) === CLUSTER) return Array.isArray(values) ? values.map(String) : []
  return Object.entries(part).flatMap(([name, inner]) =>
    typeof inner === 'string' && bareKey(name) === CLUSTER ? [inner] : clustersNamed(inner),
  )
}

/** @param policyNamespace the namespace that applies if the selector names none; undefined for any */
function selectsPod(selector: Selector, pod: Pod, policyNamespace: string | undefined): boolean {
  const namesNamespace = usesLabel(
    selector,
    (key) => bareKey(key) === NAMESPACE || bareKey(key).startsWith(NAMESPACE_LABELS),
  )
  if (policyNamespace !== undefined && !namesNamespace && pod.namespace !== policyNamespace) return false
  return selects(selector, (key) => {
    const label = bareKey(key)
    if (label === NAMESPACE) return pod.namespace
    if (label === SERVICE_ACCOUNT) return pod.serviceAccount ?? 'default'
    const [labels, name] = label.startsWith(NAMESPACE_LABELS)
      ? [pod.namespaceLabels, label.slice(NAMESPACE_LABELS.length)]
      : [pod.labels, label]
    return Object.hasOwn(labels, name) ? labels[name] : undefined
  })
}
