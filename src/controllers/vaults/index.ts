import { Gauge, type Registry } from 'prom-client'
import type { PlatformKeys } from '../../adapters/platformkeys/port.ts'
import { type KubeObject, keyOf, objectKey } from '../../core/object.ts'
import { done } from '../../core/outcome.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { NameClaim } from '../../crds/nameclaims.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { SecretVault, VaultEntry } from '../../crds/vaults.ts'
import { namespace, secret, secretMetadata } from '../../kube/builtin.ts'
import { controllerWith, type Observed, type Rights, steps, type Workspace } from '../engine/controller.ts'
import { related } from '../engine/lookups.ts'
import { PHASE_INDEX } from '../engine/phaseIndex.ts'
import { observedClaims, releaseNames } from '../nameClaims.ts'
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
import { removeSecrets } from './secrets.ts'
import {
  type CachedEntry,
  type CachedVault,
  deferringFailure,
  type EntryPass,
  type EntryState,
  newEntryState,
} from './types.ts'
import { mountValue, prune, rewrapKey, takeValue, withdrawValue } from './values.ts'
import { blockWhileProtected, checkCluster, claimVaultName, countSecrets, removeEntries } from './vault.ts'

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
    reconcile: steps(checkCluster, checkQuotaOnce, claimVaultName, countSecrets(keys)),
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
    state: newEntryState,
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
