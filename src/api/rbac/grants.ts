import type { Clock } from '../../core/clock.ts'
import { PlatformError } from '../../core/errors.ts'
import { idOf, uuidV5 } from '../../core/ids.ts'
import { INCARNATION_ANNOTATION, INITIAL_OWNER_ASSIGNED_ANNOTATION } from '../../core/labels.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { parseScope, type Scope } from '../../core/scope.ts'
import { Boundary } from '../../crds/boundaries.ts'
import type { AnyKind } from '../../crds/define.ts'
import { KINDS } from '../../crds/index.ts'
import { PrincipalGroup, RoleAssignment, RoleDefinition } from '../../crds/rbac.ts'
import { mayStandIn, scopeIncarnationOf, scopeObject } from '../../crds/scopeObjects.ts'
import { type GrantRefusal, refusalOf } from '../../iam/granting.ts'
import { everyoneIn, type Memberships } from '../../iam/groups.ts'
import { leavesNoOwner, type OwnerAssignment } from '../../iam/owners.ts'
import { BUILT_IN_ROLES, type Role } from '../../iam/roles.ts'
import { boundaryScope } from '../boundaries/visibility.ts'
import type { Caller, Services } from '../context.ts'
import type { RecordOf } from '../records.ts'

export const OWNER = 'Owner'
export type AssignmentRecord = RecordOf<typeof RoleAssignment>

/** The role of this very name. @throws PlatformError unknown_role */
export function findRole({ records }: Services, name: string): Role {
  const role = knownRole(records, name)
  if (role !== undefined) return role
  const roleDefinitionName = name
  throw new PlatformError('unknown_role', `No role is called "${name}"; names are matched exactly.`, {
    roleDefinitionName,
  })
}

export function knownRole(records: Services['records'], name: string): Role | undefined {
  const builtIn = BUILT_IN_ROLES.find(({ displayName }) => displayName === name)
  if (builtIn !== undefined) return builtIn
  const custom = records.peekAll(RoleDefinition).find(({ spec }) => spec.displayName === name)
  return custom === undefined ? undefined : { ...custom.spec, name: custom.metadata.name }
}

/** The groups that count in a boundary: its own and the platform's; of equal ids the members of both. */
export function groupsIn({ records }: Services, boundaryId: string | undefined): Memberships {
  const groups = new Map<string, readonly string[]>()
  const homes = boundaryId === undefined ? [SYSTEM_NAMESPACE] : [boundaryNamespace(boundaryId), SYSTEM_NAMESPACE]
  for (const namespace of homes) {
    for (const { metadata, spec } of records.peekAll(PrincipalGroup, { namespace })) {
      groups.set(metadata.name, [...(groups.get(metadata.name) ?? []), ...spec.memberIds])
    }
  }
  return groups
}

/** Why the caller may not give the role; undefined where they may. */
export function grantRefusal(
  services: Services,
  caller: Caller,
  grant: { role: Role; scope: string; principalIds: Iterable<string>; boundaryId?: string },
): GrantRefusal | undefined {
  const groups = groupsIn(services, grant.boundaryId)
  const gainerIds = new Set([...grant.principalIds].flatMap((id) => [...everyoneIn(id, groups)]))
  const { role, scope } = grant
  return refusalOf({ granterId: caller.principalId, gainerIds, role, scope }, services.access)
}

export function rootOnlyRefused(role: Role, scope: string): PlatformError {
  const message =
    scope === '/'
      ? `The role "${role.displayName}" is given at the root by its Owners and Platform Owners only.`
      : `The role "${role.displayName}" exists at the platform root only, not at ${scope}.`
  return new PlatformError('forbidden', message, { roleDefinitionName: role.displayName, scope })
}

export function exceedingRefused(
  code: 'GRANT_EXCEEDS_CALLER' | 'forbidden',
  role: Role,
  scope: string,
  actions: readonly string[],
): PlatformError {
  const message = `The role "${role.displayName}" holds actions that you do not hold at ${scope} and all of it.`
  return new PlatformError(code, message, { actions, roleDefinitionName: role.displayName, scope })
}

/** The life of the object at the scope, which a grant names so that a namesake made later does not have it. */
export function incarnationAt({ records }: Services, scope: Scope): string | undefined {
  return objectAt(records, scope)?.metadata.annotations?.[INCARNATION_ANNOTATION]
}

export function objectAt(records: Services['records'], scope: Scope): RecordOf<AnyKind> | undefined {
  const target = scopeObject(scope)
  const kind = KINDS.find(({ resource }) => resource === target?.resource)
  return target === undefined || kind === undefined ? undefined : records.peek(kind, target)
}

/** Whether an assignment grants anything now, by its place, its end and the life of its scope. */
export function isInForce(services: Services, assignment: AssignmentRecord): boolean {
  const { metadata, spec } = assignment
  const scope = parseScope(spec.scope)
  if (scope === undefined || !mayStandIn(scope, metadata.namespace) || isOver(spec.expiresAt, services.clock)) {
    return false
  }
  if (scope.level === 'root') return true
  const incarnation = scopeIncarnationOf(assignment)
  return incarnation !== undefined && incarnation === incarnationAt(services, scope)
}

export function isOver(expiresAt: string | undefined, clock: Clock): boolean {
  return expiresAt !== undefined && !(clock.now() < Date.parse(expiresAt))
}

