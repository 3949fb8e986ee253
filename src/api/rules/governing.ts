import { principalOfIdentity } from '../../contracts/managedIdentities.ts'
import { PlatformError } from '../../core/errors.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { ROOT_SCOPE, type Scope } from '../../core/scope.ts'
import { ManagedIdentity } from '../../crds/managedidentities.ts'
import { DenyAssignment } from '../../crds/rbac.ts'
import { groupsOfMembers, type Memberships } from '../../iam/groups.ts'
import { coversTenures, mayRemoveRoles, type Tenure } from '../../iam/owners.ts'
import type { Services } from '../http/context.ts'
import { derivedFrom } from '../records/derived.ts'
import { type DenyRecord, deniesBySubject, denyApplies, type WantedDeny, withGroupsOf } from './denies.ts'
import { groupsIn, isPastExpiry } from './grants.ts'
import { actingOwners, actorsBehind, expiryTimeOf, type OwnerAssignment, ownersAt } from './owners.ts'

const identities = derivedFrom(ManagedIdentity, (all) => new Set(all.map(principalOfIdentity)))

type Denial = Pick<WantedDeny, 'principalId' | 'isEveryone' | 'excludedPrincipalIds' | 'expiresAt'>

/** A planned change; what is absent stays as it is. */
type Change = {
  /** Ids of the assignments that are removed. */
  removed?: ReadonlySet<string> | undefined
  /** The memberships once the change is made. */
  groups?: Memberships | undefined
  /** All denies of the boundary once the change is made. */
  denies?: readonly Denial[] | undefined
}

/**
 * Refuses a change that leaves a scope without an Owner who governs it. An Owner governs while no deny applies to them:
 * under a deny, whatever it takes away, they can neither give their role to others nor remove the deny. The identity of
 * a resource is deleted with it, and does not govern. If Owners leave, others must govern; and while somebody governs,
 * no deny may come to apply to all who do.
 *
 * @throws PlatformError of the code; lockout if memberships put those who stay under a deny
 */
export async function refuseUngoverned(
  services: Services,
  scope: Scope,
  change: Change,
  code: 'LAST_OWNER' | 'last_owner',
  extras: Record<string, unknown>,
): Promise<void> {
  const { going, governing, after } = await tenuresOf(services, scope, change)
  const areRemovable = mayRemoveRoles(governing, going)
  if (areRemovable && coversTenures(after, governing)) return
  if (areRemovable && change.removed === undefined && scope.level !== 'root')
    throw lockout(scope.boundaryId, 'A deny that names groups', 'change the deny first')
  throw new PlatformError(code, withoutOwner(scope), extras)
}

function withoutOwner(scope: Scope): string {
  return scope.level === 'root'
    ? 'The platform would be left without an Owner: make somebody else Owner at the root first.'
    : `Boundary "${scope.boundaryId}" would be left without an Owner: make somebody else Owner first.`
}

/**
 * Refuses a deny that applies to everybody who governs, or names an Owner of the platform: no boundary can deny them.
 *
 * @param replaced the name of the deny that this one replaces
 * @throws PlatformError lockout
 */
export async function refuseLockout(
  services: Services,
  boundaryId: string,
  body: WantedDeny,
  replaced?: string,
): Promise<void> {
  if (body.isEveryone !== true) await refuseReachingRootOwner(services, boundaryId, body)
  const others = deniesOf(services, boundaryId).filter(({ metadata }) => metadata.name !== replaced)
  const denies = [...others.map(({ spec }) => spec), body]
  const { governing, after } = await tenuresOf(services, { level: 'boundary', boundaryId }, { denies })
  if (!coversTenures(after, governing)) throw lockout(boundaryId, 'The deny', 'exclude one')
}

function lockout(boundaryId: string, deny: string, remedy: string): PlatformError {
  const message = `${deny} would leave boundary "${boundaryId}" without an Owner able to remove it: ${remedy}.`
  return new PlatformError('lockout', message, { boundaryId })
}

