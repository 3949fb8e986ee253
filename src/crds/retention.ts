import { isEntryVisible } from '../contracts/vaults/history.ts'
import { RETAINED_FOR_ANNOTATION } from '../core/labels.ts'
import type { KubeObject } from '../core/object.ts'
import type { AnyKind, ObjectOf } from './define.ts'
import { KINDS } from './index.ts'
import { kubectlName } from './kubectlName.ts'
import { AccountBucket } from './objectstorage.ts'
import type { BoundaryProjection } from './projections.ts'
import { RelationalCluster } from './relational.ts'
import { RelationalSnapshot } from './relationalSnapshots.ts'
import { SecretVault, VaultEntry } from './vaults.ts'

/** The objects of a kind in one group, from a cache or a list. */
export type GroupContents = (kind: AnyKind) => readonly KubeObject[]

type RetentionRule = (object: KubeObject, contents: GroupContents) => boolean

const spec = <T>(object: KubeObject) => (object.spec ?? {}) as Partial<T>

/** The final snapshot is an object of the group, so a deletion of the group would delete it at once. */
const wantsLastSnapshot = (object: KubeObject): boolean => {
  const { finalSnapshotOnDelete } = spec<ObjectOf<typeof RelationalCluster>['spec']>(object)
  const { firstReadyAt, backupEnabled } = (object.status ?? {}) as ObjectOf<typeof RelationalCluster>['status'] & object
  return finalSnapshotOnDelete === true && firstReadyAt !== undefined && backupEnabled === true
}

/**
 * Only the store knows of locks, object by object. So a bucket with locks counts as locked if it was not empty when it
 * was last checked, or has not been checked yet.
 */
const mayHoldLocked = (object: KubeObject): boolean => {
  const { objectLock } = spec<ObjectOf<typeof AccountBucket>['spec']>(object)
  const {
    storeName,
    usageAt,
    objectCount = 0,
    usedBytes = 0,
  } = (object.status ?? {}) as Partial<NonNullable<ObjectOf<typeof AccountBucket>['status']>>
  const isKnownEmpty = usageAt !== undefined && objectCount === 0 && usedBytes === 0
  return objectLock === true && storeName !== undefined && !isKnownEmpty
}

const OWN_RETENTION = new Map<AnyKind, (object: KubeObject) => boolean>([
  [RelationalCluster, wantsLastSnapshot],
  [AccountBucket, mayHoldLocked],
])

/** Whether the object itself requires that its data is kept. */
export function requiresRetention(kind: AnyKind, object: KubeObject): boolean {
  const { deletionProtection, onDelete } = spec<{ deletionProtection: boolean; onDelete: string }>(object)
  return deletionProtection === true || onDelete === 'Retain' || OWN_RETENTION.get(kind)?.(object) === true
}

/** The secrets of a vault that have a version and are not purged. */
export function visibleSecretsOf(vault: KubeObject, contents: GroupContents): ObjectOf<typeof VaultEntry>[] {
  const entries = contents(VaultEntry) as unknown as ObjectOf<typeof VaultEntry>[]
  return entries.filter((entry) => entry.spec.vaultName === vault.metadata.name && isEntryVisible(entry))
}

const keepsSecrets: RetentionRule = (vault, contents) =>
  spec<ObjectOf<typeof SecretVault>['spec']>(vault).enablePurgeProtection === true &&
  visibleSecretsOf(vault, contents).length > 0

/** A snapshot whose database is gone was kept on purpose. */
const isOrphanedSnapshot: RetentionRule = ({ metadata, spec, status }, contents) => {
  if (metadata.deletionTimestamp !== undefined) return false
  const { clusterName, kind } = spec as ObjectOf<typeof RelationalSnapshot>['spec']
  const isCompleted = (status as ObjectOf<typeof RelationalSnapshot>['status'])?.completedAt !== undefined
  // Its own database was deleted, whichever has the name now.
  if (kind === 'Final') return isCompleted
  return isCompleted && !contents(RelationalCluster).some((cluster) => cluster.metadata.name === clusterName)
}

const RETENTION_RULES: ReadonlyMap<AnyKind, RetentionRule> = new Map<AnyKind, RetentionRule>([
  [SecretVault, keepsSecrets],
  [RelationalSnapshot, isOrphanedSnapshot],
])

/**
 * Kinds of which some objects must be kept for reasons beyond the common fields of their specs.
 *
 * @internal Tests read it.
 */
export const KINDS_WITH_RETENTION_RULES: ReadonlySet<AnyKind> = new Set([
  ...OWN_RETENTION.keys(),
  ...RETENTION_RULES.keys(),
])

/** Whether an object's data must be kept: then nobody can delete its group. */
export function mustBeRetained(kind: AnyKind, object: KubeObject, contents: GroupContents): boolean {
  return requiresRetention(kind, object) || RETENTION_RULES.get(kind)?.(object, contents) === true
}

/** Kinds for which this depends on other objects, and the kinds of those others. */
export const RETENTION_DEPENDENT_KINDS: ReadonlySet<AnyKind> = new Set([
  ...RETENTION_RULES.keys(),
  VaultEntry,
  RelationalCluster,
])

const GROUP_KINDS = KINDS.filter(({ placement }) => placement === 'group')

/**
 * Returns what holds a group, sorted: protected resources, and volumes that were retained.
 *
 * @param elsewhere volumes retained on other clusters, from `retainedElsewhere`
 * @param nameOf how resources are named: as in kubectl, or as in REST
 */
export function listGroupHolders(
  contents: GroupContents,
  claims: readonly KubeObject[],
  elsewhere: readonly string[] = [],
  nameOf: (kind: AnyKind, name: string) => string = kubectlName,
): string[] {
  const kept = GROUP_KINDS.flatMap((kind) =>
    contents(kind)
      .filter((object) => mustBeRetained(kind, object, contents))
      .map(({ metadata }) => nameOf(kind, metadata.name)),
  )
  return [
    ...kept,
    ...claims.filter(isRetainedClaim).map(({ metadata }) => claimHolderName(metadata.name)),
    ...elsewhere,
  ].sort()
}

export function claimHolderName(name: string): string {
  return `${CLAIMS}/${name}`
}

const CLAIMS = 'persistentvolumeclaims'

/** Whether a volume claim was kept when its resource was deleted. */
export function isRetainedClaim({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp === undefined && metadata.annotations?.[RETAINED_FOR_ANNOTATION] !== undefined
}

/** Returns a group's volumes retained on other clusters, as `<resource>/<cluster>/<name>`, from its projections. */
export function retainedElsewhere(projections: readonly KubeObject[], namespace: string): string[] {
  return projections.flatMap((projection) => {
    const { metadata, status } = projection as KubeObject & Pick<ObjectOf<typeof BoundaryProjection>, 'status'>
    const homes = status?.resolvedNamespaces?.filter((entry) => entry.namespace === namespace) ?? []
    return homes
      .flatMap(({ retainedVolumes = [] }) => retainedVolumes)
      .map((name) => claimHolderName(`${metadata.name}/${name}`))
  })
}

/** Returns the retained volumes among the holders of a group: REST takes them from its status, and reads no claims. */
export function retainedVolumesOf(held: readonly string[]): string[] {
  return held.filter((one) => one.startsWith(`${CLAIMS}/`))
}
