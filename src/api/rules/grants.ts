import { arePatternsValid } from '../../core/actionPatterns.ts'
import type { Clock } from '../../core/clock.ts'
import { ignoreNotFound, PlatformError } from '../../core/errors.ts'
import { objectId, uuidV5 } from '../../core/ids.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { type KubeObject, refOf } from '../../core/object.ts'
import { parseScope, type Scope } from '../../core/scope.ts'
import type { AnyKind } from '../../crds/define.ts'
import { PlatformClient, PlatformUser } from '../../crds/identity.ts'
import { KINDS } from '../../crds/index.ts'
import {
  currentPrincipalsOf,
  incarnationOf,
  namesCurrentPrincipal,
  type PrincipalLookup,
} from '../../crds/principals.ts'
import { PrincipalGroup, RoleAssignment, RoleDefinition } from '../../crds/rbac.ts'
import { incarnationOfRole, namesCurrentRole, roleNamed } from '../../crds/roleIncarnations.ts'
import { isAllowedInNamespace, scopeIncarnationOf, scopeObject } from '../../crds/scopeObjects.ts'
import { findGrantRefusal, GRANT_REFUSALS, type ProposedGrant } from '../../iam/granting.ts'
import { expandMembers, type Memberships } from '../../iam/groups.ts'
import { BUILT_IN_ROLES, type Role } from '../../iam/roles.ts'
import type { Caller, Services } from '../http/context.ts'
import { derivedFrom } from '../records/derived.ts'
import type { RecordOf } from '../records/records.ts'

export const OWNER_ROLE = 'Owner'
const PRINCIPAL_KINDS: readonly AnyKind[] = [PlatformUser, PlatformClient, PrincipalGroup]
/** The caller, through REST or kubectl: rules need nothing but the id. */
export type Granter = Pick<Caller, 'principalId'>
export type AssignmentRecord = RecordOf<typeof RoleAssignment>

/** The role of exactly this name, if it is valid. @throws PlatformError unknown_role */
export function findRole({ records }: Services, name: string): Role {
  const role = knownRole(records, name)
  if (role !== undefined && arePatternsValid(role)) return role
  const message = role === undefined ? GRANT_REFUSALS.unknown(name) : GRANT_REFUSALS.unreadable(name)
  throw new PlatformError('unknown_role', message, { roleDefinitionName: name })
}

const rolesByName = derivedFrom(RoleDefinition, (roles) => Map.groupBy(roles, ({ spec }) => spec.displayName))

/** Returns the definitions with a display name, of which one counts. Lists of thousands of assignments ask for each. */
export function rolesNamed(records: Services['records'], name: string): readonly RecordOf<typeof RoleDefinition>[] {
  return rolesByName(records).get(name) ?? []
}

export function knownRole(records: Services['records'], name: string): Role | undefined {
  const builtIn = BUILT_IN_ROLES.find(({ displayName }) => displayName === name)
  if (builtIn !== undefined) return builtIn
  const custom = roleNamed(rolesNamed(records, name), name)
  return custom === undefined ? undefined : { ...custom.spec, name: custom.metadata.name }
}

/** Returns the groups that count in a boundary: its own and the platform's. Groups with the same id are merged. */
export function groupsIn(services: Services, boundaryId: string | undefined): Memberships {
  const { records } = services
  const find = principalLookup(services)
  const groups = new Map<string, readonly string[]>()
  const namespaces = boundaryId === undefined ? [SYSTEM_NAMESPACE] : [boundaryNamespace(boundaryId), SYSTEM_NAMESPACE]
  for (const namespace of namespaces) {
    for (const group of records.peekAll(PrincipalGroup, { namespace })) {
      const { metadata, spec } = group
      // A principal that was recreated under the id of a member is not a member.
      const present = currentPrincipalsOf(find, group, spec.memberIds)
      groups.set(metadata.name, [...(groups.get(metadata.name) ?? []), ...present])
    }
  }
  return groups
}

/** A role for a principal; the members of a group gain it too. */
export type WantedGrant = {
  role: Role
  scope: string
  principalIds: Iterable<string>
  boundaryId?: string | undefined
}

/** A grant must not exceed what the granter holds. @throws PlatformError forbidden, or `code` with the missing actions */
export function refuseExceeding(
  services: Services,
  caller: Granter,
  grant: WantedGrant,
  code: 'GRANT_EXCEEDS_CALLER' | 'forbidden',
): void {
  const groups = groupsIn(services, grant.boundaryId)
  const gainerIds = new Set([...grant.principalIds].flatMap((id) => [...expandMembers(id, groups)]))
  refuseExceedingFor(services, caller, { ...grant, gainerIds }, code)
}

/** The same with the ids of everybody who gains: groups can have thousands of roles, so expand them once. */
export function refuseExceedingFor(
  services: Services,
  caller: Granter,
  { role, scope, gainerIds }: Pick<ProposedGrant, 'role' | 'scope' | 'gainerIds'>,
  code: 'GRANT_EXCEEDS_CALLER' | 'forbidden',
): void {
  const refusal = findGrantRefusal({ granterId: caller.principalId, gainerIds, role, scope }, services.access)
  if (refusal?.kind === 'RootOnly') throw rootOnlyRefused(role, scope)
  if (refusal !== undefined) throw exceedingRefused(code, role, scope, refusal.actions)
}

/** Returns the role of that name, which the caller may grant; undefined without a name. @throws PlatformError unknown_role, forbidden */
export function roleToGive(
  services: Services,
  caller: Granter,
  name: string | null | undefined,
  grant: Omit<WantedGrant, 'role'>,
): Role | undefined {
  if (name === null || name === undefined) return undefined
  const role = findRole(services, name)
  refuseExceeding(services, caller, { ...grant, role }, 'forbidden')
  return role
}

