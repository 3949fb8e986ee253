import { archiverOf, type DatabaseCluster } from '../contracts/platformbackups/archives.ts'
import {
  PLATFORM_SCHEDULE,
  SCHEDULE_LABEL,
  VELERO_SECRET,
  VELERO_SECRET_KEYS,
} from '../contracts/platformbackups/names.ts'
import { MANAGED_BY, MANAGED_BY_LABEL, OWNER_KIND_LABEL } from '../core/labels.ts'
import type { KubeObject } from '../core/object.ts'
import { resourceId } from '../core/object.ts'
import { type SecretData, secretData } from '../core/secretData.ts'
import type { AnyKind } from '../crds/define.ts'
import { type BackupSchedule, type BackupTarget, PlatformBackupSettings } from '../crds/platformBackups.ts'
import { normalizeSchedule } from '../crds/schedule.ts'
import type { Child } from './workload/child.ts'

const API = 'velero.io/v1'

/** The target's key in plain text. */
export type TargetKey = { accessKeyId: string; secretAccessKey: string }

/** Namespaces of Kubernetes itself, which hold nothing of the platform. */
export const KUBERNETES_NAMESPACES = ['kube-system', 'kube-public', 'kube-node-lease']

/**
 * The Velero schedule of the platform backup: all objects of our kinds, their revisions, and Secrets, which hold the
 * keys of the platform and its tenants. No volumes: engines back up their data by their own means.
 *
 * @param kinds every kind of the platform
 * @param velero Velero's namespace, which also holds the target's key
 */
export function platformSchedule(
  { cron, ttlHours, paused }: BackupSchedule,
  { kinds, velero, location }: { kinds: readonly AnyKind[]; velero: string; location: string },
): Child<'Schedule'> {
  const idsOf = (isNamespaced: boolean) =>
    kinds.filter(({ resource }) => resource.namespaced === isNamespaced).map(({ resource }) => resourceId(resource))
  return {
    apiVersion: API,
    kind: 'Schedule',
    metadata: { name: PLATFORM_SCHEDULE, namespace: velero },
    spec: {
      schedule: normalizeSchedule(cron),
      paused,
      // With owner references, deleting the Schedule deletes its Backups, and Velero syncs them back from the bucket.
      useOwnerReferencesInBackup: false,
      template: {
        metadata: { labels: { [SCHEDULE_LABEL]: PLATFORM_SCHEDULE } },
        includedNamespaces: ['*'],
        excludedNamespaces: [...KUBERNETES_NAMESPACES, velero],
        includedNamespaceScopedResources: ['secrets', 'controllerrevisions.apps', ...idsOf(true)].sort(),
        includedClusterScopedResources: ['namespaces', ...idsOf(false)].sort(),
        snapshotVolumes: false,
        defaultVolumesToFsBackup: false,
        storageLocation: location,
        ttl: `${ttlHours}h0m0s`,
      },
    },
  }
}

/** Velero's default location, which tenants' backups use as well. */
export function targetLocation(target: BackupTarget, { velero, name }: { velero: string; name: string }) {
  const { provider, bucket, prefix, region, endpoint, forcePathStyle, caCertificate } = target
  const authority = { name: VELERO_SECRET, key: VELERO_SECRET_KEYS.authority }
  const location: Child<'BackupStorageLocation'> = {
    apiVersion: API,
    kind: 'BackupStorageLocation',
    metadata: { name, namespace: velero },
    spec: {
      provider,
      default: true,
      accessMode: 'ReadWrite',
      objectStorage: { bucket, prefix, ...(caCertificate !== undefined && { caCertRef: authority }) },
      config: {
        region,
        s3Url: endpoint,
        s3ForcePathStyle: String(forcePathStyle),
        // S3 stores other than Amazon's reject the checksums that newer SDKs add.
        checksumAlgorithm: '',
      },
      credential: { name: VELERO_SECRET, key: VELERO_SECRET_KEYS.credentials },
    },
  }
  return location
}

/** The key in the format of Velero's AWS plugin: a profile of the AWS tools. */
export function targetSecret(
  { accessKeyId, secretAccessKey }: TargetKey,
  { caCertificate }: Pick<BackupTarget, 'caCertificate'>,
  velero: string,
): KubeObject & { data: SecretData } {
  const profile = `[default]\naws_access_key_id=${accessKeyId}\naws_secret_access_key=${secretAccessKey}\n`
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: VELERO_SECRET,
      namespace: velero,
      labels: { [MANAGED_BY_LABEL]: MANAGED_BY, [OWNER_KIND_LABEL]: PlatformBackupSettings.kind },
    },
    type: 'Opaque',
    data: secretData({
      [VELERO_SECRET_KEYS.credentials]: profile,
      ...(caCertificate !== undefined && { [VELERO_SECRET_KEYS.authority]: caCertificate }),
    }),
  }
}

/** An on-demand base backup of a database, with the method that archives its WAL. */
export function baseBackup(cluster: DatabaseCluster, name: string, labels: Record<string, string>): Child<'Backup'> {
  const { namespace = '', name: clusterName } = cluster.metadata
  const plugin = (archiverOf(cluster) as { name?: string } | undefined)?.name
  return {
    apiVersion: 'postgresql.cnpg.io/v1',
    kind: 'Backup',
    metadata: { name, namespace, labels },
    spec: {
      cluster: { name: clusterName },
      ...(plugin === undefined
        ? { method: 'barmanObjectStore' }
        : { method: 'plugin', pluginConfiguration: { name: plugin } }),
    },
  }
}
