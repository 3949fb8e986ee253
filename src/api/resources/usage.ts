import { summarize } from '../../core/conditions.ts'
import { formatBytes, formatCores } from '../../core/quantity.ts'
import { type Demand, demandUnderPlans, type Sizable } from '../../core/sizing/demand.ts'
import { demandOfGrant, type Grants, grantKey, LEDGER_NAME, type SeenUser } from '../../core/sizing/ledger.ts'
import { type QuotaUser, retainedBeside } from '../../core/sizing/quota.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { QuotaLedger } from '../../crds/quotas.ts'
import type { ResourceGroup } from '../../crds/resourcegroups.ts'
import { retainedUsers } from '../../crds/retainedStorage.ts'
import type { Services } from '../http/context.ts'
import type { RecordOf } from '../records/records.ts'
import type { GroupResource } from './contents.ts'

export type Usage = { cpu: string; memory: string; storage: string; pods: number; resources: number }

/** Volumes that former resources of the group left on purpose, as users of its quota. */
export function retainedIn({ metadata, status }: RecordOf<typeof ResourceGroup>): QuotaUser[] {
  return retainedUsers(metadata.name, status?.retainedStorage)
}

/** What a resource counts under in quotas and their ledger. */
export function quotaKeyOf({ kind, resourceGroup, object }: GroupResource): string {
  return grantKey(kind.plural, resourceGroup, object.metadata.name)
}

/** What one resource asks for, from its spec; undefined where its plan is not there. */
export function demandIn({ records }: Services, { kind: { sized }, object }: GroupResource): Demand | undefined {
  return demandUnderPlans(sized, object as unknown as Sizable, records.peekAll(ComputePlan))
}

/** Resources as quotas see them, whoever made them; those without a plan ask for nothing yet. */
export function quotaUsersOf(services: Services, resources: readonly GroupResource[]): SeenUser[] {
  return resources.flatMap((resource) => {
    const { metadata, status } = resource.object
    const demand = demandIn(services, resource)
    if (demand === undefined) return []
    const wasReady = (status as { firstReadyAt?: string } | undefined)?.firstReadyAt !== undefined
    const { resourceGroup } = resource
    return { key: quotaKeyOf(resource), createdAt: metadata.creationTimestamp ?? '', resourceGroup, demand, wasReady }
  })
}

/**
 * What the groups' resources ask for together, with the volumes that former ones left on purpose. Those that were refused
 * by a quota have what they were granted before, or nothing.
 */
export function usageOf(
  services: Services,
  groups: readonly RecordOf<typeof ResourceGroup>[],
  resources: readonly GroupResource[],
): Usage {
  const sum = { cpu: 0n, memory: 0n, storage: 0n, pods: 0 }
  const grants = grantsAbove(services, groups)
  const refused = new Set(resources.filter(wasRefused).map(quotaKeyOf))
  const users = quotaUsersOf(services, resources).flatMap((user) => {
    if (!refused.has(user.key)) return user
    const grant = grants[user.key]
    return grant === undefined ? [] : { ...user, demand: demandOfGrant(grant) }
  })
  for (const { demand } of users) {
    sum.cpu += demand.cpu
    sum.memory += demand.memory
    sum.storage += demand.storage
    sum.pods += demand.pods
  }
  sum.storage += retainedBeside(groups.flatMap(retainedIn), users)
  return shownUsage({ ...sum, resources: users.length })
}

function wasRefused({ object }: GroupResource): boolean {
  const { status, metadata } = object
  return summarize(status, metadata.deletionTimestamp !== undefined).phase === 'QuotaExceeded'
}

/** Groups of one boundary lie in its namespace, and so does its ledger. */
function grantsAbove({ records }: Services, [group]: readonly RecordOf<typeof ResourceGroup>[]): Grants {
  const namespace = group?.metadata.namespace
  return namespace === undefined ? {} : (records.peek(QuotaLedger, { namespace, name: LEDGER_NAME })?.spec.grants ?? {})
}

export function shownUsage({ cpu, memory, storage, pods, resources }: Demand & { resources: number }): Usage {
  return { cpu: formatCores(cpu), memory: formatBytes(memory), storage: formatBytes(storage), pods, resources }
}
