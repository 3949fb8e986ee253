import { type Addresses, subtractRanges, uniteRanges } from './addresses.ts'
import { type CiliumPolicy, clustersNamed, inCluster, readCiliumPolicy } from './cilium.ts'
import { type NetworkPolicy, readNetworkPolicy } from './kubernetes.ts'
import type { ConnectionQuestion, Direction, End, PolicyMatch, Rule, RuleMatch } from './question.ts'

export type Verdict = 'Allowed' | 'Denied' | 'Unknown'

/** The deciding rule, or the platform's default if nothing allows what a policy isolates. */
export type DecidingRule =
  | Rule
  | (Omit<Rule, 'kind' | 'ruleIndex'> & { kind: 'PlatformDefault' | 'AllowedCidrs'; ruleIndex: null })

export type SideVerdict = {
  readonly verdict: Verdict
  /** Whether everything is denied that no rule allows. */
  readonly isolated: boolean
  readonly rule: DecidingRule | null
  readonly message: string
  readonly warnings: readonly string[]
}

export type Policies = { readonly kubernetes: readonly NetworkPolicy[]; readonly cilium: readonly CiliumPolicy[] }

/**
 * Judges one connection at one of its ends. A deny overrides every allow; what no policy isolates is allowed
 * (Kubernetes NetworkPolicy, policy enforcement of Cilium).
 */
export function judgeSide(direction: Direction, question: ConnectionQuestion, policies: Policies): SideVerdict {
  const subject = direction === 'ingress' ? question.to : question.from
  const other = direction === 'ingress' ? question.from : question.to
  if (subject.kind !== 'pod')
    return notIsolated('It is outside the cluster, where the policies of the cluster do not apply.')
  const kubernetes = policies.kubernetes.flatMap(
    (policy) => readNetworkPolicy(policy, subject, direction, question) ?? [],
  )
  // Tries every cluster name that policies mention, and one that none does, which represents all others.
  const [side, ...others] = ['', ...new Set(clustersNamed(policies.cilium))].map((name) => {
    const at = <E extends End>(end: E) => (end.kind === 'pod' ? inCluster(end, name) : end)
    const clusterQuestion = { ...question, from: at(question.from), to: at(question.to) }
    const cilium = policies.cilium.flatMap((policy) =>
      readCiliumPolicy(policy, inCluster(subject, name), direction, clusterQuestion),
    )
    return combinePolicies(direction, other, [...kubernetes, ...cilium])
  }) as [SideVerdict, ...SideVerdict[]]
  const another = others.find(({ verdict }) => verdict !== side.verdict)
  if (another === undefined) return side
  const message = 'A policy selects by the name of the cluster in Cilium, which is not known here.'
  return { ...another, verdict: 'Unknown', message, rule: another.rule ?? side.rule }
}

const notIsolated = (message: string): SideVerdict => ({
  verdict: 'Allowed',
  isolated: false,
  rule: null,
  message,
  warnings: [],
})

function combinePolicies(direction: Direction, other: End, readings: readonly PolicyMatch[]): SideVerdict {
  const rules = readings.flatMap((reading) => reading.rules)
  const isolating = readings.find(({ isolates }) => isolates)
  const side = (verdict: Verdict, rule: DecidingRule | null, message: string, note?: string): SideVerdict => ({
    ...{ verdict, isolated: isolating !== undefined, rule, message },
    warnings: note === undefined ? [] : [note],
  })
  const denies = rules.filter(({ rule }) => rule.effect === 'Deny')
  const denied = coveredBy(denies)
  const [deny] = denies.filter(({ covers }) => covers.length > 0)
  if (deny !== undefined && subtractRanges(other.addresses, denied).length === 0)
    return side('Denied', deny.rule, `A rule of ${nameOf(deny.rule)} denies it.`)
  if (deny !== undefined) return side('Unknown', deny.rule, `A rule of ${nameOf(deny.rule)} denies part of it.`)
  const uncertain = denies.find(({ uncertainty }) => uncertainty !== undefined)
  if (uncertain !== undefined)
    return side('Unknown', uncertain.rule, `A rule of ${nameOf(uncertain.rule)} may deny it: ${uncertain.uncertainty}`)
  if (isolating === undefined) return side('Allowed', null, `No policy restricts what ${DIRECTION_PHRASES[direction]}.`)
  return allowedVerdict(rules, other, isolating, side)
}

