import { PlatformTenant } from '../../crds/rbac.ts'
import type { Services } from '../http/context.ts'
import { oneAtATime, tenantTurn } from './turns.ts'

/**
 * Puts somebody or something into a tenant, in turn with the removal of the tenant, which must not find it empty a moment
 * before. Undefined if the tenant is not there any more.
 */
export function inTenant<Result>(
  { records }: Pick<Services, 'records'>,
  tenantId: string,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  return oneAtATime({ records }, tenantTurn(tenantId), async () => {
    const found = await records.get(PlatformTenant, { name: tenantId }, { fresh: true })
    return found === undefined || found.metadata.deletionTimestamp !== undefined ? undefined : work()
  })
}
