import { done, type Outcome, REQUEUE_NOW, waiting } from '../core/outcome.ts'
import { type IdpBinding, PEOPLE_OF_BINDING } from '../crds/sso.ts'
import type { Pass } from './engine/controller.ts'

export type BindingPass = Pass<typeof IdpBinding>

/** What a binding gives users: role assignments or group memberships. */
export type Share = {
  /** Users who have it, from the cache. */
  has: ReadonlySet<string>
  /** The same, read from the API server. */
  hasNow: () => Promise<ReadonlySet<string>>
  /** Whether everyone who has it got it from the binding. */
  isAllOurs: boolean
  /** Makes `people` the only ones among `ours` who have it. */
  give: (people: readonly string[], ours: ReadonlySet<string>) => Promise<void>
}

/** Returns the users who have something from the binding, or are about to get or lose it. */
export function oursOf(status: IdpBinding['status']): ReadonlySet<string> {
  const { memberIds = [], changingIds = [] } = status ?? {}
  return new Set([...memberIds, ...changingIds])
}

/**
 * Gives the share to the users the issuer names, except those from whom somebody removed it.
 *
 * Planned changes are stored first: after a crash, they could not be told from changes that somebody made by hand.
 *
 * @param matched users the issuer names
 */
export async function settleShare(pass: BindingPass, matched: readonly string[], share: Share): Promise<Outcome> {
  const { has, isAllOurs, give } = share
  const { memberIds = [], changingIds = [] } = pass.object.status ?? {}
  const ours = new Set([...oursOf(pass.object.status), ...(isAllOurs ? has : [])])
  // Too many for the status to list. A group never has this many members.
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
    return waiting('ApplyingWorkload', 'What people get is being changed.', REQUEUE_NOW)
  }
  await give(wanted, ours)
  pass.report({ memberIds: wanted, changingIds: [], leftIds })
  return done()
}

/** Returns the named users from whom somebody else removed what the binding gave them. */
async function whoLeft(pass: BindingPass, matched: readonly string[], { has, hasNow }: Share): Promise<string[]> {
  const { memberIds = [], leftIds = [] } = pass.object.status ?? {}
  const had = new Set(memberIds)
  const missing = matched.filter((id) => had.has(id) && !has.has(id))
  // Ask the API server: the cache may be stale, and a user wrongly recorded as removed does not come back.
  const now = missing.length === 0 ? has : await hasNow()
  const left = new Set([...leftIds, ...missing.filter((id) => !now.has(id))])
  return matched.filter((id) => left.has(id))
}
