import type { Addresses } from './addresses.ts'
import type { Labels } from './selectors.ts'

/** What is asked of policies, in their own terms. */

export type Protocol = 'TCP' | 'UDP' | 'SCTP'
export type Direction = 'ingress' | 'egress'

export type Pod = {
  readonly kind: 'pod'
  readonly name: string
  readonly namespace: string
  readonly namespaceLabels: Labels
  readonly labels: Labels
  /** Its own address, or all that it may have. */
  readonly addresses: Addresses
  /** Ports of its containers that have names; undefined if no such pod runs. */
  readonly ports: readonly { readonly name: string; readonly port: number; readonly protocol: Protocol }[] | undefined
  readonly serviceAccount?: string | undefined
}

export type End =
  | Pod
  /** Addresses outside of the cluster. `isInternet`: no node of the cluster is among them. */
  | { readonly kind: 'outside'; readonly addresses: Addresses; readonly isInternet: boolean }
  /** A name; which addresses it has is not known. */
  | { readonly kind: 'host'; readonly host: string; readonly addresses: Addresses }

export type Question = {
  readonly from: End
  readonly to: End
  readonly port: number
  readonly protocol: Protocol
  /** Whether blocks of addresses take pods too. Cilium takes pods by labels alone. */
  readonly blocksTakePods: boolean
}

export type PolicyKind = 'NetworkPolicy' | 'CiliumNetworkPolicy' | 'CiliumClusterwideNetworkPolicy'

export type Rule = {
  readonly kind: PolicyKind
  readonly namespace: string | null
  readonly name: string
  /** In the list of its direction. */
  readonly ruleIndex: number
  readonly effect: 'Allow' | 'Deny'
  /** As it stands in the policy. */
  readonly text: string
}

/** What a rule says of the question. */
export type Judged = {
  readonly rule: Rule
  /** The addresses of the other end that it speaks of on this port; of a pod or a name all or none. */
  readonly covers: Addresses
  /** Why it may speak of more. */
  readonly doubt?: string | undefined
  /** What it asks beyond addresses and ports. */
  readonly note?: string | undefined
}

/** What one policy says of one direction of one pod; undefined if it does not select it. */
export type Reading = {
  readonly policy: Pick<Rule, 'kind' | 'namespace' | 'name'>
  /** Whether all is closed that no rule allows. */
  readonly isolates: boolean
  readonly rules: readonly Judged[]
}

const TEXT_MAX = 1_000

export function textOf(rule: unknown): string {
  const text = JSON.stringify(rule)
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX - 1)}…` : text
}

/** Yes, no, or why nobody can tell. */
export type Fit = true | false | { readonly doubt: string }

/** A port by its name is one of the pod that is reached. */
export function namedPortFits(name: string, { to, port, protocol }: Question): Fit {
  if (to.kind !== 'pod') return false
  if (to.ports === undefined) return { doubt: `It names the port "${name}", and no such pod is running.` }
  return to.ports.some((one) => one.name === name && one.port === port && one.protocol === protocol)
}

/** The best of several. */
export function anyFit(fits: readonly Fit[]): Fit {
  return fits.find((fit) => fit === true) ?? fits.find((fit) => fit !== false) ?? false
}
