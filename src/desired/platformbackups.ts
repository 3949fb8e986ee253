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
import { secretData } from '../core/secretData.ts'
import type { AnyKind } from '../crds/define.ts'
import { type BackupSchedule, type BackupTarget, PlatformBackupSettings } from '../crds/platformBackups.ts'
import { plainSchedule } from '../crds/schedule.ts'
import type { Child } from './workload/child.ts'

const API = 'velero.io/v1'

/** The key of a target, as texts. */
export type TargetKey = { accessKeyId: string; secretAccessKey: string }

/** Namespaces of Kubernetes itself, in which nothing of the platform is. */
export const KUBERNETES_NAMESPACES = ['kube-system', 'kube-public', 'kube-node-lease']

/**
 * What restores the platform: every object of its kinds, and Secrets, in which its keys and those of its tenants are. No
 * volumes: what engines keep is backed up by their own means.
 *
 * @param kinds every kind of the platform
 * @param velero the namespace that Velero is in, with the key of the target
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
      schedule: plainSchedule(cron),
      paused,
      // With it, backups that are deleted with the Schedule come back from the bucket.
      useOwnerReferencesInBackup: false,
      template: {
        metadata: { labels: { [SCHEDULE_LABEL]: PLATFORM_SCHEDULE } },
        includedNamespaces: ['*'],
        excludedNamespaces: [...KUBERNETES_NAMESPACES, velero],
        includedNamespaceScopedResources: ['secrets', ...idsOf(true)].sort(),
        includedClusterScopedResources: ['namespaces', ...idsOf(false)].sort(),
        snapshotVolumes: false,
        defaultVolumesToFsBackup: false,
        storageLocation: location,
        ttl: `${ttlHours}h0m0s`,
      },
    },
  }
}

/** Velero's default location: what tenants' backups go to as well. */
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
        // Stores other than Amazon's refuse the checksums that newer libraries add.
        checksumAlgorithm: '',
      },
      credential: { name: VELERO_SECRET, key: VELERO_SECRET_KEYS.credentials },
    },
  }
  return location
}

/** The key as the plugin of Velero reads it: a profile of the AWS tools. */
export function targetSecret(
  { accessKeyId, secretAccessKey }: TargetKey,
  { caCertificate }: Pick<BackupTarget, 'caCertificate'>,
  velero: string,
): KubeObject & { data: Record<string, string> } {
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

/** A base backup of a database, by the means that archive its log. */
export function baseBackup(cluster: DatabaseCluster, name: string, labels: Record<string, string>): Child<'Backup'> {
  const { namespace = '', name: of } = cluster.metadata
  const plugin = (archiverOf(cluster) as { name?: string } | undefined)?.name
  return {
    apiVersion: 'postgresql.cnpg.io/v1',
    kind: 'Backup',
    metadata: { name, namespace, labels },
    spec: {
      cluster: { name: of },
      ...(plugin === undefined
        ? { method: 'barmanObjectStore' }
        : { method: 'plugin', pluginConfiguration: { name: plugin } }),
    },
  }
}
