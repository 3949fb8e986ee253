import { RETAINED_FOR_ANNOTATION } from '../core/labels.ts'
import type { KubeObject } from '../core/object.ts'
import { formatBytes, parseQuantity } from '../core/quantity.ts'
import { grantKey } from '../core/sizing/ledger.ts'
import type { QuotaUser } from '../core/sizing/quota.ts'
import { KINDS } from './index.ts'
import { RETAINED_ENTRIES_MAX, type ResourceGroup } from './resourcegroups.ts'
import { isRetainedClaim } from './retention.ts'

type RetainedStorage = NonNullable<NonNullable<ResourceGroup['status']>['retainedStorage']>
type Claim = KubeObject & { spec?: { resources?: { requests?: { storage?: string } } } }

/** Returns the storage of retained volumes by the resource that may adopt them, largest first. */
export function retainedStorage(claims: readonly Claim[]): RetainedStorage {
  const sums = new Map<string, bigint>()
  for (const claim of claims.filter(isRetainedClaim)) {
    const owner = claim.metadata.annotations?.[RETAINED_FOR_ANNOTATION] ?? ''
    const storage = parseQuantity(claim.spec?.resources?.requests?.storage ?? '0')
    sums.set(owner, (sums.get(owner) ?? 0n) + storage)
  }
  const sorted = [...sums].sort(([a, first], [b, second]) =>
    first === second ? (a < b ? -1 : 1) : first > second ? -1 : 1,
  )
  const listed = sorted.slice(0, RETAINED_ENTRIES_MAX)
  const last = listed.at(-1)
  if (last !== undefined) last[1] += sorted.slice(RETAINED_ENTRIES_MAX).reduce((sum, [, storage]) => sum + storage, 0n)
  return listed.map(([owner, storage]) => {
    const [kind = '', name = ''] = owner.split('/')
    return { kind, name, storage: formatBytes(storage) }
  })
}

/**
 * Returns retained volumes as users of the quota, under the key of the resource that may adopt them: if that resource
 * is the one that asks, they do not count beside it.
 */
export function retainedUsers(resourceGroup: string, retained: RetainedStorage = []): QuotaUser[] {
  return retained.map(({ kind, name, storage }) => ({
    key: grantKey(KINDS.find((each) => each.kind === kind)?.plural ?? kind, resourceGroup, name),
    createdAt: '',
    resourceGroup,
    demand: { cpu: 0n, memory: 0n, storage: parseQuantity(storage), pods: 0 },
    isGranted: true,
    isRetained: true,
  }))
}
