import { selectsPod } from './kubernetes.ts'
import type { ConnectionQuestion, Direction, End } from './question.ts'
import { combineSides, judgeSide, type Policies, type SideVerdict } from './verdict.ts'

type Ends = { readonly from: readonly End[]; readonly to: readonly End[] }

/** Judges the connections of each pair of ends at one of them. Neither list may be empty. */
export function judgePairs(
  direction: Direction,
  { from, to }: Ends,
  asked: Omit<ConnectionQuestion, 'from' | 'to'>,
  policies: Policies,
): SideVerdict {
  // A group may have thousands of policies, of which few select one pod.
  const subjects = direction === 'ingress' ? to : from
  const of = new Map(subjects.map((end) => [end, narrowTo(end, policies)]))
  const sides = from.flatMap((one) =>
    to.map((other) => ({
      pods: [one, other].flatMap((end) => (end.kind === 'pod' ? [end.name] : [])).join(' and '),
      side: judgeSide(
        direction,
        { ...asked, from: one, to: other },
        of.get(direction === 'ingress' ? other : one) ?? policies,
      ),
    })),
  )
  return combineSides(sides) as SideVerdict
}

function narrowTo(subject: End, policies: Policies): Policies {
  if (subject.kind !== 'pod') return policies
  return { ...policies, kubernetes: policies.kubernetes.filter((policy) => selectsPod(policy, subject)) }
}
