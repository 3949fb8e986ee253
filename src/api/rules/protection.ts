import { isKnown } from '../../contracts/vaults/history.ts'
import { SecretVault, VaultEntry } from '../../crds/vaults.ts'
import type { Services } from '../http/context.ts'
import type { AnyObject, RecordOf } from '../records/records.ts'

type VaultRecord = RecordOf<typeof SecretVault>

/** The secrets of a vault that have a version and are not purged. */
export function secretsOf(services: Services, vault: VaultRecord): RecordOf<typeof VaultEntry>[] {
  const { namespace, name } = vault.metadata
  return services.records
    .peekAll(VaultEntry, { namespace })
    .filter((entry) => entry.spec.vaultName === name && isKnown(entry))
}

/** Whether a vault may not go because it keeps secrets that nobody may take away. */
export function keepsSecrets(services: Services, vault: VaultRecord): boolean {
  return vault.spec.enablePurgeProtection && secretsOf(services, vault).length > 0
}

/** Fields of a spec that keep a resource's data from going with its group. */
type Protected = { deletionProtection?: boolean; onDelete?: 'Delete' | 'Retain' }

/** Whether something keeps the resource's data from going with its group. */
export function isProtected(services: Services, object: AnyObject): boolean {
  const { deletionProtection = false, onDelete = 'Delete' } = object.spec as Protected
  return deletionProtection || onDelete === 'Retain' || (isVault(object) && keepsSecrets(services, object))
}

function isVault(object: { kind: string }): object is VaultRecord {
  return object.kind === SecretVault.kind
}
