import { groupNamespace } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import type { ResourceGroup } from '../../crds/resourcegroups.ts'
import { type GroupContents, heldBy, isToBeKept, retainedVolumesOf, secretsIn } from '../../crds/retention.ts'
import { SecretVault, type VaultEntry } from '../../crds/vaults.ts'
import type { Services } from '../http/context.ts'
import type { RecordOf } from '../records/records.ts'

type VaultRecord = RecordOf<typeof SecretVault>

function contentsOf({ records }: Services, namespace: string | undefined): GroupContents {
  return (kind) => records.peekAll(kind, { namespace }) as unknown as readonly KubeObject[]
}

/** The secrets of a vault that have a version and are not purged. */
export function secretsOf(services: Services, vault: VaultRecord): RecordOf<typeof VaultEntry>[] {
  const contents = contentsOf(services, vault.metadata.namespace)
  return secretsIn(vault as unknown as KubeObject, contents) as RecordOf<typeof VaultEntry>[]
}

/** Whether secrets under purge protection keep the vault from being deleted. */
export function keepsSecrets(services: Services, vault: VaultRecord): boolean {
  const object = vault as unknown as KubeObject
  return isToBeKept(SecretVault, object, contentsOf(services, vault.metadata.namespace))
}

/** What keeps a group from being deleted, as `<collection>/<name>`: resources, and volumes of earlier ones. */
export function whatHolds(services: Services, boundaryId: string, group: RecordOf<typeof ResourceGroup>): string[] {
  const { metadata, status } = group
  const held = heldBy(contentsOf(services, groupNamespace(boundaryId, metadata.name)), [])
  return [...held, ...retainedVolumesOf(status?.heldBy ?? [])].sort()
}
