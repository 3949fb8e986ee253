import { badRequest, PlatformError } from '../../core/errors.ts'
import { idOf } from '../../core/ids.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { parseScope, type Scope, scopeContains } from '../../core/scope.ts'
import { DenyAssignment } from '../../crds/rbac.ts'
import { ACTIONS, isOpenAction } from '../../iam/actions.ts'
import { groupsAround, type Memberships } from '../../iam/groups.ts'
import { compilePermissions, hasAction } from '../../iam/permissions.ts'
import { type PrincipalType, principalNotFound } from '../callers/principals.ts'
import { boundaryScope } from '../callers/visibility.ts'
import type { Services } from '../http/context.ts'
import type { RecordOf } from '../records/records.ts'
import { actingOwners, type Granter, groupsIn, isOver } from './grants.ts'

export type DenyRecord = RecordOf<typeof DenyAssignment>

/** What the rules look at: the body of REST and the spec of kubectl alike. */
export type WantedDeny = {
  principalId?: string | null | undefined
  isEveryone?: boolean | null | undefined
  principalType?: PrincipalType | null | undefined
  excludedPrincipalIds: string[]
  actions: string[]
  dataActions: string[]
  /** The boundary when absent. */
  scope?: string | null | undefined
  expiresAt?: string | null | undefined
}

export function denyIdOf({ metadata: { namespace, name } }: DenyRecord): string {
  return idOf({ group: DenyAssignment.resource.group, kind: DenyAssignment.kind, namespace, name })
}

/** Whom a deny reaches, groups included. */
export function reaches(
  services: Services,
  boundaryId: string,
  deny: {
    principalId?: string | null | undefined
    isEveryone?: boolean | null | undefined
    excludedPrincipalIds: string[]
  },
  principalId: string,
  memberships?: Memberships,
): boolean {
  const around = groupsAround(principalId, memberships ?? groupsIn(services, boundaryId)).add(principalId)
  if (deny.excludedPrincipalIds.some((id) => around.has(id))) return false
  return deny.isEveryone === true || around.has(deny.principalId ?? '')
}

/** @throws PlatformError BAD_REQUEST */
function readScope(text: string | null | undefined, boundaryId: string): Scope {
  const boundary: Scope = { level: 'boundary', boundaryId }
  if (text === null || text === undefined) return boundary
  const scope = parseScope(text)
  const message =
    scope === undefined
      ? 'is no scope: write it as /boundaries/<uuid>/resourcegroups/<name>'
      : 'lies outside the boundary'
  if (scope === undefined || !scopeContains(boundary, scope)) {
    throw badRequest('The scope of the deny was refused.', [{ field: 'scope', message }])
  }
  return scope
}

/** Patterns that match no action deny nothing, and whoever wrote them believes otherwise. */
function patternErrors(field: 'actions' | 'dataActions', patterns: readonly string[]) {
  const isData = field === 'dataActions'
  return patterns.flatMap((pattern, index) =>
    isMatching(pattern, isData)
      ? []
      : [{ field: `${field}.${index}`, message: `matches no ${isData ? 'data action' : 'action'} of the platform` }],
  )
}

function isMatching(pattern: string, isData: boolean): boolean {
  if (!isData && isOpenAction(pattern)) return true
  try {
    const set = compilePermissions({
      actions: isData ? [] : [pattern],
      dataActions: isData ? [pattern] : [],
      notActions: [],
      notDataActions: [],
    }).atRoot
    return ACTIONS.some(({ index }) => hasAction(set, index))
  } catch {
    return false
  }
}

/** @throws PlatformError BAD_REQUEST naming each field */
function checkBody(body: WantedDeny, now: number): void {
  const errors = [...patternErrors('actions', body.actions), ...patternErrors('dataActions', body.dataActions)]
  if ((body.isEveryone === true) === (typeof body.principalId === 'string')) {
    errors.push({ field: 'principalId', message: 'give exactly one of principalId and isEveryone' })
  }
  if (body.actions.length + body.dataActions.length === 0) {
    errors.push({ field: 'actions', message: 'a deny takes away at least one action' })
  }
  if (typeof body.expiresAt === 'string' && Date.parse(body.expiresAt) <= now) {
    errors.push({ field: 'expiresAt', message: 'must lie in the future' })
  }
  if (errors.length > 0) throw badRequest('The deny was refused.', errors)
}

/**
 * A deny on a group holds its members, and one that spares a group holds whoever is not in it: nobody gets rid of one by
 * joining or leaving.
 *
 * @param after the memberships once the change is made
 * @throws PlatformError forbidden
 */
export function refuseSheddingDenies(
  services: Services,
  caller: Granter,
  boundaryId: string,
  after: Memberships,
): void {
  const userId = caller.principalId
  const sheds = services.records
    .peekAll(DenyAssignment, { namespace: boundaryNamespace(boundaryId) })
    .filter(({ spec }) => !isOver(spec.expiresAt, services.clock))
    .some(
      ({ spec }) => reaches(services, boundaryId, spec, userId) && !reaches(services, boundaryId, spec, userId, after),
    )
  if (!sheds) return
  const message = 'A deny reaches you through a group: somebody else must take you out of it.'
  throw new PlatformError('forbidden', message, { userId })
}

/** Nobody takes a deny away that holds them back themselves. @throws PlatformError forbidden */
export function refuseOwnDeny(services: Services, caller: Granter, boundaryId: string, deny: DenyRecord): void {
  if (!reaches(services, boundaryId, deny.spec, caller.principalId)) return
  const message = 'This deny holds you back yourself: somebody whom it does not reach must remove it.'
  throw new PlatformError('forbidden', message, { denyId: denyIdOf(deny) })
}

/** Somebody must be left who can take the deny away again: an Owner of the boundary whom it does not reach. */
export async function refuseLockout(services: Services, boundaryId: string, body: WantedDeny): Promise<void> {
  const scope: Scope = { level: 'boundary', boundaryId }
  for (const owner of await actingOwners(services, scope)) {
    if (reaches(services, boundaryId, body, owner)) continue
    if (services.access.isAllowed(owner, 'rbac/members/write', boundaryScope(boundaryId))) return
  }
  const message = `The deny would leave boundary "${boundaryId}" without an Owner able to remove it: exclude one.`
  throw new PlatformError('lockout', message, { boundaryId })
}

/**
 * The rules of a deny but for the lock-out. Answers its scope and the type of whom it names.
 *
 * @throws PlatformError BAD_REQUEST, principal_not_found
 */
export async function checkDeny(services: Services, boundaryId: string, wanted: WantedDeny) {
  checkBody(wanted, services.clock.now())
  const scope = readScope(wanted.scope, boundaryId)
  const { principalId, excludedPrincipalIds } = wanted
  const named = typeof principalId === 'string' ? [principalId] : []
  const known = await services.principals.find([...named, ...excludedPrincipalIds], boundaryId)
  for (const id of [...named, ...excludedPrincipalIds]) {
    if (!known.has(id)) throw principalNotFound(id)
  }
  const principalType = known.get(principalId ?? '')?.principalType
  if (wanted.principalType && wanted.principalType !== principalType && principalType !== undefined) {
    throw principalNotFound(principalId ?? '')
  }
  return { scope, principalType }
}
