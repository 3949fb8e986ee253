import type { KubeObject } from '../../src/core/object.ts'
import { POD_RANGE } from './addresses.ts'

type Labels = Readonly<Record<string, string>>
type Selector = {
  readonly matchLabels?: Labels
  readonly matchExpressions?: readonly { key: string; operator: string; values?: readonly string[] }[]
}
type Peer = {
  readonly ipBlock?: { cidr: string; except?: readonly string[] }
  readonly namespaceSelector?: Selector
  readonly podSelector?: Selector
}
type Port = { readonly protocol?: string; readonly port?: number | string; readonly endPort?: number }
type Rule = { readonly from?: readonly Peer[]; readonly to?: readonly Peer[]; readonly ports?: readonly Port[] }
export type NetworkPolicy = KubeObject & {
  spec: {
    podSelector?: Selector
    policyTypes?: readonly ('Ingress' | 'Egress')[]
    ingress?: readonly Rule[]
    egress?: readonly Rule[]
  }
}
export type Pod = KubeObject & {
  spec: {
    hostNetwork?: boolean
    containers?: readonly { ports?: readonly { name?: string; containerPort: number }[] }[]
  }
  status?: { phase?: string; podIP?: string }
}
export type Cluster = {
  readonly policies: readonly NetworkPolicy[]
  readonly pods: readonly Pod[]
  readonly namespaces: readonly KubeObject[]
}

const DIRECTIONS = [
  { type: 'Ingress', prefix: 'to', mine: 'daddr', theirs: 'saddr' },
  { type: 'Egress', prefix: 'from', mine: 'saddr', theirs: 'daddr' },
] as const
type Direction = (typeof DIRECTIONS)[number]

/**
 * Rules of nftables that enforce the NetworkPolicies of pods: one chain for each direction of each pod that a policy
 * selects, which lets pass what some policy allows and drops the rest. What the node itself begins, such as probes, is
 * never dropped, and neither are questions for names: the server of names runs on the node, not in a pod that a policy
 * could select.
 *
 * @returns a script for `nft -f` that replaces the whole table at once
 * @see https://kubernetes.io/docs/concepts/services-networking/network-policies
 */
export function rulesOf(cluster: Cluster): string {
  const running = cluster.pods.filter(isOnNetwork)
  const labels = new Map(cluster.namespaces.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]))
  const chains: string[] = []
  const jumps = { Ingress: [] as string[], Egress: [] as string[] }
  for (const pod of running) {
    for (const direction of DIRECTIONS) {
      const selecting = cluster.policies.filter((policy) => selects(policy, pod, direction))
      if (selecting.length === 0) continue
      const name = `${direction.prefix}_${addressOf(pod).replaceAll('.', '_')}`
      const allowed = selecting.flatMap((policy) => allowedBy(policy, { labels, running, pod, direction }))
      const { namespace } = pod.metadata
      const drop = `counter drop comment "${namespace}/${pod.metadata.name}"`.slice(0, 120)
      chains.push(`  chain ${name} {\n${[...new Set(allowed), drop].map((rule) => `    ${rule}\n`).join('')}  }`)
      jumps[direction.type].push(`    ip ${direction.mine} ${addressOf(pod)} jump ${name}`)
    }
  }
  const hook = (name: 'forward' | 'input', rules: readonly string[]) => {
    const head = [`    type filter hook ${name} priority -1; policy accept;`, '    ct state established,related accept']
    return `  chain ${name} {\n${[...head, ...rules].join('\n')}\n  }`
  }
  // Traffic from pods to the node, above all to the API server's address, is not forwarded traffic.
  const names = ['udp', 'tcp'].map((transport) => `    ${transport} dport 53 accept`)
  const known = running.map(addressOf)
  const [sent, received] = [dropUnknownRule('saddr', known), dropUnknownRule('daddr', known)]
  const hooks = [
    hook('forward', [sent, received, ...jumps.Egress, ...jumps.Ingress]),
    hook('input', [...names, sent, ...jumps.Egress]),
  ]
  const body = [...chains, ...hooks].join('\n')
  return `table ip policies\ndelete table ip policies\ntable ip policies {\n${body}\n}\n`
}

/**
 * A pod sends before its status shows its address; until then nothing is known that would allow its traffic. While the
 * table is replaced, the set looks empty and this drops too much, which is sent again.
 */
