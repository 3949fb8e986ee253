import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { PrincipalGroup, RoleAssignment } from '../../crds/rbac.ts'
import type { Services } from '../http/context.ts'
import { checkedByHandler } from '../http/route.ts'
import { recordedTenants } from '../people/tenants.ts'
import { type Principal, tenantsOf } from './principals.ts'
import type { Caller } from './tokens.ts'

declare module '../http/context.ts' {
  interface Services {
    /** Decides whom a caller may see if `access` knows one boundary only; if absent, `access` decides. */
    readonly visibilityAccess?: Pick<Access, 'isAllowed' | 'boundariesOf'>
  }
}

/** Declares the authorization of routes that show the people whom `visiblePersonFilter` lets the caller see. */
export const visiblePeopleAuth = checkedByHandler(
  'a sign-in; shows the caller, people of their tenants and of those at a boundary of which they have `rbac/members/read`, and everybody with `rbac/members/admin` at the root',
)

type Person = { readonly id: string; readonly tenantIds: readonly string[] }
type Viewer = Pick<Caller, 'principalId'>
type Sources = Pick<Services, 'records' | 'access' | 'principals' | 'visibilityAccess'>

/**
 * Returns whether the caller may see a person: themselves, people of their own tenants, and people of the tenants whose
 * boundaries' members they may read. Callers who manage the members of the platform see everybody.
 */
export async function visiblePersonFilter(
  services: Sources,
  { principalId }: Viewer,
): Promise<(person: Person) => boolean> {
  const access = services.visibilityAccess ?? services.access
  if (access.isAllowed(principalId, 'rbac/members/admin', '/')) return () => true
  const own = await tenantsOf(services, principalId)
  const tenants = recordedTenants(services.records)
  const readableTenants = access
    .boundariesOf(principalId)
    .boundaryIds.filter((id) => access.isAllowed(principalId, 'rbac/members/read', `/boundaries/${id}`))
    .flatMap((name) => services.records.peek(Boundary, { name }) ?? [])
    .flatMap((boundary) => tenants.ofBoundary(boundary) ?? [])
  const visible = new Set([...own, ...readableTenants])
  return ({ id, tenantIds }) => id === principalId || tenantIds.some((tenant) => visible.has(tenant))
}

/**
 * Returns the principals that exist and that the caller may name in the boundary. People whom the caller cannot see are
 * left out, so that the response tells no more of them than of an unknown id. Those who have a role there already, or
 * are in a group of the boundary, are visible to everyone in its list of members.
 */
export async function findVisiblePrincipals(
  services: Sources,
  caller: Viewer,
  ids: readonly string[],
  boundaryId?: string,
): Promise<ReadonlyMap<string, Principal>> {
  const found = await services.principals.find(ids, boundaryId)
  const people = [...found.values()].filter(({ principalType }) => principalType === 'User')
  if (people.length === 0) return found
  const isSeen = await visiblePersonFilter(services, caller)
  const hiddenIds = new Set(people.filter((person) => !isSeen(person)).map(({ id }) => id))
  if (hiddenIds.size === 0) return found
  const members = principalsIn(services, boundaryId)
  return new Map([...found].filter(([id]) => !hiddenIds.has(id) || members.has(id)))
}

function principalsIn({ records }: Sources, boundaryId: string | undefined): ReadonlySet<string> {
  const namespace = boundaryId === undefined ? SYSTEM_NAMESPACE : boundaryNamespace(boundaryId)
  const assignments = [namespace, SYSTEM_NAMESPACE].flatMap((each) =>
    records.peekAll(RoleAssignment, { namespace: each }),
  )
  return new Set([
    ...assignments.map(({ spec }) => spec.principalId),
    ...records.peekAll(PrincipalGroup, { namespace }).flatMap(({ spec }) => spec.memberIds),
  ])
}
