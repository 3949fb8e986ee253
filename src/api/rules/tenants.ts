import { PlatformError } from '../../core/errors.ts'
import { PlatformTenant } from '../../crds/rbac.ts'
import type { Services } from '../http/context.ts'
import { tenantLock, withChangeLock } from './changeLocks.ts'

/**
 * Runs work that adds to a tenant, in turn with the removal of the tenant: otherwise the removal could find the tenant
 * empty a moment before. Returns undefined if the tenant no longer exists.
 */
export function withTenantLock<Result>(
  { records }: Pick<Services, 'records'>,
  tenantId: string,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  return withChangeLock({ records }, tenantLock(tenantId), async () => {
    const found = await records.get(PlatformTenant, { name: tenantId }, { fresh: true })
    return found === undefined || found.metadata.deletionTimestamp !== undefined ? undefined : work()
  })
}

export function noTenant(
  tenantId: string | undefined,
  code: 'TENANT_NOT_FOUND' | 'tenant_not_found' = 'tenant_not_found',
): PlatformError {
  return new PlatformError(code, `Tenant "${tenantId}" was not found.`, { tenantId })
}
