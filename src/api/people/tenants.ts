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
 * The tenant of a boundary that is about to be made: the creator's first one that exists, else the installation's own.
 * Undefined if an administrator removed that one: then somebody must give the boundary to a tenant.
 */
export async function tenantOfCreator(
  { records, principals }: Pick<Services, 'records' | 'principals'>,
  caller: Caller,
): Promise<string | undefined> {
  const creator = (await principals.find([caller.principalId])).get(caller.principalId)
  const candidates = [...(creator?.tenantIds ?? []), DEFAULT_TENANT_ID]
  return candidates.find((name) => records.peek(PlatformTenant, { name }) !== undefined)
}
