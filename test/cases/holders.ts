import { randomUUID } from 'node:crypto'
import { RETAINED_FOR_ANNOTATION } from '../../src/core/labels.ts'
import type { KubeObject } from '../../src/core/object.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { KINDS } from '../../src/crds/index.ts'
import { kubectlName } from '../../src/crds/kubectlName.ts'
import { AccountBucket } from '../../src/crds/objectstorage.ts'
import { RelationalCluster } from '../../src/crds/relational.ts'
import { RelationalSnapshot } from '../../src/crds/relationalSnapshots.ts'
import { SecretVault, VaultEntry } from '../../src/crds/vaults.ts'
import { persistentVolumeClaim } from '../../src/kube/builtin.ts'
import { sampleSpec } from '../make/samples.ts'

const SNAPSHOT = '0b3f5a52-7a4e-4b52-9a55-0d6c8f3f9b77'

/** A field of a spec that keeps data: the field, the keeping value, and the value that releases the data. */
const ASKING = [
  ['deletionProtection', true, false],
  ['onDelete', 'Retain', 'Delete'],
] as const

export type Holder = {
  readonly name: string
  /** Its name in the status of the group, which is that of kubectl. */
  readonly holder: string
  /** Its name in REST, if that is another one. */
  readonly inRest?: string
  /** The object, and what it is evaluated with. */
  readonly made: readonly { kind: Pick<AnyKind, 'kind' | 'resource'>; name: string; object: object }[]
  /** Ways for a person to release the group: one of these is changed, or deleted. */
  readonly letGo: { readonly name: string; readonly change?: (object: KubeObject) => void }
}

const specOf = (object: KubeObject) => object.spec as Record<string, unknown>
const saying = (field: string, value: unknown) => (object: KubeObject) => {
  specOf(object)[field] = value
}

const asking = KINDS.flatMap((kind) => ASKING.map(([field, kept, free]) => ({ kind, field, kept, free }))).filter(
  ({ kind, field }) => field in kind.spec.shape,
)

/** Kinds that have one of these fields. */
export const ASKING_KINDS: readonly AnyKind[] = [...new Set(asking.map(({ kind }) => kind))]

const WORLD = { boundaryId: randomUUID(), ownerId: randomUUID(), memberId: randomUUID() }

const HISTORY = {
  ...{ life: 1, lastVersion: 1, softDelete: true, purgeProtection: true, isManaged: false },
  versions: [{ version: 1, enabled: true, createdAt: '2026-01-01T00:00:00Z' }],
}

/**
 * Everything that holds a group, wherever that is checked: a resource of each kind that can, and other kept objects.
 */
export const HOLDERS: readonly Holder[] = [
  ...asking.map(({ kind, field, kept, free }) => ({
    name: `a ${kind.kind} with ${field}`,
    holder: kubectlName(kind, 'gold'),
    inRest: `${kind.segment}/gold`,
    made: [{ kind, name: 'gold', object: { spec: { ...sampleSpec(kind, WORLD), [field]: kept } } }],
    letGo: { name: 'gold', change: saying(field, free) },
  })),
  {
    name: 'a database with finalSnapshotOnDelete',
    holder: 'relationalclusters/last',
    made: [
      {
        kind: RelationalCluster,
        name: 'last',
        object: {
          spec: { finalSnapshotOnDelete: true },
          status: { firstReadyAt: '2026-01-01T00:00:00Z', backupEnabled: true },
        },
      },
    ],
    letGo: { name: 'last', change: saying('finalSnapshotOnDelete', false) },
  },
  {
    name: 'a vault with enablePurgeProtection and a secret',
    holder: 'secretvaults/safe',
    made: [
      { kind: SecretVault, name: 'safe', object: { spec: { enablePurgeProtection: true } } },
      {
        kind: VaultEntry,
        name: 'safe.key',
        object: { spec: { vaultName: 'safe', secretName: 'key', state: 'Active', history: HISTORY } },
      },
    ],
    letGo: { name: 'safe.key', change: saying('state', 'Purged') },
  },
  {
    name: 'a snapshot of a deleted database',
    holder: `relationalsnapshots/${SNAPSHOT}`,
    made: [
      {
        kind: RelationalSnapshot,
        name: SNAPSHOT,
        object: {
          spec: { clusterName: 'gone', name: 'last', kind: 'Final' },
          status: { completedAt: '2026-01-01T00:00:00Z' },
        },
      },
    ],
    letGo: { name: SNAPSHOT },
  },
  {
    name: 'a bucket with objectLock and objects',
    holder: 'accountbuckets/media.films',
    made: [
      {
        kind: AccountBucket,
        name: 'media.films',
        object: {
          spec: { accountName: 'media', bucketName: 'films', objectLock: true },
          status: { storeName: 'media.films', objectCount: 2, usedBytes: 9, usageAt: '2026-01-01T00:00:00Z' },
        },
      },
    ],
    letGo: {
      name: 'media.films',
      change: ({ status }) => Object.assign(status as object, { objectCount: 0, usedBytes: 0 }),
    },
  },
  {
    name: 'a retained volume',
    holder: 'persistentvolumeclaims/storage-vc-keep-0',
    made: [
      {
        kind: { kind: 'PersistentVolumeClaim', resource: persistentVolumeClaim },
        name: 'storage-vc-keep-0',
        object: { metadata: { annotations: { [RETAINED_FOR_ANNOTATION]: 'VectorCluster/keep' } } },
      },
    ],
    letGo: { name: 'storage-vc-keep-0' },
  },
]
