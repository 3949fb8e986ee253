import { PlatformError } from '../../core/errors.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { parseScope, type Scope, scopeContains } from '../../core/scope.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { KINDS } from '../../crds/index.ts'
import { PrincipalGroup, RoleAssignment, RoleDefinition } from '../../crds/rbac.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { isAssignableAtRoot, isRootOnly } from '../../iam/roles.ts'
import type { Services } from '../context.ts'
import type { RecordOf } from '../records.ts'

export type RoleRecord = RecordOf<typeof RoleDefinition>

/** @throws PlatformError unknown_role */
export function findRole({ records }: Services, displayName: string): RoleRecord {
  const role = records.peekAll(RoleDefinition).find(({ spec }) => spec.displayName === displayName)
  if (role !== undefined) return role
  throw new PlatformError('unknown_role', `There is no role "${displayName.slice(0, 128)}"; names are matched exactly.`)
}

/** @throws PlatformError invalid_state for what is no scope, lies outside the boundary, or does not suit the role */
export function invitedScope(text: string, boundaryId: string, role: RoleRecord): Scope {
  const scope = parseScope(text)
  if (scope === undefined) throw new PlatformError('invalid_state', 'The scope is not written as one.')
  if (isRootOnly(role.spec)) {
    if (scope.level === 'root') return scope
    throw new PlatformError('invalid_state', `The role "${role.spec.displayName}" exists at the scope / only.`)
  }
  if (scopeContains({ level: 'boundary', boundaryId }, scope)) return scope
  throw new PlatformError('invalid_state', 'The scope lies outside the boundary.')
}

/**
 * Nobody hands on what they do not hold. Platform Owners may give any role to others, and roles of the root are given by
 * Owners and Platform Owners there.
 *
 * @throws PlatformError forbidden
 */
export function requireGrantRights(
  services: Services,
  caller: string,
  invitee: string | undefined,
  role: RoleRecord,
  scope: Scope,
  text: string,
): void {
  const { access } = services
  const { displayName } = role.spec
  const rootRoles = rolesAtRoot(services, caller)
  if (scope.level === 'root') {
    const holdsRoot = rootRoles.has('Owner') || rootRoles.has('Platform Owner')
    const isAllowed = holdsRoot && isAssignableAtRoot(role.spec) && access.isAllowed(caller, 'rbac/members/write', '/')
    if (!isAllowed)
      throw new PlatformError(
        'forbidden',
        `The role "${displayName}" is given by an Owner or Platform Owner at / only.`,
      )
  }
  if (rootRoles.has('Platform Owner') && access.isAllowed(caller, 'rbac/members/write', '/') && invitee !== caller)
    return
  if (access.holdsAll(caller, role.spec, text)) return
  const actions = [...role.spec.actions, ...role.spec.dataActions]
  const message = `The role "${displayName}" holds more than you hold at ${text}: you cannot give it.`
  throw new PlatformError('forbidden', message, { actions })
}

/** The names of roles that count at `/` now, given to the principal itself or to a group of the platform. */
function rolesAtRoot({ records, clock }: Services, principalId: string): Set<string> {
  const groups = records.peekAll(PrincipalGroup, { namespace: SYSTEM_NAMESPACE })
  const ids = new Set([principalId])
  for (let before = 0; before < ids.size; ) {
    before = ids.size
    for (const { metadata, spec } of groups) if (spec.memberIds.some((id) => ids.has(id))) ids.add(metadata.name)
  }
  const held = records.peekAll(RoleAssignment, { namespace: SYSTEM_NAMESPACE }).filter(({ spec }) => {
    const isOver = spec.expiresAt !== undefined && Date.parse(spec.expiresAt) <= clock.now()
    return spec.scope === '/' && ids.has(spec.principalId) && !isOver
  })
  return new Set(held.map(({ spec }) => spec.roleDefinitionName))
}

/** Where an assignment at the scope stands. */
export function assignmentNamespace(scope: Scope): string {
  return scope.level === 'root' ? SYSTEM_NAMESPACE : boundaryNamespace(scope.boundaryId)
}

/** Whether the principal was given the role at the scope directly, and still has it. */
export function holdsDirectly(
  services: Services,
  principalId: string,
  role: string,
  scope: Scope,
  text: string,
): boolean {
  const assignments = services.records.peekAll(RoleAssignment, { namespace: assignmentNamespace(scope) })
  return assignments.some(({ spec }) => {
    const isOver = spec.expiresAt !== undefined && Date.parse(spec.expiresAt) <= services.clock.now()
    return spec.principalId === principalId && spec.roleDefinitionName === role && spec.scope === text && !isOver
  })
}

/** @throws PlatformError invalid_state where nothing stands at the scope; undefined at the root */
export function incarnationAt({ records }: Services, scope: Scope): string | undefined {
  if (scope.level === 'root') return undefined
  const found = objectAt(records, scope)
  if (found === undefined) throw new PlatformError('invalid_state', 'There is nothing at the scope.')
  return found.metadata.annotations?.[INCARNATION_ANNOTATION]
}

function objectAt(records: Services['records'], scope: Exclude<Scope, { level: 'root' }>) {
  const { boundaryId } = scope
  if (scope.level === 'boundary') return records.peek(Boundary, { name: boundaryId })
  const namespace = boundaryNamespace(boundaryId)
  if (scope.level === 'resourceGroup') return records.peek(ResourceGroup, { namespace, name: scope.resourceGroup })
  const kind = KINDS.find(({ plural, placement }) => plural === scope.collection && placement === 'group')
  if (kind === undefined) return undefined
  const ref = { namespace: groupNamespace(boundaryId, scope.resourceGroup), name: scope.name }
  return records.peek(kind, ref) as { metadata: { annotations?: Record<string, string> } } | undefined
}