export function assignmentIdOf({ metadata: { namespace, name } }: AssignmentRecord): string {
  return idOf({ group: RoleAssignment.resource.group, kind: RoleAssignment.kind, namespace, name })
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
 * Writes an assignment under a name that follows from what it says, so that the same one asked for twice at once is
 * made once. `isNew` is false where it was there.
 */
export async function writeAssignment(
  services: Services,
  caller: Caller,
  { principalId, principalType, role, scope, annotations, expiresAt, reason }: NewAssignment,
): Promise<{ object: AssignmentRecord; isNew: boolean }> {
  const place = parseScope(scope)
  if (place === undefined) throw new RangeError(`${scope} is no scope.`)
  const scopeIncarnation = incarnationAt(services, place)
  const name = uuidV5(['grant', principalId, role.displayName, scope, scopeIncarnation ?? ''].join('/'))
  const spec = {
    principalId,
    principalType,
    roleDefinitionName: role.displayName,
    scope,
    ...(scopeIncarnation === undefined ? {} : { scopeIncarnation }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(reason === undefined ? {} : { reason }),
  }
  const namespace = 'boundaryId' in place ? boundaryNamespace(place.boundaryId) : SYSTEM_NAMESPACE
  const more = annotations === undefined ? {} : { annotations }
  return services.records.create(RoleAssignment, { namespace, name, spec, caller, ...more, isSame: () => true })
}

/**
 * Runs one change of owners of a scope at a time: two Owners who remove each other at once must not both succeed.
 */
const chains = new Map<string, Promise<unknown>>()
export async function oneAtATime<Result>(scope: string, change: () => Promise<Result>): Promise<Result> {
  const before = chains.get(scope) ?? Promise.resolve()
  const mine = before.then(change, change)
  chains.set(scope, mine)
  try {
    return await mine
  } finally {
    if (chains.get(scope) === mine) chains.delete(scope)
  }
}

/** The Owner assignments at a scope itself; of a boundary also its first owner while no assignment says so yet. */
async function ownersAt(services: Services, scope: Scope): Promise<OwnerAssignment[]> {
  const isBoundary = scope.level === 'boundary'
  const namespace = isBoundary ? boundaryNamespace(scope.boundaryId) : SYSTEM_NAMESPACE
  const text = isBoundary ? boundaryScope(scope.boundaryId) : '/'
  // From the API server: what another replica accepted a moment ago must count.
  const all = await services.records.list(RoleAssignment, { namespace }, { fresh: true })
  const owners = all
    .filter(({ spec }) => spec.roleDefinitionName === OWNER && spec.scope === text)
    .filter((assignment) => isInForce(services, assignment))
    .map((assignment) => ({
      id: assignmentIdOf(assignment),
      principalId: assignment.spec.principalId,
      expiresAt: assignment.spec.expiresAt === undefined ? undefined : Date.parse(assignment.spec.expiresAt),
    }))
  const boundary = isBoundary ? services.records.peek(Boundary, { name: scope.boundaryId }) : undefined
  const isWritten = boundary?.metadata.annotations?.[INITIAL_OWNER_ASSIGNED_ANNOTATION] !== undefined
  const first = isWritten ? undefined : boundary?.spec.initialOwner
  if (first === undefined) return owners
  return [...owners, { id: 'initial-owner', principalId: first.principalId, expiresAt: undefined }]
}

/** Everybody who acts as Owner of the scope: people and service accounts that exist and are enabled. */
export async function actingOwners(services: Services, scope: Scope): Promise<Set<string>> {
  const owners = await ownersAt(services, scope)
  const acting = await actorsBehind(services, scope, owners)
  return new Set(owners.flatMap(({ principalId }) => acting.get(principalId) ?? []))
}

/**
 * Whether the scope has no Owner left who can act, once these assignments are gone.
 *
 * @param after who is no longer in any group, or the groups as they will be
 */
export async function takesLastOwner(
  services: Services,
  scope: Scope,
  removed: ReadonlySet<string>,
  after: { withoutPrincipal?: string; groups?: Memberships } = {},
): Promise<boolean> {
  const owners = await ownersAt(services, scope)
  const acting = await actorsBehind(services, scope, owners)
  const later = after.groups === undefined ? acting : await actorsBehind(services, scope, owners, after.groups)
  const actorsOf = (id: string) => acting.get(id) ?? []
  const canAct = (id: string) => (later.get(id) ?? []).some((actor) => actor !== after.withoutPrincipal)
  // Who leaves a group that is Owner takes themselves away from it, and with the last of them the group counts no more.
  const emptied = owners.filter(({ principalId }) => actorsOf(principalId).length > 0 && !canAct(principalId))
  const gone = new Set([...removed, ...emptied.map(({ id }) => id)])
  return leavesNoOwner(owners, gone, services.clock.now(), canAct)
}

/** By the principal of each owner: the people and service accounts behind it that can sign in. */
async function actorsBehind(
  services: Services,
  scope: Scope,
  owners: readonly OwnerAssignment[],
  memberships?: Memberships,
): Promise<Map<string, string[]>> {
  const boundaryId = scope.level === 'root' ? undefined : scope.boundaryId
  const groups = memberships ?? groupsIn(services, boundaryId)
  const behind = new Map(owners.map(({ principalId }) => [principalId, everyoneIn(principalId, groups)]))
  const known = await services.principals.find(
    [...behind.values()].flatMap((ids) => [...ids]),
    boundaryId,
  )
  const isActor = (id: string) => known.get(id)?.isEnabled === true && known.get(id)?.principalType !== 'Group'
  return new Map([...behind].map(([id, everyone]) => [id, [...everyone].filter(isActor)]))
}
