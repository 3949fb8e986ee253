import type { Services } from '../../api/http/context.ts'
import { isEqual } from '../../api/records/mergePatch.ts'
import type { RecordOf } from '../../api/records/records.ts'
import { refuseExceeding } from '../../api/rules/grants.ts'
import { patternFaults } from '../../core/actionPatterns.ts'
import { PlatformError, refusedFields } from '../../core/errors.ts'
import { RoleDefinition } from '../../crds/rbac.ts'
import { BUILT_IN_ROLES, type Role } from '../../iam/roles.ts'
import { type AdmissionChange, requireAction } from './change.ts'

type RoleRecord = RecordOf<typeof RoleDefinition>

/**
 * A custom role may only contain what its writer holds everywhere, even if nobody has the role yet: that may have
 * changed by the time the write is stored.
 */
export function judgeRole({ services, caller, scope, next, previous }: AdmissionChange<RoleRecord>): void {
  requireAction(services, caller, 'rbac/members/admin', scope)
  if (next?.spec.isBuiltIn === true || previous?.spec.isBuiltIn === true) {
    throw new PlatformError('forbidden', 'Only the platform can write built-in roles.')
  }
  if (next === undefined || (previous !== undefined && isEqual(next.spec, previous.spec))) return
  refuseTakenName(services, next)
  const { metadata, spec } = next
  const role: Role = { ...spec, name: metadata.name, assignableScopes: ['/', '/boundaries/*'] }
  checkPatterns(role)
  // As a grant to themselves: a Platform Owner may grant any role to others, but not write any role.
  const grant = { role, scope: '/', principalIds: [caller.principalId] }
  refuseExceeding(services, caller, grant, 'GRANT_EXCEEDS_CALLER')
}

/** @throws PlatformError BAD_REQUEST */
function checkPatterns(role: Role): void {
  const faults = patternFaults(role)
  if (faults.length > 0) throw refusedFields(faults.map(({ field, message }) => ({ field, message })))
}

/** Display names must be unique, because assignments refer to them. @throws PlatformError already_exists */
function refuseTakenName({ records }: Services, { metadata, spec: { displayName } }: RoleRecord): void {
  const others = records.peekAll(RoleDefinition).filter((role) => role.metadata.name !== metadata.name)
  const names = [...others.map(({ spec }) => spec.displayName), ...BUILT_IN_ROLES.map((role) => role.displayName)]
  if (!names.includes(displayName)) return
  throw new PlatformError('already_exists', `There is already a role "${displayName}".`, { displayName })
}
