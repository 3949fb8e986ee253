import type { KubeObject } from '../core/object.ts'
import { demandUnderPlans, NO_DEMAND, type PartOwner, type Sizable } from '../core/sizing/demand.ts'
import {
  demandOfGrant,
  expiredGrants,
  grantKey,
  groupOfGrant,
  isGroupGrant,
  pluralOfGrant,
  type QuotaGrants,
  type SeenUser,
  unseenUsers,
} from '../core/sizing/ledger.ts'
import type { SizingPlan } from '../core/sizing/plans.ts'
import type { QuotaUser } from '../core/sizing/quota.ts'
import type { AnyKind } from './define.ts'
import { QUOTA_COUNTED_KINDS, RESOURCE_KINDS } from './index.ts'
import { holderOf } from './parts.ts'

/** What quotas count, for the facade before it writes and for controllers before anything runs. */

const COUNTED_PARTS = QUOTA_COUNTED_KINDS.filter(({ isPart }) => isPart === true)
const HOLDERS = new Map(
  COUNTED_PARTS.map(({ plural, partOf }) => [
    plural,
    RESOURCE_KINDS.find(({ segment }) => segment === partOf?.collection),
  ]),
)
const PLURALS_OF_PARTS = new Set(COUNTED_PARTS.map(({ plural }) => plural))

/** Returns, for a part that quotas count, kind and name of the resource that it takes its plan from. */
export function holderOfCounted(
  kind: AnyKind,
  { name }: { name: string },
  spec: unknown,
): { kind: AnyKind; name: string } | undefined {
  const holder = HOLDERS.get(kind.plural)
  const holderName = holder && holderOf(kind, name, spec)
  return holder && holderName !== undefined ? { kind: holder, name: holderName } : undefined
}

type Counted = Pick<KubeObject, 'metadata'> & Pick<Sizable, 'spec'> & { readonly status?: unknown }

/**
 * Returns an object as a user of quotas, whoever created it.
 *
 * @param holder of a part
 */
export function quotaUserOf(
  kind: AnyKind,
  resourceGroup: string,
  object: Counted,
  { plans, holder }: { plans: readonly SizingPlan[]; holder: PartOwner | undefined },
): SeenUser {
  const { metadata, status } = object
  const demand = demandUnderPlans(kind, object as Sizable, plans, holder)
  return {
    key: grantKey(kind.plural, resourceGroup, metadata.name),
    createdAt: metadata.creationTimestamp ?? '',
    resourceGroup,
    demand: demand ?? NO_DEMAND,
    hasPlan: demand !== undefined,
    wasReady: (status as { firstReadyAt?: string } | undefined)?.firstReadyAt !== undefined,
    ...(kind.isPart === true && { isPart: true }),
  }
}

/** Returns the grants of the objects that pass the filter, as users of the quota; those of groups are ignored. */
export function grantedUsers(grants: QuotaGrants, isCounted: (key: string) => boolean): QuotaUser[] {
  return Object.entries(grants)
    .filter(([key]) => !isGroupGrant(key) && isCounted(key))
    .map(([key, grant]) => ({
      key,
      createdAt: grant.at,
      resourceGroup: groupOfGrant(key),
      demand: demandOfGrant(grant),
      isPart: PLURALS_OF_PARTS.has(pluralOfGrant(key)),
    }))
}

/** Returns the grants of objects that are not visible yet as users of the quota; groups use no amounts. */
export function unseenCounted(grants: QuotaGrants, isSeen: (key: string) => boolean, now: number): QuotaUser[] {
  const unseen = unseenUsers(grants, (key) => isSeen(key) || isGroupGrant(key), now)
  return unseen.map((user) => ({ ...user, isPart: PLURALS_OF_PARTS.has(pluralOfGrant(user.key)) }))
}

/** Returns the expired grants of objects that do not exist; those of groups are ignored. */
export function lapsedCounted(grants: QuotaGrants, isSeen: (key: string) => boolean, now: number): string[] {
  return expiredGrants(grants, (key) => isSeen(key) || isGroupGrant(key), now)
}
