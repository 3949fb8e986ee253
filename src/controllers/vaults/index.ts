import { Gauge, type Registry } from 'prom-client'
import type { PlatformKeys } from '../../adapters/platformkeys/port.ts'
import { EnvelopeError } from '../../contracts/vaults/envelope.ts'
import { isEntryActive, isEntryVisible } from '../../contracts/vaults/history.ts'
import { createLruCache } from '../../core/lruCache.ts'
import { type KubeObject, keyOf, objectKey, refOf } from '../../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { pluralize } from '../../core/pluralize.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { NameClaim } from '../../crds/nameclaims.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { SecretVault, VaultEntry } from '../../crds/vaults.ts'
import { namespace, secret, secretMetadata } from '../../kube/builtin.ts'
import { controllerWith, type Observed, type Rights, steps, type Workspace } from '../engine/controller.ts'
import { related } from '../engine/lookups.ts'
import { PHASE_INDEX } from '../engine/phaseIndex.ts'
import { acquireNameClaim, observedClaims, releaseNames } from '../nameClaims.ts'
import { awaitUnseenParts } from '../parts.ts'
import { checkQuotaOnce, quotaObservers, releaseQuota } from '../quota.ts'
import { LEDGER_RIGHTS } from '../quotaLedger.ts'
import { isNamespaceTerminating } from '../workload/pass.ts'
import {
  copyVaultSettings,
  findVault,
  isUsable,
  purgeWhenDue,
  removePurged,
  removeUnfilled,
  reportEntry,
  reportValidity,
  stampState,
} from './entry.ts'
import { outcomeOfEnvelopeError } from './open.ts'
import { removeSecrets } from './secrets.ts'
import {
  type CachedEntry,
  type CachedVault,
  deferringFailure,
  type EntryPass,
  type EntryState,
  type VaultPass,
} from './types.ts'
import { mountValue, prune, rewrapKey, takeValue, withdrawValue } from './values.ts'

function checkCluster({ object, records }: VaultPass): Outcome {
  const { clusterId } = object.spec
  if (clusterId === undefined) return done()
  const cluster = records.cache(PlatformCluster).get(undefined, clusterId)
  if (cluster === undefined) return stalled('ReferenceMissing', `There is no cluster "${clusterId}".`)
  if (cluster.spec.isPlatform) return done()
  return stalled('ClusterUnreachable', `Cluster "${cluster.spec.displayName}" has no agent that could keep vaults.`)
}

/** Claims the platform-wide name. REST claims it before it creates a vault; for kubectl it is claimed here. */
async function claimVaultName(pass: VaultPass): Promise<Outcome> {
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
function countSecrets(keys: PlatformKeys) {
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
    return done()
  }
}

/** A step of its own, because not every pass counts. */
function requirePlatformKey(keys: PlatformKeys) {
  return function requirePlatformKey(): Outcome {
    return keys.newest() === undefined ? outcomeOfEnvelopeError(new EnvelopeError('NoPlatformKey')) : done()
  }
}

/** Blocks deletion while secrets are protected. Admission may have missed them, because its count lags by seconds. */
async function blockWhileProtected(pass: VaultPass): Promise<Outcome> {
  const { namespace = '', name } = pass.object.metadata
  if (!pass.object.spec.enablePurgeProtection || isNamespaceTerminating(pass.records, namespace)) return done()
  const { items } = await pass.records.client.list<CachedEntry>(VaultEntry.resource, { namespace })
  const kept = items.filter((entry) => entry.spec.vaultName === name && isEntryVisible(entry))
  if (kept.length === 0) return done()
  const message = `It is under purge protection and holds ${pluralize(kept.length, 'secret')}. Delete them; it goes when their time is over.`
  return waiting('DeletionBlocked', message)
}

/** Deletes the entries, whose own finalizers remove keys and values. */
async function removeEntries(pass: VaultPass): Promise<Outcome> {
  const entries = entriesOf(pass)
  for (const entry of entries) {
    if (entry.metadata.deletionTimestamp !== undefined) continue
    await pass.records.client.remove(VaultEntry.resource, refOf(entry), { uid: entry.metadata.uid })
  }
  const remaining = entriesOf(pass).length
  return remaining === 0 ? done() : waiting('TearingDown', `Removing ${pluralize(remaining, 'secret')}.`)
}

const OTHERS: readonly Observed[] = [
  {
    resource: VaultEntry.resource,
    keysOf: (entry) => [objectKey(entry.metadata.namespace, (entry as CachedEntry).spec.vaultName)],
  },
  observedClaims(({ spec: { type, value } }, records) => {
    if (type !== 'Vault') return []
    // The holder, and vaults that wait for the name.
    return related(records.cache(SecretVault), 'name', value).map(keyOf)
  }),
  {
    resource: PlatformCluster.resource,
    keysOf: (_, records) =>
      records
        .cache(SecretVault)
        .byIndex(PHASE_INDEX, 'ReferenceMissing')
        .map((vault) => keyOf(vault as KubeObject)),
  },
  ...quotaObservers(SecretVault),
]

