import { boundaryOfNamespace } from '../../core/names.ts'
import { formatBytes, formatCores } from '../../core/quantity.ts'
import { type Demand, type PartOwner, sumDemands } from '../../core/sizing/demand.ts'
import { LEDGER_NAME, type SeenUser, usersAgainst } from '../../core/sizing/ledger.ts'
import { countedUsers, extraRetainedStorage, limitsAmounts, type QuotaUser } from '../../core/sizing/quota.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { QuotaLedger } from '../../crds/quotas.ts'
import { holderOfCounted, quotaUserOf } from '../../crds/quotaUsers.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { retainedUsers } from '../../crds/retainedStorage.ts'
import type { Services } from '../http/context.ts'
import type { RecordOf } from '../records/records.ts'
import { countedInBoundary, type GroupResource } from './contents.ts'

export type Usage = { cpu: string; memory: string; storage: string; pods: number; resources: number }

/** Returns the volumes that deleted resources of the group retained, as users of its quota. */
export function retainedIn({ metadata, status }: RecordOf<typeof ResourceGroup>): QuotaUser[] {
  return retainedUsers(metadata.name, status?.retainedStorage)
}

/** Returns the resource that a counted part belongs to, from the cache. */
function holderIn({ records }: Services, { kind, object: { metadata, spec } }: GroupResource): PartOwner | undefined {
  const holder = holderOfCounted(kind, metadata, spec)
  const found = holder && records.peek(holder.kind, { namespace: metadata.namespace, name: holder.name })
  return found as PartOwner | undefined
}

/** Like `holderIn`, but asks the API server for what the cache lacks: another replica may have just created it. */
export async function freshHolder(services: Services, resource: GroupResource): Promise<PartOwner | undefined> {
  const { metadata, spec } = resource.object
  const holder = holderOfCounted(resource.kind, metadata, spec)
  const known = holderIn(services, resource)
  if (holder === undefined || known !== undefined) return known
  const ref = { namespace: metadata.namespace, name: holder.name }
  return (await services.records.get(holder.kind, ref, { fresh: true })) as PartOwner | undefined
}

/**
 * Returns a resource, or a part of one, as a user of quotas, whoever created it.
 *
 * @param holder of a part, if another one than the cached one counts
 */
export function quotaUserIn(
  services: Services,
  resource: GroupResource,
  holder = holderIn(services, resource),
  plans = services.records.peekAll(ComputePlan),
): SeenUser {
  const { kind, resourceGroup, object } = resource
  return quotaUserOf(kind, resourceGroup, object as never, { plans, holder })
}

export function quotaUsersOf(services: Services, resources: readonly GroupResource[]): SeenUser[] {
  const plans = services.records.peekAll(ComputePlan)
  return resources.map((resource) => quotaUserIn(services, resource, undefined, plans))
}

/**
 * Returns what the resources of groups use of their quotas together, with the retained volumes of former ones. Refused
 * resources use nothing. If nothing is limited, all that they request counts.
 */
export function usageOf(
  services: Services,
  groups: readonly RecordOf<typeof ResourceGroup>[],
  counted: readonly GroupResource[],
): Usage {
  const users = quotaUsersIn(services, groups, quotaUsersOf(services, counted))
  const sum = sumDemands(users.map(({ demand }) => demand))
  const storage = sum.storage + extraRetainedStorage(groups.flatMap(retainedIn), users)
  return shownUsage({ ...sum, storage, resources: users.filter(({ isPart }) => isPart !== true).length })
}

/** Returns the users that count. The groups must be of one boundary, whose namespace holds them and the ledger. */
function quotaUsersIn(
  services: Services,
  groups: readonly RecordOf<typeof ResourceGroup>[],
  users: readonly SeenUser[],
): readonly QuotaUser[] {
  const { records } = services
  const namespace = groups[0]?.metadata.namespace ?? ''
  const boundaryId = boundaryOfNamespace(namespace) ?? ''
  const boundary = records.peek(Boundary, { name: boundaryId })?.spec.quota ?? {}
  const isLimited = [boundary, ...groups.map(({ spec }) => spec.quota)].some(limitsAmounts)
  if (!isLimited) return users.filter(({ hasPlan }) => hasPlan)
  const grants = records.peek(QuotaLedger, { namespace, name: LEDGER_NAME })?.spec.grants ?? {}
  const standing = (each: readonly SeenUser[]) => usersAgainst(each, { wasReady: false }, grants)
  const own = standing(users)
  if (own.every(({ isGranted }) => isGranted === true)) return own
  // Whether a waiting resource fits depends on all that share a limit with it.
  const limitingGroups = limitsAmounts(boundary) ? records.peekAll(ResourceGroup, { namespace }) : groups
  const all =
    limitingGroups.length === groups.length
      ? own
      : standing(quotaUsersOf(services, countedInBoundary(services, boundaryId)))
  const names = new Set(groups.map(({ metadata }) => metadata.name))
  const limits = { boundary, groups: new Map(limitingGroups.map(({ metadata, spec }) => [metadata.name, spec.quota])) }
  return countedUsers(limits, [...all, ...limitingGroups.flatMap(retainedIn)]).filter(
    ({ resourceGroup, isRetained }) => names.has(resourceGroup) && isRetained !== true,
  )
}

export function shownUsage({ cpu, memory, storage, pods, resources }: Demand & { resources: number }): Usage {
  return { cpu: formatCores(cpu), memory: formatBytes(memory), storage: formatBytes(storage), pods, resources }
}
