import { PlatformError } from '../../core/errors.ts'
import { boundaryNamespace, boundaryOfNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { looksSame } from '../../core/shownText.ts'
import { PrincipalGroup, RoleAssignment } from '../../crds/rbac.ts'
import {
  expandMembers,
  groupsContaining,
  groupsOfMembers,
  type Memberships,
  nestingViolationOf,
} from '../../iam/groups.ts'
import { principalNotFound } from '../callers/principals.ts'
import { findVisiblePrincipals } from '../callers/visiblePeople.ts'
import type { Services } from '../http/context.ts'
import type { RecordOf } from '../records/records.ts'
import { type Granter, groupsIn, isInForce, knownRole, refuseExceedingFor } from './grants.ts'

/** @throws PlatformError principal_not_found, group_cycle */
export async function checkMembers(
  services: Services,
  caller: Granter,
  boundaryId: string,
  { id, memberIds, added }: { id: string; memberIds: readonly string[]; added: readonly string[] },
): Promise<void> {
  const known = await findVisiblePrincipals(services, caller, added, boundaryId)
  for (const member of added) if (!known.has(member)) throw principalNotFound(member)
  if (nestingViolationOf(id, memberIds, groupsIn(services, boundaryId)) === undefined) return
  throw new PlatformError('group_cycle', 'Groups may be nested five deep and never in a circle.', { memberIds })
}

/** @throws PlatformError already_exists */
export function refuseTakenName(
  { records }: Services,
  boundaryId: string,
  { id, displayName }: { id: string; displayName: string },
): void {
  const present = records.peekAll(PrincipalGroup, { namespace: boundaryNamespace(boundaryId) })
  if (!present.some(({ metadata, spec }) => metadata.name !== id && looksSame(spec.displayName, displayName))) return
  throw new PlatformError('already_exists', `The boundary already has a group "${displayName}".`, { displayName })
}

/**
 * Refuses new members of a group who would gain roles that the caller may not give: those of the group and of the
 * groups around it. This concerns a new group too: roles may have been assigned to its id before, or be left over from
 * an earlier group.
 *
 * @param groups the memberships once the change is made
 * @throws PlatformError of the code
 */
export function refuseWidening(
  services: Services,
  caller: Granter,
  boundaryId: string,
  { id, added, groups }: { id: string; added: readonly string[]; groups: Memberships },
  code: 'GRANT_EXCEEDS_CALLER' | 'forbidden',
): void {
  if (added.length > 0) refuseRolesOf(services, caller, boundaryId, { id, gainers: added, groups }, code)
}

/**
 * Refuses callers who may not give all roles of a group, because deciding who joins a group gives its roles away. Roles
 * of a platform group count in every boundary.
 *
 * @throws PlatformError forbidden
 */
export function refuseGivingGroup(services: Services, caller: Granter, { metadata }: RecordOf<typeof PrincipalGroup>) {
  const { name: id, namespace = '' } = metadata
  const ownBoundaryId = boundaryOfNamespace(namespace)
  const everywhere = () => services.records.peekAll(RoleAssignment).map((one) => one.metadata.namespace ?? '')
  const boundaryIds = ownBoundaryId === undefined ? everywhere().map(boundaryOfNamespace) : [ownBoundaryId]
  for (const boundaryId of new Set(boundaryIds)) {
    const groups = groupsIn(services, boundaryId)
    refuseRolesOf(services, caller, boundaryId, { id, gainers: [], groups }, 'forbidden')
  }
}

type Gaining = { id: string; gainers: readonly string[]; groups: Memberships }

/** Checks every role of the group and of the groups around it. @param boundaryId undefined for roles at the root */
function refuseRolesOf(
  services: Services,
  caller: Granter,
  boundaryId: string | undefined,
  { id, gainers, groups }: Gaining,
  code: 'GRANT_EXCEEDS_CALLER' | 'forbidden',
): void {
  const gaining = groupsContaining(id, groupsOfMembers(groups)).add(id)
  const namespace = boundaryId === undefined ? SYSTEM_NAMESPACE : boundaryNamespace(boundaryId)
  const given = services.records
    .peekAll(RoleAssignment, { namespace })
    .filter(({ spec }) => spec.principalType === 'Group' && gaining.has(spec.principalId))
    .filter((assignment) => isInForce(services, assignment))
  const gainerIds = new Set(gainers.flatMap((gainer) => [...expandMembers(gainer, groups)]))
  for (const { spec } of given) {
    const role = knownRole(services.records, spec.roleDefinitionName)
    if (role !== undefined) refuseExceedingFor(services, caller, { role, scope: spec.scope, gainerIds }, code)
  }
}
