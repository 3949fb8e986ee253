import { relationalNames, snapshotBackupName } from '../../contracts/relational.ts'
import { type SecretData, secretData } from '../../core/secretData.ts'
import type { RelationalCluster } from '../../crds/relational.ts'
import type { RelationalSnapshot } from '../../crds/relationalSnapshots.ts'
import { normalizeSchedule } from '../../crds/schedule.ts'
import { type Child, child, secret } from '../workload/child.ts'
import { type BackupTarget, ENGINE_API, PLUGIN_API, type RelationalInput, relationalShared } from './types.ts'

/** The CloudNativePG plugin that writes backups and WAL to an object store. */
export const BARMAN_PLUGIN = 'barman-cloud.cloudnative-pg.io'

/** Keys in the Secret with the target's credentials, in the platform's namespace and in our copies. */
export const TARGET_KEYS = { id: 'access-key-id', secret: 'secret-access-key' } as const

const REGION_KEY = 'region'

/** The path of a namespace in the target. Server names separate the databases in it. */
export function destinationPath(
  { bucket, prefix }: Pick<BackupTarget, 'bucket' | 'prefix'>,
  namespace: string,
): string {
  return ['s3:/', bucket, ...prefix.split('/').filter((part) => part !== ''), namespace].join('/')
}

/** The store for a database's backups and WAL. */
export function ownStore(input: RelationalInput): Child<'ObjectStore'> | undefined {
  const { backup } = input
  if (backup === undefined) return undefined
  const store = objectStore(input, input.names.backup, backup.target, backup.destinationPath)
  // Retention is a property of the store: the recovery window that callers see follows from it.
  return backup.retentionDays === undefined
    ? store
    : { ...store, spec: { ...store.spec, retentionPolicy: `${backup.retentionDays}d` } }
}

/** The store that a restored database reads from. It has no retention, because a reader must not delete. */
export function originStore(input: RelationalInput): Child<'ObjectStore'> | undefined {
  const { origin, target } = input
  if (origin === undefined || target === undefined) return undefined
  return objectStore(input, input.names.source, target, origin.destinationPath)
}

function objectStore(input: RelationalInput, name: string, target: BackupTarget, path: string): Child<'ObjectStore'> {
  const key = (entry: string) => ({ name: input.names.target, key: entry })
  const spec = {
    configuration: {
      destinationPath: path,
      ...(target.endpoint === undefined ? {} : { endpointURL: target.endpoint }),
      s3Credentials: {
        accessKeyId: key(TARGET_KEYS.id),
        secretAccessKey: key(TARGET_KEYS.secret),
        ...(target.region === undefined ? {} : { region: key(REGION_KEY) }),
      },
      wal: { compression: 'gzip' },
      data: { compression: 'gzip' },
    },
    instanceSidecarConfiguration: {
      // S3 stores other than Amazon's reject the checksums that newer SDKs add.
      env: [
        { name: 'AWS_REQUEST_CHECKSUM_CALCULATION', value: 'when_required' },
        { name: 'AWS_RESPONSE_CHECKSUM_VALIDATION', value: 'when_required' },
      ],
    },
  }
  return child(input, { apiVersion: PLUGIN_API, kind: 'ObjectStore', name }, { spec })
}

/** The copy of the target's credentials in the database's namespace, because the engine reads Secrets only there. */
export function targetSecret(cluster: RelationalCluster, target: BackupTarget, credentials: SecretData) {
  const shared = relationalShared(cluster)
  const data = {
    ...credentials,
    ...(target.region === undefined ? {} : secretData({ [REGION_KEY]: target.region })),
  }
  return secret(shared, shared.names.target, data)
}

/**
 * Scheduled base backups; cron expressions of CloudNativePG start with seconds. The first is taken at once, because
 * nothing can be restored without one. Backups have no owner: snapshots made from them decide their lifetime.
 */
export function scheduledBackup(input: RelationalInput): Child<'ScheduledBackup'> | undefined {
  const { cluster, backup, names } = input
  if (backup === undefined) return undefined
  const { backupSchedule, running, archivingSuspended } = cluster.spec
  const spec = {
    schedule: `0 ${normalizeSchedule(backupSchedule)}`,
    immediate: true,
    suspend: !running || archivingSuspended,
    backupOwnerReference: 'none',
    ...backupOf(names.cluster),
    target: 'prefer-standby',
  }
  return child(input, { apiVersion: ENGINE_API, kind: 'ScheduledBackup', name: names.backup }, { spec })
}

function backupOf(cluster: string): Record<string, unknown> {
  return {
    cluster: { name: cluster },
    method: 'plugin',
    pluginConfiguration: { name: BARMAN_PLUGIN },
  }
}

/** The database stays writable: a cold snapshot would fence the primary meanwhile. */
function volumeBackupOf(cluster: string): Record<string, unknown> {
  return { cluster: { name: cluster }, method: 'volumeSnapshot', online: true }
}

/**
 * The Backup of one snapshot, taken from the primary: it completes when the WAL it needs is archived. A standby's
 * backup completes minutes before it can be restored.
 */
export function snapshotBackup(snapshot: RelationalSnapshot): Child<'Backup'> {
  const { name, namespace = '' } = snapshot.metadata
  const { cluster } = relationalNames(snapshot.spec.clusterName)
  return {
    apiVersion: ENGINE_API,
    kind: 'Backup',
    metadata: { name: snapshotBackupName(name), namespace },
    spec: { ...(snapshot.spec.method === 'Volume' ? volumeBackupOf(cluster) : backupOf(cluster)), target: 'primary' },
  }
}

/** Returns the days that the store keeps base backups: as long as any snapshot needs one; undefined for ever. */
export function storeRetention(
  backupRetentionDays: number,
  snapshots: readonly Pick<RelationalSnapshot['spec'], 'kind' | 'retentionDays'>[],
): number | undefined {
  const own = snapshots.filter(({ kind }) => kind !== 'Scheduled')
  if (own.some(({ retentionDays }) => retentionDays === undefined)) return undefined
  return Math.max(backupRetentionDays, ...own.map(({ retentionDays = 0 }) => retentionDays))
}
