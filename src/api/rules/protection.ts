import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import type { AnyKind } from '../../crds/define.ts'
import { KINDS } from '../../crds/index.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import {
  type GroupContents,
  listGroupHolders,
  mustBeRetained,
  RETENTION_DEPENDENT_KINDS,
  retainedVolumesOf,
  visibleSecretsOf,
} from '../../crds/retention.ts'
import { SecretVault, VaultEntry } from '../../crds/vaults.ts'
import type { Services } from '../http/context.ts'
import { indexedByReference } from '../records/derived.ts'
import type { RecordOf } from '../records/records.ts'

type VaultRecord = RecordOf<typeof SecretVault>

function contentsOf({ records }: Services, namespace: string | undefined): GroupContents {
  return (kind) => records.peekAll(kind, { namespace }) as unknown as readonly KubeObject[]
}

/** The secrets of a vault that have a version and are not purged. */
export function secretsOf({ records }: Services, vault: VaultRecord): RecordOf<typeof VaultEntry>[] {
  const { namespace = '', name } = vault.metadata
  const entries = ofVault(records, namespace, name) as unknown as readonly KubeObject[]
  return visibleSecretsOf(vault as unknown as KubeObject, () => entries) as RecordOf<typeof VaultEntry>[]
}

const ofVault = indexedByReference(VaultEntry, ({ spec }) => spec.vaultName)

/** Whether secrets under purge protection keep the vault from being deleted. */
export function keepsSecrets(services: Services, vault: VaultRecord): boolean {
  const object = vault as unknown as KubeObject
  return mustBeRetained(SecretVault, object, contentsOf(services, vault.metadata.namespace))
}

const restName = ({ segment }: AnyKind, name: string) => `${segment}/${name}`

/**
 * Returns what keeps a group from being deleted, as `<collection>/<name>`: resources, and retained volumes of former
 * ones. What the caches name is read from the API server before it leads to a refusal, because its protection may have
 * just been removed.
 */
export async function listDeletionBlockers(
  services: Services,
  boundaryId: string,
  group: RecordOf<typeof ResourceGroup>,
): Promise<string[]> {
  const { name } = group.metadata
  const namespace = groupNamespace(boundaryId, name)
  const cached = contentsOf(services, namespace)
  const blockers = [...listGroupHolders(cached, [], [], restName), ...retainedVolumesOf(group.status?.heldBy ?? [])]
  if (blockers.length === 0) return []
  const { records } = services
  const named = (kind: AnyKind) => blockers.some((one) => one.startsWith(restName(kind, '')))
  const uncertainKinds = KINDS.filter(
    (kind) => kind.placement === 'group' && (named(kind) || RETENTION_DEPENDENT_KINDS.has(kind)),
  )
  const listed = new Map<AnyKind, readonly KubeObject[]>()
  for (const kind of uncertainKinds) {
    listed.set(kind, (await records.list(kind, { namespace }, { fresh: true })) as unknown as readonly KubeObject[])
  }
  const newest = await records.get(ResourceGroup, { namespace: boundaryNamespace(boundaryId), name }, { fresh: true })
  const held = listGroupHolders((kind) => listed.get(kind) ?? cached(kind), [], [], restName)
  return [...held, ...retainedVolumesOf(newest?.status?.heldBy ?? [])].sort()
}
