import { boundaryOfNamespace } from '../../core/names.ts'
import { formatBytes, formatCores } from '../../core/quantity.ts'
import { type Demand, demandUnderPlans, type Sizable } from '../../core/sizing/demand.ts'
import { besideOthers, grantKey, LEDGER_NAME, NOTHING, type SeenUser } from '../../core/sizing/ledger.ts'
import { limitsAmounts, type QuotaUser, retainedBeside, thoseThatCount } from '../../core/sizing/quota.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { QuotaLedger } from '../../crds/quotas.ts'
import type { ResourceGroup } from '../../crds/resourcegroups.ts'
import { retainedUsers } from '../../crds/retainedStorage.ts'
import type { Services } from '../http/context.ts'
import type { RecordOf } from '../records/records.ts'
import type { GroupResource } from './contents.ts'

export type Usage = { cpu: string; memory: string; storage: string; pods: number; resources: number }

/** Volumes that were kept when resources of the group were deleted, as users of its quota. */
export function retainedIn({ metadata, status }: RecordOf<typeof ResourceGroup>): QuotaUser[] {
  return retainedUsers(metadata.name, status?.retainedStorage)
}

/** What a resource counts under in quotas and their ledger. */
export function quotaKeyOf({ kind, resourceGroup, object }: GroupResource): string {
  return grantKey(kind.plural, resourceGroup, object.metadata.name)
}

/** What one resource requests, from its spec; undefined if its plan does not exist. */
export function demandIn({ records }: Services, { kind: { sized }, object }: GroupResource): Demand | undefined {
  return demandUnderPlans(sized, object as unknown as Sizable, records.peekAll(ComputePlan))
}

/** Resources as users of quotas, whoever created them; those whose plan does not exist request nothing yet. */
export function quotaUsersOf(services: Services, resources: readonly GroupResource[]): SeenUser[] {
  return resources.map((resource) => {
    const { metadata, status } = resource.object
    const demand = demandIn(services, resource)
    const wasReady = (status as { firstReadyAt?: string } | undefined)?.firstReadyAt !== undefined
    const { resourceGroup } = resource
    const createdAt = metadata.creationTimestamp ?? ''
    const asked = { demand: demand ?? NOTHING, hasPlan: demand !== undefined }
    return { key: quotaKeyOf(resource), createdAt, resourceGroup, ...asked, wasReady }
  })
}

/**
 * What the groups' resources have of their quotas together, with the volumes that former ones left on purpose: what was refused
 * has nothing. Where nothing is limited, all that they ask for.
 */
export function usageOf(
  services: Services,
  groups: readonly RecordOf<typeof ResourceGroup>[],
  resources: readonly GroupResource[],
): Usage {
  const sum = { cpu: 0n, memory: 0n, storage: 0n, pods: 0 }
  const users = countedIn(services, groups, quotaUsersOf(services, resources))
  for (const { demand } of users) {
    sum.cpu += demand.cpu
    sum.memory += demand.memory
    sum.storage += demand.storage
    sum.pods += demand.pods
  }
  sum.storage += retainedBeside(groups.flatMap(retainedIn), users)
  return shownUsage({ ...sum, resources: users.length })
}

/** Groups of one boundary lie in its namespace, and so does its ledger. */
function countedIn(
  { records, clock }: Services,
  groups: readonly RecordOf<typeof ResourceGroup>[],
  users: readonly SeenUser[],
): readonly QuotaUser[] {
  const namespace = groups[0]?.metadata.namespace ?? ''
  const boundary = records.peek(Boundary, { name: boundaryOfNamespace(namespace) ?? '' })?.spec.quota ?? {}
  const limits = new Map(groups.map(({ metadata, spec }) => [metadata.name, spec.quota]))
  if (![boundary, ...limits.values()].some(limitsAmounts)) return users.filter(({ hasPlan }) => hasPlan)
  const grants = records.peek(QuotaLedger, { namespace, name: LEDGER_NAME })?.spec.grants ?? {}
  const now = clock.now()
  const standing = besideOthers(users, { wasReady: false }, grants, now)
  return thoseThatCount({ boundary, groups: limits }, standing)
}

export function shownUsage({ cpu, memory, storage, pods, resources }: Demand & { resources: number }): Usage {
  return { cpu: formatCores(cpu), memory: formatBytes(memory), storage: formatBytes(storage), pods, resources }
}
