import type { KubeObject } from '../core/object.ts'
import { demandUnderPlans, type Holder, NOTHING, type Sizable } from '../core/sizing/demand.ts'
import {
  type Grants,
  grantKey,
  isGroupGrant,
  lapsedGrants,
  pluralOfGrant,
  type SeenUser,
  unseenUsers,
} from '../core/sizing/ledger.ts'
import type { SizingPlan } from '../core/sizing/plans.ts'
import type { QuotaUser } from '../core/sizing/quota.ts'
import type { AnyKind } from './define.ts'
import { COUNTED_KINDS, RESOURCE_KINDS } from './index.ts'
import { holderOf } from './parts.ts'

/** What quotas count, for whoever asks: a facade before it writes, or a controller before anything runs. */

const COUNTED_PARTS = COUNTED_KINDS.filter(({ isPart }) => isPart === true)
const HOLDERS = new Map(
  COUNTED_PARTS.map(({ plural, partOf }) => [
    plural,
    RESOURCE_KINDS.find(({ segment }) => segment === partOf?.collection),
  ]),
)
const PLURALS_OF_PARTS = new Set(COUNTED_PARTS.map(({ plural }) => plural))

/** Of a part that quotas count: the kind and the name of what it takes its plan from. */
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
 * An object as a user of quotas, whoever made it.
 *
 * @param holder of a part
 */
export function quotaUserOf(
  kind: AnyKind,
  resourceGroup: string,
  object: Counted,
  { plans, holder }: { plans: readonly SizingPlan[]; holder: Holder | undefined },
): SeenUser {
  const { metadata, status } = object
  const demand = demandUnderPlans(kind, object as Sizable, plans, holder)
  return {
    key: grantKey(kind.plural, resourceGroup, metadata.name),
    createdAt: metadata.creationTimestamp ?? '',
    resourceGroup,
    demand: demand ?? NOTHING,
    hasPlan: demand !== undefined,
    wasReady: (status as { firstReadyAt?: string } | undefined)?.firstReadyAt !== undefined,
    ...(kind.isPart === true && { isPart: true }),
  }
}

/** Grants of what is not visible yet, as users of the quota; those of groups count for no amounts. */
export function unseenCounted(grants: Grants, isSeen: (key: string) => boolean, now: number): QuotaUser[] {
  const unseen = unseenUsers(grants, (key) => isSeen(key) || isGroupGrant(key), now)
  return unseen.map((user) => ({ ...user, isPart: PLURALS_OF_PARTS.has(pluralOfGrant(user.key)) }))
}

/** Of what is not there, once its time is over; those of groups are not looked at. */
export function lapsedCounted(grants: Grants, isSeen: (key: string) => boolean, now: number): string[] {
  return lapsedGrants(grants, (key) => isSeen(key) || isGroupGrant(key), now)
}
