import { patternFaults } from '../../core/actionPatterns.ts'
import { PlatformError, refusedFields } from '../../core/errors.ts'
import { objectId } from '../../core/ids.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { parseScope, ROOT_SCOPE, type Scope, scopeContains } from '../../core/scope.ts'
import { DenyAssignment } from '../../crds/rbac.ts'
import { type GroupsOfMember, groupsContaining, groupsOfMembers, type Memberships } from '../../iam/groups.ts'
import { ofType, type PrincipalType, principalNotFound } from '../callers/principals.ts'
import { findVisiblePrincipals } from '../callers/visiblePeople.ts'
import type { Services } from '../http/context.ts'
import type { RecordOf } from '../records/records.ts'
import { type Granter, groupsIn, isPastExpiry } from './grants.ts'
import { actingOwners } from './owners.ts'

export type DenyRecord = RecordOf<typeof DenyAssignment>

/** The input of the rules: a body of REST or a spec of kubectl. */
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

export function denyIdOf({ metadata }: DenyRecord): string {
  return objectId(DenyAssignment.resource, metadata)
}

/** The principal and the groups that it is in. Thousands of denies are compared with it, so find it once. */
export function withGroupsOf(principalId: string, groups: GroupsOfMember): ReadonlySet<string> {
  return groupsContaining(principalId, groups).add(principalId)
}

/** Whether a deny applies to a principal, directly or through groups. @param subjects the principal and its groups */
export function denyApplies(
  deny: Pick<WantedDeny, 'principalId' | 'isEveryone' | 'excludedPrincipalIds'>,
  subjects: ReadonlySet<string>,
): boolean {
  if (deny.excludedPrincipalIds.some((id) => subjects.has(id))) return false
  return deny.isEveryone === true || subjects.has(deny.principalId ?? '')
}

/** Returns a function that finds the denies of a principal without looking at those of others. */
export function deniesBySubject<Deny extends Parameters<typeof denyApplies>[0]>(denies: readonly Deny[]) {
  const ofEveryone = denies.filter(({ isEveryone }) => isEveryone === true)
  const named = Map.groupBy(
    denies.filter(({ isEveryone }) => isEveryone !== true),
    ({ principalId }) => principalId ?? '',
  )
  const exempting = Map.groupBy(
    denies.flatMap((deny) => deny.excludedPrincipalIds.map((id) => ({ id, deny }))),
    ({ id }) => id,
  )
  return (subjects: ReadonlySet<string>): Deny[] => {
    const ids = [...subjects]
    const exempt = new Set(ids.flatMap((id) => exempting.get(id) ?? []).map(({ deny }) => deny))
    return [...ofEveryone, ...ids.flatMap((id) => named.get(id) ?? [])].filter((deny) => !exempt.has(deny))
  }
}

/** @throws PlatformError BAD_REQUEST */
function readScope(text: string | null | undefined, boundaryId: string): Scope {
  const boundary: Scope = { level: 'boundary', boundaryId }
  if (text === null || text === undefined) return boundary
  const scope = parseScope(text)
  const message =
    scope === undefined
      ? 'is not a scope: write it as /boundaries/<uuid>/resourcegroups/<name>'
      : 'lies outside the boundary'
  if (scope === undefined || !scopeContains(boundary, scope)) {
    throw refusedFields([{ field: 'scope', message }])
  }
  return scope
}

/** @throws PlatformError BAD_REQUEST naming each field */
function checkBody(body: WantedDeny, now: number): void {
  const errors = patternFaults(body).map(({ field, message }) => ({ field, message }))
  if ((body.isEveryone === true) === (typeof body.principalId === 'string')) {
    errors.push({ field: 'principalId', message: 'give exactly one of principalId and isEveryone' })
  }
  if (body.actions.length + body.dataActions.length === 0) {
    errors.push({ field: 'actions', message: 'a deny must take away at least one action' })
  }
  if (typeof body.expiresAt === 'string' && Date.parse(body.expiresAt) <= now) {
    errors.push({ field: 'expiresAt', message: 'must lie in the future' })
  }
  if (errors.length > 0) throw refusedFields(errors)
}

/**
 * Refuses a change by which the caller would escape a deny. A deny on a group applies to its members, and a deny that
 * excludes a group applies to everybody else, so joining or leaving could shed it.
 *
 * @param after the memberships once the change is made
 * @throws PlatformError forbidden
 */
export function refuseEscapingDenies(
  services: Services,
  caller: Granter,
  boundaryId: string,
  after: Memberships,
): void {
  const userId = caller.principalId
  const [now, later] = [groupsIn(services, boundaryId), after].map((groups) =>
    withGroupsOf(userId, groupsOfMembers(groups)),
  ) as [ReadonlySet<string>, ReadonlySet<string>]
  const escapes = services.records
    .peekAll(DenyAssignment, { namespace: boundaryNamespace(boundaryId) })
    .filter(({ spec }) => !isPastExpiry(spec.expiresAt, services.clock))
    .some(({ spec }) => denyApplies(spec, now) && !denyApplies(spec, later))
  if (!escapes) return
  const message = 'A deny applies to you through a group: somebody else must remove you from it.'
  throw new PlatformError('forbidden', message, { userId })
}

/**
 * Refuses to remove a deny that applies to the caller. Denies of a boundary never apply to Owners of the platform.
 *
 * @throws PlatformError forbidden
 */
export async function refuseOwnDeny(
  services: Services,
  caller: Granter,
  boundaryId: string,
  deny: DenyRecord,
): Promise<void> {
  if (!denyApplies(deny.spec, withGroupsOf(caller.principalId, groupsOfMembers(groupsIn(services, boundaryId))))) return
  if ((await actingOwners(services, ROOT_SCOPE)).has(caller.principalId)) return
  const message = 'This deny applies to you: somebody to whom it does not apply must remove it.'
  throw new PlatformError('forbidden', message, { denyId: denyIdOf(deny) })
}

/**
 * Checks the rules of a deny, except for the lockout. Returns its scope and the type of the principal that it names.
 *
 * @throws PlatformError BAD_REQUEST, principal_not_found
 */
export async function checkDeny(services: Services, caller: Granter, boundaryId: string, wanted: WantedDeny) {
  checkBody(wanted, services.clock.now())
  const scope = readScope(wanted.scope, boundaryId)
  const { principalId, excludedPrincipalIds } = wanted
  const named = typeof principalId === 'string' ? [principalId] : []
  const known = await findVisiblePrincipals(services, caller, [...named, ...excludedPrincipalIds], boundaryId)
  for (const id of [...named, ...excludedPrincipalIds]) {
    if (!known.has(id)) throw principalNotFound(id)
  }
  const principal = known.get(principalId ?? '')
  const asNamed = ofType(principal, wanted.principalType)
  if (principal !== undefined && asNamed === undefined) throw principalNotFound(principal.id)
  return { scope, principalType: asNamed?.principalType }
}