export function rootOnlyRefused({ displayName }: Role, scope: string): PlatformError {
  const message =
    scope === '/' ? GRANT_REFUSALS.notYoursAtRoot(displayName) : GRANT_REFUSALS.rootOnly(displayName, scope)
  return new PlatformError('forbidden', message, { roleDefinitionName: displayName, scope })
}

function exceedingRefused(
  code: 'GRANT_EXCEEDS_CALLER' | 'forbidden',
  { displayName }: Role,
  scope: string,
  actions: readonly string[],
): PlatformError {
  const message = GRANT_REFUSALS.exceeding(displayName, scope)
  return new PlatformError(code, message, { actions, roleDefinitionName: displayName, scope })
}

/** Returns the incarnation of the object at the scope: a grant names it, and so does not cover a later object there. */
export function incarnationAt({ records }: Services, scope: Scope): string | undefined {
  return objectAt(records, scope)?.metadata.annotations?.[INCARNATION_ANNOTATION]
}

export function objectAt(records: Services['records'], scope: Scope): RecordOf<AnyKind> | undefined {
  const target = scopeObject(scope)
  const kind = KINDS.find(({ resource }) => resource === target?.resource)
  return target === undefined || kind === undefined ? undefined : records.peek(kind, target)
}

/** Whether an assignment grants anything now, by its namespace, its end, and the incarnations that it names. */
export function isInForce(services: Services, assignment: AssignmentRecord): boolean {
  const { metadata, spec } = assignment
  const scope = parseScope(spec.scope)
  if (
    scope === undefined ||
    !isAllowedInNamespace(scope, metadata.namespace) ||
    isPastExpiry(spec.expiresAt, services.clock)
  ) {
    return false
  }
  if (!namesCurrentPrincipal(principalLookup(services), assignment, spec.principalId)) return false
  if (!namesCurrentRole(rolesNamed(services.records, spec.roleDefinitionName), assignment)) return false
  if (scope.level === 'root') return true
  const incarnation = scopeIncarnationOf(assignment)
  return incarnation !== undefined && incarnation === incarnationAt(services, scope)
}

export function principalLookup({ records }: Pick<Services, 'records'>): PrincipalLookup {
  return (resource, namespace, name) => {
    const kind = PRINCIPAL_KINDS.find((one) => one.resource === resource)
    return kind === undefined ? undefined : (records.peek(kind, { namespace, name }) as unknown as KubeObject)
  }
}

function namespaceOf(scope: Scope): string {
  return 'boundaryId' in scope ? boundaryNamespace(scope.boundaryId) : SYSTEM_NAMESPACE
}

export function isPastExpiry(expiresAt: string | undefined, clock: Clock): boolean {
  return expiresAt !== undefined && !(clock.now() < Date.parse(expiresAt))
}

export function assignmentIdOf({ metadata }: AssignmentRecord): string {
  return objectId(RoleAssignment.resource, metadata)
}

type NewAssignment = {
  principalId: string
  principalType: 'User' | 'Group' | 'ServicePrincipal'
  role: Role
  scope: string
  annotations?: Record<string, string>
  expiresAt?: string | undefined
  reason?: string | undefined
}

/**
 * Writes an assignment under a name derived from its content, so that two concurrent requests for the same one
 * create it once. `isNew` is false if it existed.
 */
export async function writeAssignment(
  services: Services,
  caller: Caller,
  { principalId, principalType, role, scope, annotations, expiresAt, reason }: NewAssignment,
): Promise<{ object: AssignmentRecord; isNew: boolean }> {
  const place = parseScope(scope)
  if (place === undefined) throw new RangeError(`${scope} is not a scope.`)
  const scopeIncarnation = incarnationAt(services, place)
  const namespace = namespaceOf(place)
  const find = principalLookup(services)
  const parts = ['grant', principalId, role.displayName, scope, scopeIncarnation ?? '']
  const known = services.records.peek(RoleAssignment, { namespace, name: uuidV5(parts.join('/')) })
  // An assignment to a former holder of the id, or of a former role of that name, still occupies the derived name.
  const roles = rolesNamed(services.records, role.displayName)
  const isOfAnother = known !== undefined && !namesCurrentPrincipal(find, known, principalId)
  const isOfAnotherRole = known !== undefined && !namesCurrentRole(roles, known)
  // An expired assignment exists until the controllers have removed it.
  const isPast = known !== undefined && isPastExpiry(known.spec.expiresAt, services.clock)
  const lifeParts = [
    ...(isPast ? [known.metadata.uid ?? ''] : []),
    ...(isOfAnother ? [incarnationOf(find, principalId, namespace) ?? ''] : []),
    ...(isOfAnotherRole ? [incarnationOfRole(roles, role.displayName) ?? ''] : []),
  ]
  const name = uuidV5([...parts, ...lifeParts].join('/'))
  const spec = {
    principalId,
    principalType,
    roleDefinitionName: role.displayName,
    scope,
    ...(scopeIncarnation === undefined ? {} : { scopeIncarnation }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(reason === undefined ? {} : { reason }),
  }
  const more = annotations === undefined ? {} : { annotations }
  return services.records.create(RoleAssignment, { namespace, name, spec, caller, ...more, isSame: () => true })
}

/** Removes assignments. One that is already gone, because a controller removed it after its end, is no error. */
export async function removeAssignments(
  { records }: Services,
  caller: Caller,
  assignments: readonly AssignmentRecord[],
): Promise<void> {
  for (const each of assignments) await records.remove(RoleAssignment, refOf(each), { caller }).catch(ignoreNotFound)
}
