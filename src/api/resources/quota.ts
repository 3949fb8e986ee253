import { PlatformError } from '../../core/errors.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import { parseQuantity } from '../../core/quantity.ts'
import type { Demand } from '../../core/sizing/demand.ts'
import {
  covers,
  demandOfGrant,
  type Grants,
  grantKey,
  grantOf,
  heldOf,
  isGroupGrant,
  isInFlight,
  unseenUsers,
} from '../../core/sizing/ledger.ts'
import { limitsAmounts, type QuotaLimits, retainedBeside } from '../../core/sizing/quota.ts'
import { Boundary } from '../../crds/boundaries.ts'
import type { AnyKind } from '../../crds/define.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import type { Context } from '../http/context.ts'
import type { RecordOf } from '../records/records.ts'
import { type GroupResource, resourcesOfBoundary, resourcesOfGroup } from './contents.ts'
import type { Place } from './places.ts'
import { givingBack, grantsOf, nowOf, type Taken, takeQuota } from './quotaLedger.ts'
import { demandIn, quotaKeyOf, retainedIn, shownUsage } from './usage.ts'

const NAMES = ['cpu', 'memory', 'storage', 'pods', 'resources'] as const
type Total = Demand & { resources: number }

/** Reserves what a spec asks for, before it is written. @throws PlatformError QUOTA_EXCEEDED */
export type Reserve = (spec: object) => Promise<void>

/**
 * Performs a write that may take quota. The boundary's ledger records the grant before the write is sent, so that of
 * several concurrent requests, at any facade, only those that fit succeed. Usage over a limit may stay or shrink: only
 * growth is refused.
 */
export async function underQuota<Result>(
  kind: AnyKind,
  place: Place,
  context: Pick<Context, 'services' | 'caller'>,
  write: (reserve: Reserve) => Promise<Result>,
): Promise<Result> {
  const taken: Taken[] = []
  return givingBack(context, place.boundaryId, taken, () =>
    write(async (spec) => {
      const one = await reserve(kind, place, spec, context)
      if (one !== undefined) taken.push(one)
    }),
  )
}

type Limited = {
  where: string
  limits: QuotaLimits
  groups: readonly RecordOf<typeof ResourceGroup>[]
  resources: () => readonly GroupResource[]
  group?: string
}

async function reserve(
  kind: AnyKind,
  place: Place,
  spec: object,
  context: Pick<Context, 'services' | 'caller'>,
): Promise<Taken | undefined> {
  const limited = limitsAbove(place, context)
  if (limited.length === 0) return undefined
  const { boundaryId, resourceGroup, name } = place
  const { services } = context
  const next = { kind, resourceGroup, object: objectOf(kind, place, spec) }
  const key = grantKey(kind.plural, resourceGroup, name)
  const wanted = demandIn(services, next)
  const current = resourcesOfGroup(services, boundaryId, resourceGroup).find((one) => quotaKeyOf(one) === key)
  const own = current && demandIn(services, current)
  const now = () => services.clock.now()
  const judge = (grants: Grants) => {
    const grant = grants[key]
    const fresh = grant !== undefined && isInFlight(grant, now()) ? grant : undefined
    // An existing resource that does not grow needs no grant, unless a fresh one says more than it asks for now.
    if (own !== undefined && covers(own, wanted) && fresh === undefined) return undefined
    if (fresh !== undefined && isSame(demandOfGrant(fresh), wanted)) return undefined
    const granted = fresh && demandOfGrant(fresh)
    const before = own !== undefined && fresh !== undefined ? heldOf(own, fresh, now()) : (own ?? granted)
    for (const each of limited) refuseGrowth(each, { key, wanted, before }, grants, context)
    return grantOf(wanted, nowOf(context))
  }
  // No call if there is nothing to grant.
  if (own !== undefined && covers(own, wanted) && grantsOf(context, boundaryId)[key] === undefined) return undefined
  return takeQuota(context, boundaryId, key, judge)
}

const isSame = (one: Demand, other: Demand) => covers(one, other) && covers(other, one)

function limitsAbove({ boundaryId, resourceGroup }: Place, { services }: Pick<Context, 'services'>): Limited[] {
  const { records } = services
  const group = records.peek(ResourceGroup, { namespace: boundaryNamespace(boundaryId), name: resourceGroup })
  const boundary = records.peek(Boundary, { name: boundaryId })
  const all: Limited[] = [
    {
      where: `group "${resourceGroup}"`,
      limits: group?.spec.quota ?? {},
      groups: group === undefined ? [] : [group],
      resources: () => resourcesOfGroup(services, boundaryId, resourceGroup),
      group: resourceGroup,
    },
    {
      where: `boundary "${boundaryId}"`,
      limits: boundary?.spec.quota ?? {},
      groups: records.peekAll(ResourceGroup, { namespace: boundaryNamespace(boundaryId) }),
      resources: () => resourcesOfBoundary(services, boundaryId),
    },
  ]
  return all.filter(({ limits }) => limitsAmounts(limits))
}

function objectOf(kind: AnyKind, place: Place, spec: object): GroupResource['object'] {
  const namespace = groupNamespace(place.boundaryId, place.resourceGroup)
  const { apiVersion, kind: word } = kind
  return { apiVersion, kind: word, metadata: { namespace, name: place.name }, spec } as GroupResource['object']
}

type Asking = { key: string; wanted: Demand; before: Demand | undefined }

function refuseGrowth(
  { where, limits, groups, resources, group }: Limited,
  { key, wanted, before }: Asking,
  grants: Grants,
  { services }: Pick<Context, 'services'>,
): void {
  const now = services.clock.now()
  const seen = new Map(resources().map((resource) => [quotaKeyOf(resource), resource]))
  const others = [...seen]
    .filter(([other]) => other !== key)
    .map(([other, resource]) => {
      const demand = demandIn(services, resource)
      const grant = grants[other]
      // A fresh grant may be for a change that the cache has not seen.
      const isFresh = grant !== undefined && isInFlight(grant, now)
      return { key: other, demand: isFresh ? (heldOf(demand, grant, now) ?? demand) : demand }
    })
  const unseen = unseenUsers(grants, (other) => other === key || seen.has(other), now).filter(
    (user) => !isGroupGrant(user.key) && (group === undefined || user.resourceGroup === group),
  )
  const users = [...others, ...unseen]
  const used = total(users.map(({ demand }) => demand))
  const retained = groups.flatMap(retainedIn).filter((user) => user.key !== key)
  used.storage += retainedBeside(retained, users)
  const [asked, held] = [total([wanted]), total(before === undefined ? [] : [before])]
  for (const quota of NAMES) {
    const limit = limits[quota]
    if (limit === undefined || asked[quota] <= held[quota]) continue
    if (amount(used[quota]) + amount(asked[quota]) <= parseQuantity(String(limit))) continue
    const [usage, requested] = [shownUsage(used)[quota], shownUsage(asked)[quota]]
    const message = `The quota ${quota} of ${where} is ${limit}; ${usage} is used and ${requested} is asked for.`
    throw new PlatformError('QUOTA_EXCEEDED', message, { quota, limit, used: usage, requested })
  }
}

function total(demands: readonly Demand[]): Total {
  const sum = { cpu: 0n, memory: 0n, storage: 0n, pods: 0, resources: demands.length }
  for (const { cpu, memory, storage, pods } of demands) {
    sum.cpu += cpu
    sum.memory += memory
    sum.storage += storage
    sum.pods += pods
  }
  return sum
}

/** In thousandths, as quantities are parsed. */
function amount(value: bigint | number): bigint {
  return typeof value === 'number' ? BigInt(value) * 1000n : value
}