function dropUnknownRule(side: 'saddr' | 'daddr', known: readonly string[]): string {
  const others = known.length === 0 ? '' : ` ip ${side} != { ${known.toSorted().join(', ')} }`
  return `    ip ${side} ${POD_RANGE}${others} counter drop comment "not known yet"`
}

/** The kernel accepts 128 expressions in a rule. One refused rule would keep all others from changing. */
const EXCEPTIONS_MAX = 32

/** IPv4 only: the node gives no other addresses. */
function isOnNetwork({ spec, status }: Pod): boolean {
  const { phase, podIP = '' } = status ?? {}
  if (spec.hostNetwork === true || !/^\d+(\.\d+){3}$/.test(podIP)) return false
  return phase === 'Pending' || phase === 'Running'
}

const addressOf = ({ status }: Pod) => status?.podIP ?? ''

function selects({ metadata, spec }: NetworkPolicy, pod: Pod, { type }: Direction): boolean {
  const { policyTypes = ['Ingress', ...(spec.egress === undefined ? [] : ['Egress' as const])] } = spec
  if (metadata.namespace !== pod.metadata.namespace || !policyTypes.includes(type)) return false
  return matches(spec.podSelector, pod.metadata.labels)
}

/** `labels` are those of namespaces. */
type PolicyContext = { labels: ReadonlyMap<string, Labels>; running: readonly Pod[]; pod: Pod; direction: Direction }

function allowedBy({ metadata, spec }: NetworkPolicy, context: PolicyContext): string[] {
  const { direction, pod } = context
  const rules = (direction.type === 'Ingress' ? spec.ingress : spec.egress) ?? []
  return rules.flatMap((rule) => {
    const peers = (direction.type === 'Ingress' ? rule.from : rule.to) ?? []
    const addressMatches =
      peers.length === 0 ? [''] : peers.flatMap((peer) => addressesOf(peer, metadata.namespace, context))
    // A port may be named by the listening pod: for egress that is the peer, whose names are not resolved.
    const ports = rule.ports ?? []
    const portMatches =
      ports.length === 0 ? [''] : ports.flatMap((port) => portOf(port, direction.type === 'Ingress' ? pod : undefined))
    return addressMatches.flatMap((address) =>
      portMatches.map((port) => [address, port, 'return'].filter(Boolean).join(' ')),
    )
  })
}

function addressesOf(
  peer: Peer,
  ownNamespace: string | undefined,
  { labels, running, direction }: PolicyContext,
): string[] {
  const { ipBlock, namespaceSelector, podSelector } = peer
  const from = `ip ${direction.theirs}`
  if (ipBlock !== undefined) {
    const { cidr, except = [] } = ipBlock
    if (cidr.includes(':') || except.length > EXCEPTIONS_MAX) return []
    // One by one: a set looks empty to packets at the moment when a new table replaces it, and all would pass.
    return [[cidr, ...except.map((excepted) => `!= ${excepted}`)].map((range) => `${from} ${range}`).join(' ')]
  }
  const isSelected = ({ metadata }: Pod) => {
    const isPlace =
      namespaceSelector === undefined
        ? metadata.namespace === ownNamespace
        : matches(namespaceSelector, labels.get(metadata.namespace ?? ''))
    return isPlace && matches(podSelector, metadata.labels)
  }
  return running.filter(isSelected).map((pod) => `${from} ${addressOf(pod)}`)
}

function portOf({ protocol = 'TCP', port, endPort }: Port, pod: Pod | undefined): string[] {
  const transport = protocol.toLowerCase()
  if (port === undefined) return [`meta l4proto ${transport}`]
  const named = pod?.spec.containers?.flatMap(({ ports = [] }) => ports).find(({ name }) => name === port)
  const number = typeof port === 'number' ? port : named?.containerPort
  if (number === undefined) return []
  return [`${transport} dport ${endPort === undefined ? number : `${number}-${endPort}`}`]
}

/** @see https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors */
function matches(selector: Selector | undefined, labels: Labels = {}): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {}
  if (Object.entries(matchLabels).some(([key, value]) => labels[key] !== value)) return false
  return matchExpressions.every(({ key, operator, values = [] }) => {
    const value = labels[key]
    if (operator === 'Exists') return value !== undefined
    if (operator === 'DoesNotExist') return value === undefined
    const isIn = value !== undefined && values.includes(value)
    return operator === 'In' ? isIn : !isIn
  })
}