function allowedVerdict(
  rules: readonly RuleMatch[],
  other: End,
  isolating: PolicyMatch,
  side: (verdict: Verdict, rule: DecidingRule | null, message: string, note?: string) => SideVerdict,
): SideVerdict {
  const allows = rules.filter(({ rule }) => rule.effect === 'Allow')
  // Prefers a rule that allows everything, and of those one without a note.
  const rank = ({ covers, note }: RuleMatch) =>
    2 * subtractRanges(other.addresses, covers).length + (note === undefined ? 0 : 1)
  const [allow] = allows.filter(({ covers }) => covers.length > 0).sort((one, another) => rank(one) - rank(another))
  const left = subtractRanges(other.addresses, coveredBy(allows))
  if (allow !== undefined && left.length === 0)
    return side('Allowed', allow.rule, `A rule of ${nameOf(allow.rule)} allows it.`, allow.note)
  if (allow !== undefined && other.kind === 'host') {
    const message = `No rule mentions the name "${other.host}", and its addresses are not known here.`
    return side('Unknown', allow.rule, message)
  }
  if (allow !== undefined) return side('Unknown', allow.rule, `A rule of ${nameOf(allow.rule)} allows part of it.`)
  const uncertain = allows.find(({ uncertainty }) => uncertainty !== undefined)
  if (uncertain !== undefined)
    return side('Unknown', uncertain.rule, `A rule of ${nameOf(uncertain.rule)} may allow it: ${uncertain.uncertainty}`)
  if (other.kind === 'host') {
    const message = `No rule mentions the name "${other.host}", and no rule for addresses allows this port.`
    return side('Unknown', null, message)
  }
  const { namespace, name } = isolating.policy
  const nothing = { kind: 'PlatformDefault', ruleIndex: null, effect: 'Deny', text: NO_RULE, namespace, name } as const
  return side('Denied', nothing, `No rule allows it, and ${nameOf(isolating.policy)} denies what no rule allows.`)
}

const NO_RULE = 'no rule allows it'
const DIRECTION_PHRASES = { ingress: 'comes in', egress: 'goes out' } as const
const nameOf = ({ kind, name }: Pick<Rule, 'kind' | 'name'>) => `${kind} "${name}"`

function coveredBy(rules: readonly RuleMatch[]): Addresses {
  return uniteRanges(rules.flatMap(({ covers }) => covers))
}

/** Combines both ends: each must allow the connection. */
export function combineDirections(
  egress: SideVerdict,
  ingress: SideVerdict,
): { verdict: Verdict; decidedBy: DecidingRule | null } {
  const sides = [egress, ingress]
  for (const verdict of ['Denied', 'Unknown'] as const) {
    const found = sides.find((side) => side.verdict === verdict)
    if (found !== undefined) return { verdict, decidedBy: found.rule }
  }
  return { verdict: 'Allowed', decidedBy: ingress.rule ?? egress.rule }
}

/** Combines one side of several pairs of pods, each with a name. If they differ, the verdict is Unknown. */
export function combineSides(
  sides: readonly { readonly pods: string; readonly side: SideVerdict }[],
): SideVerdict | undefined {
  const [first] = sides
  if (first === undefined) return undefined
  const another = sides.find(({ side }) => side.verdict !== first.side.verdict)
  const warnings = [...new Set(sides.flatMap(({ side }) => side.warnings))]
  if (another === undefined) return { ...first.side, warnings }
  const summarize = ({ pods, side }: (typeof sides)[number]) => `${side.verdict} for ${pods}`
  const message = `It differs between pods: ${summarize(first)}, ${summarize(another)}.`
  const isolated = sides.some(({ side }) => side.isolated)
  return { verdict: 'Unknown', isolated, rule: another.side.rule ?? first.side.rule, message, warnings }
}
