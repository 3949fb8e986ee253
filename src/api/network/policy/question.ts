import type { Addresses } from './addresses.ts'
import type { Labels } from './selectors.ts'

/** A question about policies, in their own terms. */

export type Protocol = 'TCP' | 'UDP' | 'SCTP'
export type Direction = 'ingress' | 'egress'

export type Pod = {
  readonly kind: 'pod'
  readonly name: string
  readonly namespace: string
  readonly namespaceLabels: Labels
  readonly labels: Labels
  /** Its address, or all that it may have. */
  readonly addresses: Addresses
  /** Named ports of its containers; undefined if no such pod is running. */
  readonly ports: readonly { readonly name: string; readonly port: number; readonly protocol: Protocol }[] | undefined
  readonly serviceAccount?: string | undefined
}

export type End =
  | Pod
  /** Addresses outside the cluster. `isInternet`: none of them can be a node of the cluster. */
  | { readonly kind: 'outside'; readonly addresses: Addresses; readonly isInternet: boolean }
  /** A host name, whose addresses are unknown. */
  | { readonly kind: 'host'; readonly host: string; readonly addresses: Addresses }

export type ConnectionQuestion = {
  readonly from: End
  readonly to: End
  readonly port: number
  readonly protocol: Protocol
  /** Whether IP blocks also match pods. Cilium selects pods by labels only. */
  readonly blocksTakePods: boolean
}

export type PolicyKind = 'NetworkPolicy' | 'CiliumNetworkPolicy' | 'CiliumClusterwideNetworkPolicy'

export type Rule = {
  readonly kind: PolicyKind
  readonly namespace: string | null
  readonly name: string
  /** In the rules of its direction. */
  readonly ruleIndex: number
  readonly effect: 'Allow' | 'Deny'
  /** As written in the policy. */
  readonly text: string
}

/** What a rule says about the question. */
export type RuleMatch = {
  readonly rule: Rule
  /** The addresses of the other end that it matches on this port; all or none for a pod or a name. */
  readonly covers: Addresses
  /** Why it may match more. */
  readonly uncertainty?: string | undefined
  /** Conditions beyond addresses and ports. */
  readonly note?: string | undefined
}

/** What one policy says about one direction of one pod; undefined if it does not select it. */
export type PolicyMatch = {
  readonly policy: Pick<Rule, 'kind' | 'namespace' | 'name'>
  /** Whether everything is denied that no rule allows. */
  readonly isolates: boolean
  readonly rules: readonly RuleMatch[]
}

const TEXT_MAX = 1_000

export function textOf(rule: unknown): string {
  const text = JSON.stringify(rule)
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX - 1)}…` : text
}

/** Yes, no, or why it is unknown. */
export type MatchResult = true | false | { readonly uncertainty: string }

/** A port name refers to the ports of the destination pod. */
export function namedPortMatches(name: string, { to, port, protocol }: ConnectionQuestion): MatchResult {
  if (to.kind !== 'pod') return false
  if (to.ports === undefined) return { uncertainty: `It names the port "${name}", and no such pod is running.` }
  return to.ports.some((one) => one.name === name && one.port === port && one.protocol === protocol)
}

/** Returns the best of several. */
export function bestMatch(results: readonly MatchResult[]): MatchResult {
  return results.find((fit) => fit === true) ?? results.find((fit) => fit !== false) ?? false
}
