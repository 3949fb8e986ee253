import { DEFAULT_TENANT_ID, PlatformTenant } from '../../crds/rbac.ts'
import type { BoundaryRecord } from '../callers/visibility.ts'
import type { Caller, Services } from '../http/context.ts'
import type { Records } from '../records/records.ts'

/** The tenant that a boundary belongs to. */
export interface Tenants {
  /** Undefined if it has none, or the tenant cannot be found. */
  ofBoundary(boundary: BoundaryRecord): string | undefined
}

/** The boundary's own tenant, if it exists. */
export function recordedTenants(records: Pick<Records, 'peek'>): Tenants {
  const exists = (name: string) => records.peek(PlatformTenant, { name }) !== undefined
  return {
    ofBoundary: ({ spec }) => (spec.tenantId !== undefined && exists(spec.tenantId) ? spec.tenantId : undefined),
  }
}

/**
 * Returns the existing tenants that a new boundary may belong to, in order of preference: the creator's, then the
 * installation's own. Empty if an administrator removed that one: the boundary must then be given to a tenant.
 */
export async function tenantsOfCreator(
  { records, principals }: Pick<Services, 'records' | 'principals'>,
  caller: Caller,
): Promise<readonly string[]> {
  const creator = (await principals.find([caller.principalId])).get(caller.principalId)
  const candidates = [...(creator?.tenantIds ?? []), DEFAULT_TENANT_ID]
  return candidates.filter((name) => records.peek(PlatformTenant, { name }) !== undefined)
}
