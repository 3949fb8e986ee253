import { PlatformError } from '../../core/errors.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import { type Demand, NO_DEMAND, type PartOwner, sumDemands } from '../../core/sizing/demand.ts'
import {
  coversDemand,
  demandOfGrant,
  grantOf,
  groupOfGrant,
  heldDemandOf,
  isInFlight,
  maxDemand,
  type QuotaGrant,
  type QuotaGrants,
  type SeenUser,
  usersAgainst,
} from '../../core/sizing/ledger.ts'
import { evaluateQuota, limitsAmounts, type QuotaLimits, type QuotaName } from '../../core/sizing/quota.ts'
import { Boundary } from '../../crds/boundaries.ts'
import type { AnyKind } from '../../crds/define.ts'
import { QUOTA_COUNTED_KINDS } from '../../crds/index.ts'
import { holderOfCounted, lapsedCounted, unseenCounted } from '../../crds/quotaUsers.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import type { Context } from '../http/context.ts'
import type { RecordOf } from '../records/records.ts'
import { countedInBoundary, countedInGroup, type GroupResource } from './contents.ts'
import type { ResourceLocation } from './find.ts'
import { nowOf } from './nowOf.ts'
import { type ReservedQuota, releaseQuotaOnRefusal, reserveQuota } from './quotaLedger.ts'
import { freshHolder, quotaUserIn, quotaUsersOf, retainedIn } from './usage.ts'

/** Reserves what a spec requests, before it is written. @throws PlatformError QUOTA_EXCEEDED */
export type Reserve = (spec: object) => Promise<undefined>

/**
 * Performs a write that may take quota. The boundary's ledger records the grant before the write is sent, so that of
 * several concurrent requests, at any facade, only those that fit succeed. Usage over a limit may stay or shrink: only
 * growth is refused.
 */
export async function withReservedQuota<Result>(
  kind: AnyKind,
  location: ResourceLocation,
  context: Pick<Context, 'services' | 'caller'>,
  write: (reserve: Reserve) => Promise<Result>,
): Promise<Result> {
  const reserved: ReservedQuota[] = []
  return releaseQuotaOnRefusal(context, location.boundaryId, reserved, () =>
    write(async (spec) => {
      reserved.push(...(await reserve(kind, location, spec, context)))
      return undefined
    }),
  )
}

type Limited = {
  boundary: QuotaLimits
  groups: readonly RecordOf<typeof ResourceGroup>[]
  /** Returns the resources that share a limit. */
  counted: () => readonly GroupResource[]
}

/**
 * A resource whose demand grows: `user` has the demand after the write, `own` is the present one if the resource
 * exists. A part of the written resource that was never granted anything may wait for room on its own.
 */
type PendingUser = { user: SeenUser; own: Demand | undefined; mayWait: boolean }

async function reserve(
  kind: AnyKind,
  location: ResourceLocation,
  spec: object,
  context: Pick<Context, 'services' | 'caller'>,
): Promise<readonly ReservedQuota[]> {
  const { services } = context
  const limited = QUOTA_COUNTED_KINDS.includes(kind) ? limitsAbove(location, services) : undefined
  if (limited === undefined) return []
  const { resourceGroup } = location
  const written = { kind, resourceGroup, object: objectOf(kind, location, spec) }
  const wanted = quotaUserIn(services, written, await freshHolder(services, written))
  // If the plan is missing, the write itself is refused for that.
  const growing = wanted.hasPlan ? growingUsers(wanted, written, limited, services) : []
  if (growing.length === 0) return []
  return reserveQuota(context, location.boundaryId, (grants) => {
    const now = services.clock.now()
    const asking = growing.map((one) => ({ ...one, ...standingOf(one, grants[one.user.key], now) })).filter(needsGrant)
    const [first] = asking
    if (first === undefined) return {}
    const held = asking.some((one) => one.held) ? sumDemands(asking.map((one) => one.held ?? NO_DEMAND)) : undefined
    // What one resource gives up at the same time is not free for the others yet.
    const subject = { ...first.user, demand: sumDemands(asking.map(({ granted }) => granted)), held }
    const keys = new Set(asking.map(({ user }) => user.key))
    const users = quotaUsersOf(services, limited.counted())
    const seen = new Set([...keys, ...users.map(({ key }) => key)])
    refuseBeyond(limited, { subject, keys, seen }, users, { grants, now }, location)
    const groups = new Set(limited.groups.map(({ metadata }) => metadata.name))
    const lapsed = lapsedCounted(grants, (key) => seen.has(key) || !groups.has(groupOfGrant(key)), now)
    return Object.fromEntries([
      ...lapsed.map((key) => [key, undefined]),
      ...asking.map(({ user, granted }) => [user.key, grantOf(granted, nowOf(context))]),
    ])
  })
}

/**
 * Returns what a write makes grow: the object itself, and parts that take their plan from it. A resource that does not
 * grow needs no grant, and what it no longer needs is free once the change is carried out.
 */
