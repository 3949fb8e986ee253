import { formatBytes, formatCores } from '../../core/quantity.ts'
import { type Demand, demandOf, type Sizable } from '../../core/sizing/demand.ts'
import { grantKey } from '../../core/sizing/ledger.ts'
import { planFor } from '../../core/sizing/plans.ts'
import { type QuotaUser, retainedBeside } from '../../core/sizing/quota.ts'
import { ComputePlan } from '../../crds/plans.ts'
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

/** What one resource asks for, from its spec: a quota counts from the moment of acceptance. */
export function demandIn({ records }: Services, { kind: { sized }, object }: GroupResource): Demand {
  const resource = object as unknown as Sizable
  const plan = sized && planFor(sized, resource.spec, records.peekAll(ComputePlan))
  return demandOf(resource, plan, (name) => records.peek(ComputePlan, { name }))
}

/** What the groups' resources ask for together, with the volumes that former ones left on purpose. */
export function usageOf(
  services: Services,
  groups: readonly RecordOf<typeof ResourceGroup>[],
  resources: readonly GroupResource[],
): Usage {
  const sum = { cpu: 0n, memory: 0n, storage: 0n, pods: 0 }
  const users = resources.map((resource) => ({ key: quotaKeyOf(resource), demand: demandIn(services, resource) }))
  for (const { demand } of users) {
    sum.cpu += demand.cpu
    sum.memory += demand.memory
    sum.storage += demand.storage
    sum.pods += demand.pods
  }
  sum.storage += retainedBeside(groups.flatMap(retainedIn), users)
  return shownUsage({ ...sum, resources: resources.length })
}

export function shownUsage({ cpu, memory, storage, pods, resources }: Demand & { resources: number }): Usage {
  return { cpu: formatCores(cpu), memory: formatBytes(memory), storage: formatBytes(storage), pods, resources }
}
