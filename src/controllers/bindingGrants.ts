import { done, type Outcome, REQUEUE_NOW, waiting } from '../core/outcome.ts'
import { BINDING_PEOPLE_MAX, type IdpBinding } from '../crds/sso.ts'
import type { Pass } from './engine/controller.ts'

export type BindingPass = Pass<typeof IdpBinding>

/** What a binding gives users: role assignments or group memberships. */
export type BindingGrants = {
  /** Users who have it, from the cache. */
  holders: ReadonlySet<string>
  /** The same, read from the API server. */
  readHolders: () => Promise<ReadonlySet<string>>
  /** Whether everyone who has it got it from the binding. */
  isExclusive: boolean
  /** Makes `userIds` the only ones among `ours` who have it. */
  setHolders: (userIds: readonly string[], ours: ReadonlySet<string>) => Promise<void>
}

/** Returns the users who have something from the binding, or are about to get or lose it. */
export function usersGrantedBy(status: IdpBinding['status']): ReadonlySet<string> {
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
export async function reconcileGrants(
  pass: BindingPass,
  matched: readonly string[],
  grants: BindingGrants,
): Promise<Outcome> {
  const { holders, isExclusive, setHolders } = grants
  const { memberIds = [], changingIds = [] } = pass.object.status ?? {}
  const ours = new Set([...usersGrantedBy(pass.object.status), ...(isExclusive ? holders : [])])
  // Too many for the status to list. A group never has this many members.
  if (isExclusive && matched.length > BINDING_PEOPLE_MAX) {
    await setHolders(matched, ours)
    pass.report({ memberIds: [], changingIds: [], leftIds: [] })
    return done()
  }
  const leftIds = await findRemovedUsers(pass, matched, grants)
  for (const id of leftIds) ours.delete(id)
  const wanted = matched.filter((id) => !leftIds.includes(id) && (ours.has(id) || !holders.has(id)))
  const staying = new Set(wanted)
  const coming = wanted.filter((id) => !holders.has(id))
  const leaving = [...ours].filter((id) => !staying.has(id))
  const changing = [...coming, ...leaving].slice(0, BINDING_PEOPLE_MAX)
  if (changing.some((id) => !changingIds.includes(id))) {
    pass.report({ memberIds: memberIds.filter((id) => staying.has(id)), changingIds: changing, leftIds })
    return waiting('ApplyingWorkload', 'What people get is being changed.', REQUEUE_NOW)
  }
  await setHolders(wanted, ours)
  pass.report({ memberIds: wanted, changingIds: [], leftIds })
  return done()
}

/** Returns the named users from whom somebody else removed what the binding gave them. */
async function findRemovedUsers(
  pass: BindingPass,
  matched: readonly string[],
  { holders, readHolders }: BindingGrants,
): Promise<string[]> {
  const { memberIds = [], leftIds = [] } = pass.object.status ?? {}
  const previousIds = new Set(memberIds)
  const missing = matched.filter((id) => previousIds.has(id) && !holders.has(id))
  // Ask the API server: the cache may be stale, and a user wrongly recorded as removed does not come back.
  const now = missing.length === 0 ? holders : await readHolders()
  const left = new Set([...leftIds, ...missing.filter((id) => !now.has(id))])
  return matched.filter((id) => left.has(id))
}
