import { PlatformError } from '../../core/errors.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { ROOT_SCOPE } from '../../core/scope.ts'
import { DenyAssignment } from '../../crds/rbac.ts'
import type { Memberships } from '../../iam/groups.ts'
import { boundaryScope } from '../callers/visibility.ts'
import type { Services } from '../http/context.ts'
import { type DenyRecord, reaches, type WantedDeny } from './denies.ts'
import { actingOwners, isOver, ownerEnds } from './grants.ts'

/**
 * Somebody must remain who can remove the deny: an Owner of the boundary to whom it does not apply. And no
 * boundary can deny Owners of the platform: none counts for them, and one that names them is refused.
 *
 * @throws PlatformError lockout
 */
export async function refuseLockout(services: Services, boundaryId: string, body: WantedDeny): Promise<void> {
  if (body.isEveryone !== true) await refuseReachingRootOwner(services, boundaryId, body)
  const able = await ableOwners(services, boundaryId)
  if (!whoMustRemain(able, body.expiresAt).some((owner) => !reaches(services, boundaryId, body, owner)))
    throw lockout(boundaryId, 'The deny', 'exclude one')
}

function lockout(boundaryId: string, deny: string, remedy: string): PlatformError {
  const message = `${deny} would leave boundary "${boundaryId}" without an Owner able to remove it: ${remedy}.`
  return new PlatformError('lockout', message, { boundaryId })
}

type Ends = ReadonlyMap<string, number>

/** The Owners who may remove denies, and when their role ends. */
async function ableOwners(services: Services, boundaryId: string): Promise<Ends> {
  const owners = await ownerEnds(services, { level: 'boundary', boundaryId })
  const mayRemove = (id: string) => services.access.isAllowed(id, 'rbac/members/write', boundaryScope(boundaryId))
  return new Map([...owners].filter(([id]) => mayRemove(id)))
}

/** Of them, those who are Owners for as long as the deny lasts; where none is, those who are Owners now. */
function whoMustRemain(able: Ends, deniedUntil: string | null | undefined): string[] {
  const until = typeof deniedUntil === 'string' ? Date.parse(deniedUntil) : Number.POSITIVE_INFINITY
  const staying = [...able].filter(([, end]) => end >= until)
  return (staying.length > 0 ? staying : [...able]).map(([id]) => id)
}

/**
 * The same where others come under denies that are there, because they come into a group or leave one.
 *
 * @param after the memberships once the change is made
 * @throws PlatformError lockout
 */
export async function refuseLockoutByGroups(services: Services, boundaryId: string, after: Memberships): Promise<void> {
  const { denies, comesUnder } = deniesAfter(services, boundaryId, after)
  if (denies.length === 0) return
  const able = await ableOwners(services, boundaryId)
  const touched = new Set([...able.keys()].filter((owner) => denies.some((deny) => comesUnder(deny, owner))))
  for (const deny of denies.filter((one) => [...touched].some((owner) => comesUnder(one, owner)))) {
    const isFree = (owner: string) => !touched.has(owner) && !reaches(services, boundaryId, deny.spec, owner, after)
    if (!whoMustRemain(able, deny.spec.expiresAt).some(isFree))
      throw lockout(boundaryId, 'A deny that names groups', 'change the deny first')
  }
}

/** The denies of the boundary that are in force, and whom one of them reaches only once the change is made. */
function deniesAfter(services: Services, boundaryId: string, after: Memberships) {
  const denies = services.records
    .peekAll(DenyAssignment, { namespace: boundaryNamespace(boundaryId) })
    .filter(({ spec }) => !isOver(spec.expiresAt, services.clock))
  const comesUnder = ({ spec }: DenyRecord, id: string) =>
    !reaches(services, boundaryId, spec, id) && reaches(services, boundaryId, spec, id, after)
  return { denies, comesUnder }
}

async function refuseReachingRootOwner(services: Services, boundaryId: string, body: WantedDeny): Promise<void> {
  const reached = [...(await actingOwners(services, ROOT_SCOPE))].filter((id) =>
    reaches(services, boundaryId, body, id),
  )
  if (reached.length === 0) return
  const message = 'The deny would apply to an Owner of the platform, to whom a boundary cannot deny anything.'
  throw new PlatformError('lockout', message, { boundaryId, principalIds: reached })
}

/**
 * A new member of a group comes under its denies, but Owners of the platform under none.
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
  const { denies, comesUnder } = deniesAfter(services, boundaryId, after)
  const naming = denies.filter(({ spec }) => !spec.isEveryone)
  for (const id of rootOwners) {
    if (!naming.some((deny) => comesUnder(deny, id))) continue
    const message =
      'A deny on the group would apply to an Owner of the platform, to whom a boundary cannot deny anything.'
    throw new PlatformError('lockout', message, { boundaryId, principalIds: [id] })
  }
}
