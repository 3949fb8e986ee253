import { done, type Outcome, waiting } from '../core/outcome.ts'
import { type IdpBinding, PEOPLE_OF_BINDING } from '../crds/sso.ts'
import type { Pass } from './engine/controller.ts'

export type BindingPass = Pass<typeof IdpBinding>

/** What a binding gives people: assignments of a role, or places in a group. */
export type Share = {
  /** Who has it, as the cache says. */
  has: ReadonlySet<string>
  /** The same as the API server says. */
  hasNow: () => Promise<ReadonlySet<string>>
  /** Whether everybody who has it has it from the binding. */
  isAllOurs: boolean
  /** Of those who are ours, only these people are to have it. */
  give: (people: readonly string[], ours: ReadonlySet<string>) => Promise<void>
}

/** Milliseconds until what was written down is done. */
const AT_ONCE = 1

/** Who has something from the binding, or is about to get or to lose it. */
export function oursOf(status: IdpBinding['status']): ReadonlySet<string> {
  const { memberIds = [], changingIds = [] } = status ?? {}
  return new Set([...memberIds, ...changingIds])
}

/**
 * Lets the people whom the issuer names have their share, but for those from whom somebody took it.
 *
 * Who is about to get it or to lose it is written down before: nobody could tell what a process did that died before it
 * said so from what somebody else did by hand.
 *
 * @param matched whom the issuer names
 */
export async function settleShare(pass: BindingPass, matched: readonly string[], share: Share): Promise<Outcome> {
  const { has, isAllOurs, give } = share
  const { memberIds = [], changingIds = [] } = pass.object.status ?? {}
  const ours = new Set([...oursOf(pass.object.status), ...(isAllOurs ? has : [])])
  // A group holds fewer.
  if (isAllOurs && matched.length > PEOPLE_OF_BINDING) {
    await give(matched, ours)
    pass.report({ memberIds: [], changingIds: [], leftIds: [] })
    return done()
  }
  const leftIds = await whoLeft(pass, matched, share)
  for (const id of leftIds) ours.delete(id)
  const wanted = matched.filter((id) => !leftIds.includes(id) && (ours.has(id) || !has.has(id)))
  const staying = new Set(wanted)
  const coming = wanted.filter((id) => !has.has(id))
  const going = [...ours].filter((id) => !staying.has(id))
  const changing = [...coming, ...going].slice(0, PEOPLE_OF_BINDING)
  if (changing.some((id) => !changingIds.includes(id))) {
    pass.report({ memberIds: memberIds.filter((id) => staying.has(id)), changingIds: changing, leftIds })
    return waiting('ApplyingWorkload', 'What people get is being changed.', AT_ONCE)
  }
  await give(wanted, ours)
  pass.report({ memberIds: wanted, changingIds: [], leftIds })
  return done()
}

/** Of those whom the issuer names: from whom somebody else took what they had from the binding. */
async function whoLeft(pass: BindingPass, matched: readonly string[], { has, hasNow }: Share): Promise<string[]> {
  const { memberIds = [], leftIds = [] } = pass.object.status ?? {}
  const had = new Set(memberIds)
  const missing = matched.filter((id) => had.has(id) && !has.has(id))
  // The cache may be behind, and whoever is taken for somebody who left does not come back by themselves.
  const now = missing.length === 0 ? has : await hasNow()
  const left = new Set([...leftIds, ...missing.filter((id) => !now.has(id))])
  return matched.filter((id) => left.has(id))
}
