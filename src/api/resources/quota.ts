import { PlatformError } from '../../core/errors.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import type { Demand } from '../../core/sizing/demand.ts'
import {
  besideOthers,
  covers,
  demandOfGrant,
  type Grants,
  grantKey,
  grantOf,
  heldOf,
  isGroupGrant,
  isInFlight,
  mostOf,
  type SeenUser,
  unseenUsers,
} from '../../core/sizing/ledger.ts'
import { limitsAmounts, type QuotaLimits, type QuotaName, quotaVerdict } from '../../core/sizing/quota.ts'
import { Boundary } from '../../crds/boundaries.ts'
import type { AnyKind } from '../../crds/define.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import type { Context } from '../http/context.ts'
import type { RecordOf } from '../records/records.ts'
import { type GroupResource, resourcesOfBoundary, resourcesOfGroup } from './contents.ts'
import type { Place } from './places.ts'
import { givingBack, nowOf, type Taken, takeQuota } from './quotaLedger.ts'
import { demandIn, quotaUsersOf, retainedIn } from './usage.ts'

/** Reserves what a spec asks for, before it is written. @throws PlatformError QUOTA_EXCEEDED */
export type Reserve = (spec: object) => Promise<undefined>

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
      return undefined
    }),
  )
}

type Limited = {
  boundary: QuotaLimits
  groups: readonly RecordOf<typeof ResourceGroup>[]
  /** Those that share a limit. */
  resources: () => readonly GroupResource[]
}

async function reserve(
  kind: AnyKind,
  place: Place,
  spec: object,
  context: Pick<Context, 'services' | 'caller'>,
): Promise<Taken | undefined> {
  const { services } = context
  const limited = kind.isPart === true ? undefined : limitsAbove(place, services)
  if (limited === undefined) return undefined
  const { boundaryId, resourceGroup, name } = place
  const key = grantKey(kind.plural, resourceGroup, name)
  const wanted = demandIn(services, { kind, resourceGroup, object: objectOf(kind, place, spec) })
  // The write itself says which plan is missing.
  if (wanted === undefined) return undefined
  const current = quotaUsersOf(services, limited.resources()).find((user) => user.key === key)
  const own = current?.demand
  const subject = {
    ...(current ?? { key, createdAt: NEWEST, resourceGroup, wasReady: false, hasPlan: true }),
    demand: wanted,
  }
  const now = () => services.clock.now()
  const judge = (grants: Grants) => {
    const grant = grants[key]
    const fresh = grant !== undefined && isInFlight(grant, now()) ? demandOfGrant(grant) : undefined
    if (fresh !== undefined && isSame(fresh, wanted)) return undefined
    const held = own === undefined ? fresh : (heldOf(own, grant, now()) ?? own)
    const users = quotaUsersOf(services, limited.resources())
    refuseBeyond(limited, { ...subject, held }, users, { grants, now: now() }, place)
    return grantOf(grant && own ? mostOf(demandOfGrant(grant), wanted) : wanted, nowOf(context))
  }
  // An existing resource that does not grow needs no grant; what it needs no more is free once that is carried out.
  if (own !== undefined && covers(own, wanted)) return undefined
  return takeQuota(context, boundaryId, key, judge)
}

/** Comes after all that are there. */
const NEWEST = '~'
const isSame = (one: Demand, other: Demand) => covers(one, other) && covers(other, one)

/** Undefined where nothing that resources ask for is limited. */
function limitsAbove({ boundaryId, resourceGroup }: Place, services: Context['services']): Limited | undefined {
  const { records } = services
  const namespace = boundaryNamespace(boundaryId)
  const group = records.peek(ResourceGroup, { namespace, name: resourceGroup })
  const boundary = records.peek(Boundary, { name: boundaryId })?.spec.quota ?? {}
  if (limitsAmounts(boundary)) {
    const groups = records.peekAll(ResourceGroup, { namespace })
    return { boundary, groups, resources: () => resourcesOfBoundary(services, boundaryId) }
  }
  if (group === undefined || !limitsAmounts(group.spec.quota)) return undefined
  return { boundary, groups: [group], resources: () => resourcesOfGroup(services, boundaryId, resourceGroup) }
}

function objectOf(kind: AnyKind, place: Place, spec: object): GroupResource['object'] {
  const namespace = groupNamespace(place.boundaryId, place.resourceGroup)
  const { apiVersion, kind: word } = kind
  return { apiVersion, kind: word, metadata: { namespace, name: place.name }, spec } as GroupResource['object']
}

/**
 * The verdict of the controllers, so that both count alike: what was granted, and what waits and fits. What kubectl made
 * beyond a quota has nothing of it. @throws PlatformError QUOTA_EXCEEDED
 */
function refuseBeyond(
  { boundary, groups }: Limited,
  subject: SeenUser,
  users: readonly SeenUser[],
  { grants, now }: { grants: Grants; now: number },
  { boundaryId, resourceGroup }: Place,
): void {
  const seen = new Set(users.map(({ key }) => key))
  const ofGroups = new Map(groups.map(({ metadata, spec }) => [metadata.name, spec.quota]))
  const unseen = unseenUsers(grants, (one) => one === subject.key || seen.has(one) || isGroupGrant(one), now)
  const others = [...besideOthers(users, subject, grants, now), ...unseen, ...groups.flatMap(retainedIn)]
  const verdict = quotaVerdict({ boundary, groups: ofGroups, subject, others })
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
