import { isEqual } from '../../api/records/mergePatch.ts'
import type { RecordOf } from '../../api/records/records.ts'
import { checkDeny, refuseOwnDeny } from '../../api/rules/denies.ts'
import { refuseLockout } from '../../api/rules/governing.ts'
import { DenyAssignment } from '../../crds/rbac.ts'
import { type AdmissionChange, notWritableHere, requireAction, scopeOfRecord } from './change.ts'

/** A principal that a deny affects may neither change nor delete it, and no deny may lock everybody out. */
export async function judgeDeny(change: AdmissionChange<RecordOf<typeof DenyAssignment>>): Promise<void> {
  const { services, caller, boundaryId, scope, next, previous } = change
  if (boundaryId === undefined) throw notWritableHere(DenyAssignment, 'at the root by tenants')
  requireAction(services, caller, 'rbac/members/write', scope)
  if (next !== undefined && previous !== undefined && isEqual(next.spec, previous.spec)) return
  if (previous !== undefined) await refuseOwnDeny(services, caller, boundaryId, previous)
  if (next === undefined) return
  if (previous === undefined) scopeOfRecord(services, next)
  await checkDeny(services, caller, boundaryId, next.spec)
  await refuseLockout(services, boundaryId, next.spec, previous?.metadata.name)
}
