import type { Services } from '../../api/http/context.ts'
import { isEqual } from '../../api/records/mergePatch.ts'
import type { RecordOf } from '../../api/records/records.ts'
import { refuseExceeding } from '../../api/rules/grants.ts'
import { patternFaults } from '../../core/actionPatterns.ts'
import { PlatformError, refusedFields } from '../../core/errors.ts'
import { RoleDefinition } from '../../crds/rbac.ts'
import { BUILT_IN_ROLES, type Role } from '../../iam/roles.ts'
import { type Judged, requireAction } from './change.ts'

type RoleRecord = RecordOf<typeof RoleDefinition>

/**
 * A custom role holds nothing that its writer does not hold everywhere, whoever has it: those may be more by the time it
 * is stored.
 */
export function judgeRole({ services, caller, place, next, previous }: Judged<RoleRecord>): void {
  requireAction(services, caller, 'rbac/members/admin', place)
  if (next?.spec.isBuiltIn === true || previous?.spec.isBuiltIn === true) {
    throw new PlatformError('forbidden', 'Only the platform can write built-in roles.')
  }
  if (next === undefined || (previous !== undefined && isEqual(next.spec, previous.spec))) return
  refuseTakenName(services, next)
  const { metadata, spec } = next
  const role: Role = { ...spec, name: metadata.name, assignableScopes: ['/', '/boundaries/*'] }
  checkPatterns(role)
  // As if for themselves: that a Platform Owner gives any role to others lets nobody write one.
  const grant = { role, scope: '/', principalIds: [caller.principalId] }
  refuseExceeding(services, caller, grant, 'GRANT_EXCEEDS_CALLER')
}

/** @throws PlatformError BAD_REQUEST */
function checkPatterns(role: Role): void {
  const faults = patternFaults(role)
  if (faults.length > 0) throw refusedFields(faults.map(({ field, message }) => ({ field, message })))
}

/** Assignments name roles by their display name. @throws PlatformError already_exists */
function refuseTakenName({ records }: Services, { metadata, spec: { displayName } }: RoleRecord): void {
  const others = records.peekAll(RoleDefinition).filter((role) => role.metadata.name !== metadata.name)
  const names = [...others.map(({ spec }) => spec.displayName), ...BUILT_IN_ROLES.map((role) => role.displayName)]
  if (!names.includes(displayName)) return
  throw new PlatformError('already_exists', `There is already a role "${displayName}".`, { displayName })
}
