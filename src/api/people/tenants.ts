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
 * The tenants that a boundary which is about to be made may belong to, the first one that still exists counts: the
 * creator's, then the installation's own. None if an administrator removed that one: then somebody must give the boundary
 * to a tenant.
 */
export async function tenantsOfCreator(
  { records, principals }: Pick<Services, 'records' | 'principals'>,
  caller: Caller,
): Promise<readonly string[]> {
  const creator = (await principals.find([caller.principalId])).get(caller.principalId)
  const candidates = [...(creator?.tenantIds ?? []), DEFAULT_TENANT_ID]
  return candidates.filter((name) => records.peek(PlatformTenant, { name }) !== undefined)
}
