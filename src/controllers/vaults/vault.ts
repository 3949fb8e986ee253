import type { PlatformKeys } from '../../adapters/platformkeys/port.ts'
import { isEntryActive, isEntryVisible } from '../../contracts/vaults/history.ts'
import { createLruCache } from '../../core/lruCache.ts'
import { refOf } from '../../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { pluralize } from '../../core/pluralize.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { VaultEntry } from '../../crds/vaults.ts'
import { related } from '../engine/lookups.ts'
import { acquireNameClaim } from '../nameClaims.ts'
import { isNamespaceTerminating } from '../workload/pass.ts'
import type { CachedEntry, VaultPass } from './types.ts'

export function checkCluster({ object, records }: VaultPass): Outcome {
  const { clusterId } = object.spec
  if (clusterId === undefined) return done()
  const cluster = records.cache(PlatformCluster).get(undefined, clusterId)
  if (cluster === undefined) return stalled('ReferenceMissing', `There is no cluster "${clusterId}".`)
  if (cluster.spec.isPlatform) return done()
  return stalled('ClusterUnreachable', `Cluster "${cluster.spec.displayName}" has no agent that could keep vaults.`)
}

/** Claims the platform-wide name. REST claims it before it creates a vault; for kubectl it is claimed here. */
export async function claimVaultName(pass: VaultPass): Promise<Outcome> {
  const { name } = pass.object.metadata
  if (await acquireNameClaim(pass, 'Vault', name)) return done()
  return stalled('NameOccupied', `The name "${name}" is taken on this platform: choose another one.`)
}

function entriesOf({ records, object }: Pick<VaultPass, 'records' | 'object'>): CachedEntry[] {
  const { namespace, name } = object.metadata
  return [...related(records.cache(VaultEntry), 'parent', namespace, name)]
}

/** Milliseconds between two counts of a vault, so that a thousand concurrent writes do not cause a thousand counts. */
const COUNT_INTERVAL_MS = 2_000

/** Reports the counts for `kubectl get svault` and for the admission of deletions. REST counts by itself. */
export function countSecrets(keys: PlatformKeys) {
  const counted = createLruCache<string, number>(10_000)
  return function countSecrets(pass: VaultPass): Outcome {
    const now = pass.clock.monotonic()
    const wait = (counted.get(pass.key) ?? Number.NEGATIVE_INFINITY) + COUNT_INTERVAL_MS - now
    if (wait > 0 && pass.object.status?.secretCount !== undefined) return done({ after: wait })
    counted.set(pass.key, now)
    const entries = entriesOf(pass)
    const known = entries.filter(isEntryVisible)
    const keyId = keys.newest()?.id
    pass.report({
      secretCount: known.filter(isEntryActive).length,
      deletedCount: known.filter((entry) => !isEntryActive(entry)).length,
      keyId,
      pendingRewraps: known.filter(({ status }) => status?.keyId !== keyId).length,
    })
    if (keyId !== undefined) return done()
    return stalled('ConfigurationInvalid', 'No platform key is configured: set PLATFORM_VAULT_KEYS_FILE.')
  }
}

/** Blocks deletion while secrets are protected. Admission may have missed them, because its count lags by seconds. */
export async function blockWhileProtected(pass: VaultPass): Promise<Outcome> {
  const { namespace = '', name } = pass.object.metadata
  if (!pass.object.spec.enablePurgeProtection || isNamespaceTerminating(pass.records, namespace)) return done()
  const { items } = await pass.records.client.list<CachedEntry>(VaultEntry.resource, { namespace })
  const kept = items.filter((entry) => entry.spec.vaultName === name && isEntryVisible(entry))
  if (kept.length === 0) return done()
  const message = `It is under purge protection and holds ${pluralize(kept.length, 'secret')}. Delete them; it goes when their time is over.`
  return waiting('DeletionBlocked', message)
}

/** Deletes the entries, whose own finalizers remove keys and values. */
export async function removeEntries(pass: VaultPass): Promise<Outcome> {
  const entries = entriesOf(pass)
  for (const entry of entries) {
    if (entry.metadata.deletionTimestamp !== undefined) continue
    await pass.records.client.remove(VaultEntry.resource, refOf(entry), { uid: entry.metadata.uid })
  }
  const remaining = entriesOf(pass).length
  return remaining === 0 ? done() : waiting('TearingDown', `Removing ${pluralize(remaining, 'secret')}.`)
}
