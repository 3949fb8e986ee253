import { type KubeObject, keyOf } from '../../core/object.ts'
import { ObjectStorageAccount } from '../../crds/objectstorage.ts'
import { SecretVault, VaultEntry } from '../../crds/vaults.ts'
import type { Observed, Workspace } from '../engine/controller.ts'
import { lookupKey, secretKey } from '../engine/lookups.ts'
import { OUTPUT_KINDS } from './outputs.ts'

/** Returns the resources with this key in the index of lookups. */
type ReadersOf = (records: Workspace, key: string) => readonly KubeObject[]

/** Wakes the resources that refer to a vault that was created or deleted, or to one of its changed secrets. */
export function vaultObservers(readersOf: ReadersOf): Observed[] {
  return [
    {
      resource: SecretVault.resource,
      relevant: ({ metadata }) => metadata.uid,
      keysOf: ({ metadata }, records) =>
        readersOf(records, lookupKey('vault', metadata.namespace, metadata.name)).map(keyOf),
    },
    {
      resource: VaultEntry.resource,
      keysOf: ({ metadata, spec }, records) => {
        const { vaultName, secretName = '' } = spec as { vaultName?: string; secretName?: string }
        return readersOf(records, secretKey(metadata.namespace, vaultName, secretName)).map(keyOf)
      },
    },
  ]
}

/** As `vaultObservers`, and for outputs of other resources in the group. */
export function referenceObservers(readersOf: ReadersOf): Observed[] {
  return [
    ...vaultObservers(readersOf),
    ...Object.entries(OUTPUT_KINDS).map(([collection, { resource }]) => ({
      resource,
      relevant: relevantOutputs,
      keysOf: ({ metadata }: KubeObject, records: Workspace) =>
        readersOf(records, lookupKey('output', metadata.namespace, collection, metadata.name)).map(keyOf),
    })),
  ]
}

/** Ignores how much an account holds, which changes every few minutes. */
function relevantOutputs({ kind, metadata, spec, status }: KubeObject): unknown {
  if (kind !== ObjectStorageAccount.kind) return [metadata, spec, status]
  const { endpoint, regionName } = (status ?? {}) as { endpoint?: string; regionName?: string }
  return [metadata.deletionTimestamp, endpoint, regionName]
}