function growingUsers(
  wanted: SeenUser,
  written: GroupResource,
  limited: Limited,
  services: Context['services'],
): PendingUser[] {
  const counted = limited.counted()
  const isInSameGroup = ({ resourceGroup }: Pick<GroupResource, 'resourceGroup'>) =>
    resourceGroup === written.resourceGroup
  const isWritten = ({ kind, resourceGroup, object }: GroupResource) =>
    kind === written.kind && object.metadata.name === written.object.metadata.name && isInSameGroup({ resourceGroup })
  const stored = counted.find(isWritten)
  const current = stored && quotaUserIn(services, stored)
  const writtenUser = {
    user: { ...(current ?? { ...wanted, createdAt: NEWEST }), demand: wanted.demand },
    own: current?.demand,
    mayWait: false,
  }
  const parts = counted.flatMap((one): PendingUser[] => {
    const holder = holderOfCounted(one.kind, one.object.metadata, one.object.spec)
    const isOf = holder?.kind === written.kind && holder.name === written.object.metadata.name
    if (!isOf || !isInSameGroup(one)) return []
    const user = quotaUserIn(services, one, written.object as PartOwner)
    return [{ user, own: quotaUserIn(services, one).demand, mayWait: !user.wasReady }]
  })
  // Parts of an object that does not exist yet wait for it, and are judged on their own.
  return [writtenUser, ...(current === undefined ? [] : parts)].filter(
    ({ user, own }) => own === undefined || !coversDemand(own, user.demand),
  )
}

type QuotaStanding = { held: Demand | undefined; granted: Demand | undefined }

/** Returns what a resource holds, and what it must be granted: undefined if it has that already, or waits. */
function standingOf({ user, own, mayWait }: PendingUser, grant: QuotaGrant | undefined, now: number): QuotaStanding {
  const fresh = grant !== undefined && isInFlight(grant, now) ? demandOfGrant(grant) : undefined
  // Without a grant, a resource that ran before there was a limit holds what it requests, and any other nothing.
  const held = own === undefined ? fresh : (heldDemandOf(grant) ?? (user.wasReady ? own : undefined))
  const needsNothing = grant === undefined ? mayWait : fresh !== undefined && isSame(fresh, user.demand)
  if (needsNothing) return { held, granted: undefined }
  return { held, granted: own && held ? maxDemand(held, user.demand) : user.demand }
}

const needsGrant = <One extends QuotaStanding>(one: One): one is One & { granted: Demand } => one.granted !== undefined

/** Sorts after all creation times. */
const NEWEST = '~'
const isSame = (one: Demand, other: Demand) => coversDemand(one, other) && coversDemand(other, one)

/** Returns undefined if nothing that resources request is limited. */
function limitsAbove(
  { boundaryId, resourceGroup }: ResourceLocation,
  services: Context['services'],
): Limited | undefined {
  const { records } = services
  const namespace = boundaryNamespace(boundaryId)
  const group = records.peek(ResourceGroup, { namespace, name: resourceGroup })
  const boundary = records.peek(Boundary, { name: boundaryId })?.spec.quota ?? {}
  if (limitsAmounts(boundary)) {
    const groups = records.peekAll(ResourceGroup, { namespace })
    return { boundary, groups, counted: () => countedInBoundary(services, boundaryId) }
  }
  if (group === undefined || !limitsAmounts(group.spec.quota)) return undefined
  return { boundary, groups: [group], counted: () => countedInGroup(services, boundaryId, resourceGroup) }
}

function objectOf(kind: AnyKind, location: ResourceLocation, spec: object): GroupResource['object'] {
  const namespace = groupNamespace(location.boundaryId, location.resourceGroup)
  const { apiVersion, kind: word } = kind
  return { apiVersion, kind: word, metadata: { namespace, name: location.name }, spec } as GroupResource['object']
}

/**
 * Decides like the controllers: granted resources count, and waiting ones that fit. What kubectl created beyond a quota
 * holds nothing of it.
 *
 * @param keys of all resources that `subject` combines
 * @param seen keys of all existing resources
 * @throws PlatformError QUOTA_EXCEEDED
 */
function refuseBeyond(
  { boundary, groups }: Limited,
  { subject, keys, seen }: { subject: SeenUser; keys: ReadonlySet<string>; seen: ReadonlySet<string> },
  users: readonly SeenUser[],
  { grants, now }: { grants: QuotaGrants; now: number },
  { boundaryId, resourceGroup }: ResourceLocation,
): void {
  const ofGroups = new Map(groups.map(({ metadata, spec }) => [metadata.name, spec.quota]))
  const unseen = unseenCounted(grants, (one) => seen.has(one), now)
  const otherUsers = users.filter(({ key }) => !keys.has(key))
  const others = [...usersAgainst(otherUsers, subject, grants), ...unseen, ...groups.flatMap(retainedIn)]
  const verdict = evaluateQuota({ boundary, groups: ofGroups, subject, others })
  if (verdict.kind === 'fits') return
  const { at, quota } = verdict
  const where = at === 'boundary' ? `boundary "${boundaryId}"` : `group "${resourceGroup}"`
  const limits: QuotaLimits = at === 'boundary' ? boundary : (ofGroups.get(resourceGroup) ?? {})
  const limit = limits[quota]
  const [used, requested] = [verdict.used, verdict.requested].map((text) => (isCount(quota) ? Number(text) : text))
  const message = `The quota ${quota} of ${where} is ${limit}; ${used} is used and ${requested} more was requested.`
  throw new PlatformError('QUOTA_EXCEEDED', message, { quota, limit, used, requested })
}

const isCount = (quota: QuotaName) => quota === 'pods' || quota === 'resources'
