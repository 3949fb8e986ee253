import type { ResourceOutput, VaultReference } from '../../contracts/references.ts'
import type { KubeObject } from '../../core/object.ts'
import { ObjectStorageAccount } from '../../crds/objectstorage.ts'
import { SecretVault, VaultEntry } from '../../crds/vaults.ts'
import type { Observed, Workspace } from '../engine/controller.ts'
import { OUTPUT_KINDS } from './outputs.ts'

/** A resource's key and what it refers to. */
export type ReferencingResource = {
  key: string
  secrets: readonly (VaultReference | undefined)[]
  outputs: readonly (ResourceOutput | undefined)[]
}

type ReadersIn = (records: Workspace, namespace: string | undefined) => readonly ReferencingResource[]

/** Wakes the resources that refer to a vault that was created or deleted, or to one of its changed secrets. */
export function vaultObservers(readersIn: ReadersIn): Observed[] {
  return [
    {
      resource: SecretVault.resource,
      relevant: ({ metadata }) => metadata.uid,
      keysOf: ({ metadata }, records) =>
        readersIn(records, metadata.namespace)
          .filter(({ secrets }) => secrets.some((secret) => secret?.vaultName === metadata.name))
          .map(({ key }) => key),
    },
    {
      resource: VaultEntry.resource,
      keysOf: ({ metadata, spec }, records) => {
        const { vaultName, secretName } = spec as { vaultName?: string; secretName?: string }
        return readersIn(records, metadata.namespace)
          .filter(({ secrets }) =>
            secrets.some(
              (secret) =>
                secret?.vaultName === vaultName && secret?.secretName.toLowerCase() === secretName?.toLowerCase(),
            ),
          )
          .map(({ key }) => key)
      },
    },
  ]
}

/** As `vaultObservers`, and for outputs of other resources in the group. */
export function referenceObservers(readersIn: ReadersIn): Observed[] {
  return [
    ...vaultObservers(readersIn),
    ...Object.entries(OUTPUT_KINDS).map(([collection, { resource }]) => ({
      resource,
      relevant: relevantOutputs,
      keysOf: ({ metadata }: KubeObject, records: Workspace) =>
        readersIn(records, metadata.namespace)
          .filter(({ outputs }) =>
            outputs.some((output) => output?.collection === collection && output.name === metadata.name),
          )
          .map(({ key }) => key),
    })),
  ]
}

/** Ignores how much an account holds, which changes every few minutes. */
function relevantOutputs({ kind, metadata, spec, status }: KubeObject): unknown {
  if (kind !== ObjectStorageAccount.kind) return [metadata, spec, status]
  const { endpoint, regionName } = (status ?? {}) as { endpoint?: string; regionName?: string }
  return [metadata.deletionTimestamp, endpoint, regionName]
}
