import { isEqual } from '../../api/records/mergePatch.ts'
import type { RecordOf } from '../../api/records/records.ts'
import { refuseEscapingDenies } from '../../api/rules/denies.ts'
import { refuseDenyingRootOwners, refuseUngoverned } from '../../api/rules/governing.ts'
import { groupsIn } from '../../api/rules/grants.ts'
import { checkMembers, refuseTakenName, refuseWidening } from '../../api/rules/groups.ts'
import { PlatformError } from '../../core/errors.ts'
import { PrincipalGroup } from '../../crds/rbac.ts'
import type { Memberships } from '../../iam/groups.ts'
import { type AdmissionChange, notWritableHere, requireAction } from './change.ts'

type GroupRecord = RecordOf<typeof PrincipalGroup>

/** Membership is a grant: a new member gets the roles of the group, a removed one loses them. */
export async function judgeGroup(change: AdmissionChange<GroupRecord>): Promise<void> {
  const { services, caller, boundaryId, scope, next, previous } = change
  if (boundaryId === undefined) throw notWritableHere(PrincipalGroup, 'at the root by tenants')
  requireAction(services, caller, 'rbac/members/write', scope)
  if (next !== undefined && previous !== undefined && isEqual(next.spec, previous.spec)) return
  const groups = groupsAfter(change)
  if (next !== undefined) {
    const { name: id } = next.metadata
    const { displayName, memberIds } = next.spec
    const present = new Set(previous?.spec.memberIds)
    const added = memberIds.filter((member) => !present.has(member))
    if (previous === undefined) await refuseIdOfOthers(change, id)
    await checkMembers(services, caller, boundaryId, { id, memberIds, added })
    refuseTakenName(services, boundaryId, { id, displayName })
    if (added.length > 0) refuseWidening(services, caller, boundaryId, { id, added, groups }, 'GRANT_EXCEEDS_CALLER')
  }
  refuseEscapingDenies(services, caller, boundaryId, groups)
  if (next !== undefined) await refuseDenyingRootOwners(services, boundaryId, groups)
  const groupId = (next ?? previous)?.metadata.name
  await refuseUngoverned(services, scope, { groups }, 'last_owner', { groupId })
}

/**
 * REST generates random group ids. A group with a person's id would be mistaken for the person in the exemptions of
 * denies.
 * @throws PlatformError already_exists
 */
async function refuseIdOfOthers({ services, boundaryId }: AdmissionChange<GroupRecord>, id: string): Promise<void> {
  const found = (await services.principals.find([id], boundaryId)).get(id)
  if (found === undefined || found.isAssumed === true) return
  throw new PlatformError('already_exists', `The id "${id}" is that of another principal.`, { id })
}

function groupsAfter({ services, boundaryId, next, previous }: AdmissionChange<GroupRecord>): Memberships {
  const groups = new Map(groupsIn(services, boundaryId))
  if (next !== undefined) groups.set(next.metadata.name, next.spec.memberIds)
  else if (previous !== undefined) groups.delete(previous.metadata.name)
  return groups
}