/** Returns the tenures of the Owners who leave, and when those who stay govern: now, and after the change. */
async function tenuresOf(services: Services, scope: Scope, { removed = new Set(), groups, denies }: Change) {
  const now = services.clock.now()
  const owners = await ownersAt(services, scope)
  const [actorsBefore, actorsAfter] = await Promise.all([
    actorsBehind(services, scope, owners),
    actorsBehind(services, scope, owners, groups),
  ])
  const losesActors = (principalId: string) => {
    const present = new Set(actorsAfter.get(principalId))
    return actorsBefore.get(principalId)?.some((id) => !present.has(id)) === true
  }
  const isLeaving = ({ id, principalId }: (typeof owners)[number]) => removed.has(id) || losesActors(principalId)
  const remaining = lastEnds(
    owners.filter(({ id }) => !removed.has(id)),
    actorsAfter,
  )
  // The identity of a resource is deleted with it, and the deletion of a resource is not checked for Owners.
  for (const id of identities(services.records)) if (id !== undefined) remaining.delete(id)
  const deniedUntil = deniedUntilLookup(services, scope, now, {})
  const deniedAfter = deniedUntilLookup(services, scope, now, { groups, denies })
  return {
    going: owners.filter(isLeaving).map(({ until }): Tenure => ({ from: now, until })),
    governing: [...remaining].map(([id, until]): Tenure => ({ from: deniedUntil(id), until })),
    after: [...remaining].map(([id, until]): Tenure => ({ from: deniedAfter(id), until })),
  }
}

/** Returns by person when their last tenure ends: the same people are behind many groups. */
function lastEnds(owners: readonly OwnerAssignment[], actors: ReadonlyMap<string, readonly string[]>) {
  const ends = new Map<string, number>()
  for (const { principalId, until } of owners)
    for (const id of actors.get(principalId) ?? []) if (until > (ends.get(id) ?? 0)) ends.set(id, until)
  return ends
}

/**
 * Returns until when denies name a principal: `now` if none does. Owners of the platform count too, although denies of
 * a boundary do not apply to them: no boundary is checked again when they cease to be Owners.
 */
function deniedUntilLookup(services: Services, scope: Scope, now: number, { groups, denies }: Change) {
  // Tenants write no denies at the root, and no role can remove them: there, only the right to give roles counts.
  const right = scope.level === 'root' ? 'rbac/members/admin' : 'rbac/members/write'
  const isHeldAtRoot = (id: string) => services.access.explain(id, right, '/').reason === 'DeniedByAssignment'
  const boundaryId = scope.level === 'root' ? undefined : scope.boundaryId
  const present = boundaryId === undefined ? [] : (denies ?? deniesOf(services, boundaryId).map(({ spec }) => spec))
  const groupsOf = groupsOfMembers(groups ?? groupsIn(services, boundaryId))
  const deniesOn = deniesBySubject(present)
  return (id: string): number => {
    if (isHeldAtRoot(id)) return Number.POSITIVE_INFINITY
    if (boundaryId === undefined) return now
    const applicable = deniesOn(withGroupsOf(id, groupsOf))
    return Math.max(now, ...applicable.map(({ expiresAt }) => expiryTimeOf(expiresAt)))
  }
}

/** The denies of the boundary that are in force. */
function deniesOf(services: Services, boundaryId: string): DenyRecord[] {
  return services.records
    .peekAll(DenyAssignment, { namespace: boundaryNamespace(boundaryId) })
    .filter(({ spec }) => !isPastExpiry(spec.expiresAt, services.clock))
}

async function refuseReachingRootOwner(services: Services, boundaryId: string, body: WantedDeny): Promise<void> {
  const groups = groupsOfMembers(groupsIn(services, boundaryId))
  const affected = [...(await actingOwners(services, ROOT_SCOPE))].filter((id) =>
    denyApplies(body, withGroupsOf(id, groups)),
  )
  if (affected.length === 0) return
  const message = 'The deny would apply to an Owner of the platform, to whom a boundary cannot deny anything.'
  throw new PlatformError('lockout', message, { boundaryId, principalIds: affected })
}

/**
 * Refuses memberships that put an Owner of the platform under a deny on a group: denies never apply to them.
 *
 * @param after the memberships once the change is made
 * @throws PlatformError lockout
 */
export async function refuseDenyingRootOwners(
  services: Services,
  boundaryId: string,
  after: Memberships,
): Promise<void> {
  const rootOwners = await actingOwners(services, ROOT_SCOPE)
  const naming = deniesOf(services, boundaryId).filter(({ spec }) => !spec.isEveryone)
  const [groupsNow, groupsAfter] = [groupsOfMembers(groupsIn(services, boundaryId)), groupsOfMembers(after)]
  for (const id of rootOwners) {
    const [now, later] = [withGroupsOf(id, groupsNow), withGroupsOf(id, groupsAfter)]
    if (!naming.some(({ spec }) => !denyApplies(spec, now) && denyApplies(spec, later))) continue
    const message =
      'A deny on the group would apply to an Owner of the platform, to whom a boundary cannot deny anything.'
    throw new PlatformError('lockout', message, { boundaryId, principalIds: [id] })
  }
}
