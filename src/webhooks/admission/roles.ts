import type { Services } from '../../api/http/context.ts'
import { isEqual } from '../../api/records/mergePatch.ts'
import type { RecordOf } from '../../api/records/records.ts'
import { groupsIn, refuseExceeding } from '../../api/rules/grants.ts'
import { patternFaults } from '../../core/actionPatterns.ts'
import { PlatformError, refusedFields } from '../../core/errors.ts'
import { boundaryOfNamespace } from '../../core/names.ts'
import { RoleAssignment, RoleDefinition } from '../../crds/rbac.ts'
import { everyoneIn } from '../../iam/groups.ts'
import { BUILT_IN_ROLES, type Role } from '../../iam/roles.ts'
import { type Judged, requireAction } from './change.ts'

type RoleRecord = RecordOf<typeof RoleDefinition>

/**
 * A custom role holds nothing that its writer does not hold everywhere: whoever changes a role gives to all who have it,
 * and those may be more by the time it is stored.
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
  const principalIds = holdersOf(services, new Set([spec.displayName, previous?.spec.displayName]))
  refuseExceeding(services, caller, { role, scope: '/', principalIds }, 'GRANT_EXCEEDS_CALLER')
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

/** Everybody to whom a role of one of these names was given, anywhere. */
function holdersOf(services: Services, names: ReadonlySet<string | undefined>): Set<string> {
  const given = services.records.peekAll(RoleAssignment).filter(({ spec }) => names.has(spec.roleDefinitionName))
  const holders = given.flatMap(({ metadata, spec }) => {
    const groups = groupsIn(services, boundaryOfNamespace(metadata.namespace ?? ''))
    return [...everyoneIn(spec.principalId, groups)]
  })
  return new Set(holders)
}
