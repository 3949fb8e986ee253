import { isEqual } from '../../api/records/mergePatch.ts'
import { checkNewAssignment } from '../../api/rules/assignments.ts'
import { refuseUngoverned } from '../../api/rules/governing.ts'
import { type AssignmentRecord, assignmentIdOf, findRole, refuseExceeding } from '../../api/rules/grants.ts'
import { PlatformError } from '../../core/errors.ts'
import { type AdmissionChange, requireAction, scopeOfRecord } from './change.ts'

/** Judges creating, extending, shortening and deleting a role assignment. */
export async function judgeAssignment(change: AdmissionChange<AssignmentRecord>): Promise<void> {
  const { services, caller, boundaryId, scope: objectScope, next, previous } = change
  requireAction(
    services,
    caller,
    boundaryId === undefined ? 'rbac/members/admin' : 'boundaries/members/manage',
    objectScope,
  )
  if (next === undefined) return refuseLosingOwner(change)
  if (previous !== undefined) return judgeEnd(change, next, previous)
  const { spec } = next
  scopeOfRecord(services, next)
  if (spec.jitRequestId !== undefined) {
    throw new PlatformError('forbidden', 'jitRequestId is written with the approval of a request only.')
  }
  await checkNewAssignment(services, caller, { ...spec, boundaryId })
}

/** Only the expiry can change. A later one is treated as a grant, an earlier one as a removal. */
async function judgeEnd(change: AdmissionChange<AssignmentRecord>, next: AssignmentRecord, previous: AssignmentRecord) {
  const { services, caller, boundaryId } = change
  if (isEqual(next.spec, previous.spec)) return
  const { principalId, roleDefinitionName, scope, expiresAt } = next.spec
  if (endOf(expiresAt) < endOf(previous.spec.expiresAt)) return refuseLosingOwner(change)
  const grant = { role: findRole(services, roleDefinitionName), scope, principalIds: [principalId], boundaryId }
  refuseExceeding(services, caller, grant, 'GRANT_EXCEEDS_CALLER')
}

async function refuseLosingOwner({
  services,
  boundaryId,
  scope: objectScope,
  previous,
}: AdmissionChange<AssignmentRecord>): Promise<void> {
  if (previous === undefined) return
  const assignmentId = assignmentIdOf(previous)
  const code = boundaryId === undefined ? 'last_owner' : 'LAST_OWNER'
  await refuseUngoverned(services, objectScope, { removed: new Set([assignmentId]) }, code, { assignmentId })
}

/** Returns milliseconds since the epoch; infinity for an assignment that does not expire. */
function endOf(expiresAt: string | undefined): number {
  return expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(expiresAt)
}
