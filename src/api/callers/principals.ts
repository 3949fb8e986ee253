import { PlatformError } from '../../core/errors.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { PlatformClient, PlatformUser } from '../../crds/identity.ts'
import { PrincipalGroup } from '../../crds/rbac.ts'
import { displayNameOf } from '../people/accounts.ts'
import type { Records } from '../records/records.ts'

export type PrincipalType = 'User' | 'Group' | 'ServicePrincipal'
export type Principal = {
  readonly id: string
  readonly principalType: PrincipalType
  readonly displayName: string | null
  readonly email: string | null
  /** Always true for groups. */
  readonly isEnabled: boolean
  readonly lastSignInAt: string | null
  /** The tenants that a person belongs to; empty for others. */
  readonly tenantIds: readonly string[]
  /** Set for an id without a record: only the issuer knows whether it exists and whether it is a service account. */
  readonly isAssumed?: true
}

/** Who exists: people, service accounts and groups, whichever identity provider keeps them. */
export interface Principals {
  /**
   * Returns the principals that exist, by id. Groups are looked up in the boundary and in the platform; without a
   * boundary in the platform only.
   */
  find(ids: Iterable<string>, boundaryId?: string): Promise<ReadonlyMap<string, Principal>>
}

declare module '../http/context.ts' {
  interface Services {
    readonly principals: Principals
  }
}

export function principalNotFound(principalId: string): PlatformError {
  return new PlatformError('principal_not_found', `No principal has the id "${principalId}".`, { principalId })
}

/** Returns the principal with the type that a request names; undefined if it has another one. */
export function ofType(principal: Principal | undefined, wanted: PrincipalType | null | undefined) {
  if (principal === undefined || wanted == null || wanted === principal.principalType) return principal
  const mayBeServiceAccount = principal.isAssumed === true && wanted === 'ServicePrincipal'
  return mayBeServiceAccount ? { ...principal, principalType: wanted } : undefined
}

/** Returns the tenants of a person; none for other principals. */
export async function tenantsOf({ principals }: { principals: Principals }, id: string): Promise<readonly string[]> {
  return (await principals.find([id])).get(id)?.tenantIds ?? []
}

/** Principals of the local identity provider, from the caches. */
export function recordedPrincipals(records: Pick<Records, 'peek'>): Principals {
  const one = (id: string, boundaryId: string | undefined): Principal | undefined =>
    userOf(records, id) ?? clientOf(records, id) ?? groupOf(records, id, boundaryId)
  return {
    find: async (ids, boundaryId) => {
      const found = [...new Set(ids)].flatMap((id) => one(id, boundaryId) ?? [])
      return new Map(found.map((principal) => [principal.id, principal]))
    },
  }
}

function userOf(records: Pick<Records, 'peek'>, id: string): Principal | undefined {
  const user = records.peek(PlatformUser, { namespace: SYSTEM_NAMESPACE, name: id })
  if (user === undefined) return undefined
  const { email, isEnabled, tenantIds } = user.spec
  return {
    id,
    principalType: 'User',
    displayName: displayNameOf(user.spec),
    email: email ?? null,
    isEnabled,
    lastSignInAt: user.status?.lastSignInAt ?? null,
    tenantIds,
  }
}

function clientOf(records: Pick<Records, 'peek'>, id: string): Principal | undefined {
  const client = records.peek(PlatformClient, { namespace: SYSTEM_NAMESPACE, name: id })
  if (client === undefined) return undefined
  const { displayName, isEnabled } = client.spec
  const lastSignInAt = client.status?.lastTokenAt ?? null
  return { id, principalType: 'ServicePrincipal', displayName, email: null, isEnabled, lastSignInAt, tenantIds: [] }
}

function groupOf(records: Pick<Records, 'peek'>, id: string, boundaryId: string | undefined): Principal | undefined {
  const namespaces = boundaryId === undefined ? [SYSTEM_NAMESPACE] : [boundaryNamespace(boundaryId), SYSTEM_NAMESPACE]
  const group = namespaces.flatMap((namespace) => records.peek(PrincipalGroup, { namespace, name: id }) ?? [])[0]
  if (group === undefined) return undefined
  const { displayName } = group.spec
  return { id, principalType: 'Group', displayName, email: null, isEnabled: true, lastSignInAt: null, tenantIds: [] }
}