const VAULT_WRITES: readonly Rights[] = [
  { resource: VaultEntry.resource, verbs: ['delete'] },
  { resource: NameClaim.resource, verbs: ['get', 'create', 'delete'] },
  { resource: SecretVault.resource, verbs: ['get'] },
  LEDGER_RIGHTS,
]

const vaultController = controllerWith(
  SecretVault,
  { observes: OTHERS, reads: [namespace, ComputePlan.resource], writes: VAULT_WRITES },
  (keys: PlatformKeys) => ({
    onConfigurationChange: (wake) => keys.onChange(wake),
    reconcile: steps(checkCluster, checkQuotaOnce, claimVaultName, countSecrets(keys), requirePlatformKey(keys)),
    finalize: steps(blockWhileProtected, removeEntries, awaitUnseenParts, releaseNames, releaseQuota),
  }),
)

/** Returns the entries that do not reflect their vault's settings or state yet. */
function outdatedEntries(vault: KubeObject, records: Workspace): string[] {
  const { spec, metadata } = vault as CachedVault
  return related(records.cache(VaultEntry), 'parent', metadata.namespace, metadata.name)
    .filter(({ spec: { history }, status }) => {
      const isStopped = ['ReferenceMissing', 'NameOccupied', 'WaitingForDependency'].includes(status?.phase ?? '')
      if (isStopped === isUsable(vault as CachedVault)) return true
      if (history === undefined) return false
      return history.purgeProtection !== spec.enablePurgeProtection || history.softDelete !== spec.softDeleteEnabled
    })
    .map((entry) => keyOf(entry as KubeObject))
}

/** Returns the entries whose value comes from the Secret. */
function entriesFromSecret({ metadata }: KubeObject, records: Workspace): string[] {
  return related(records.cache(VaultEntry), 'secret', metadata.namespace, metadata.name).map((entry) =>
    keyOf(entry as KubeObject),
  )
}

/** Values and keys are accessed with rights granted in each group's namespace instead. */
const ENTRY_WRITES: readonly Rights[] = [{ resource: VaultEntry.resource, verbs: ['delete'] }]

const entryController = controllerWith<typeof VaultEntry, PlatformKeys, EntryState>(
  VaultEntry,
  {
    observes: [
      secret,
      {
        resource: SecretVault.resource,
        keysOf: outdatedEntries,
        // Ignore the vault's count of secrets.
        relevant: (vault) => [vault.metadata.uid, vault.spec, isUsable(vault as CachedVault)],
      },
      { resource: secretMetadata, keysOf: entriesFromSecret },
    ],
    reads: [namespace],
    writes: ENTRY_WRITES,
  },
  (keys) => ({
    state: () => ({}),
    onConfigurationChange: (wake) => keys.onChange(wake),
    reconcile: steps(
      withdrawValue,
      findVault,
      removeUnfilled,
      copyVaultSettings,
      deferringFailure(takeValue({ keys })),
      stampState,
      purgeWhenDue,
      reportValidity,
      removePurged,
      prune,
      deferringFailure(rewrapKey({ keys })),
      deferringFailure(mountValue({ keys })),
      reportEntry,
    ),
    finalize: steps(removeAllSecrets),
  }),
)

/** Deletes keys and values of every life, because the garbage collector would take half a minute. */
async function removeAllSecrets(pass: EntryPass) {
  const { mountedSecret } = pass.object.status ?? {}
  const { namespace: home = '' } = pass.object.metadata
  // The permissions for Secrets go with the namespace, and so do the Secrets.
  if (isNamespaceTerminating(pass.records, home)) return done()
  if (mountedSecret !== undefined) await pass.children.remove(secret, home, mountedSecret)
  return (await removeSecrets(pass)) ?? done()
}

/** Reconcile vaults and their secrets: docs/areas/secrets.md. */
export const VAULT_CONTROLLERS = [vaultController, entryController]

/** Counts data keys by platform key: an old platform key may be retired once its count is zero. */
export function countDataKeys(registry: Registry, records: Workspace): void {
  new Gauge({
    name: 'freehold_vault_data_keys',
    help: 'Data keys of secrets by the platform key that wraps them',
    labelNames: ['key'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { status } of records.cache(VaultEntry).list()) {
        if (status?.keyId !== undefined) this.inc({ key: status.keyId })
      }
    },
  })
}
