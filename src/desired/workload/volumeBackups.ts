import { type BackupLocation, backupScheduleName } from '../../contracts/backups.ts'
import type { KubeObject } from '../../core/object.ts'
import type { BackupPolicySpec } from '../../crds/containerFields.ts'
import { normalizeSchedule } from '../../crds/schedule.ts'
import { type Child, child, type WorkloadInput } from './child.ts'

/** Of a resource: when and how Velero backs up its volumes. */
export type VolumePolicy = Pick<BackupPolicySpec, 'enabled' | 'schedule' | 'retentionDays' | 'keepLast' | 'method'>

export type VolumeBackups = {
  object: Pick<KubeObject, 'kind' | 'metadata'>
  shared: Pick<WorkloadInput, 'namespace' | 'labels' | 'selector'>
  policy: VolumePolicy
  /** For each claim to back up, labels that only it has among those of the resource. */
  claims: readonly Readonly<Record<string, string>>[]
  /** Hooks of Velero. */
  hooks: readonly object[]
  /** The namespace of Velero. */
  velero: string
  target: BackupLocation
}

/** Formats a duration as Go does: Velero rewrites the object in that form, which must not count as a difference. */
export function duration(seconds: number): string {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  const parts = hours > 0 ? [`${hours}h`, `${minutes}m`] : minutes > 0 ? [`${minutes}m`] : []
  return `${parts.join('')}${seconds % 60}s`
}

/** Pods for hooks and file backups, claims and their volumes. Never Secrets: their content stays in the cluster. */
const BACKED_UP_RESOURCES = ['persistentvolumeclaims', 'persistentvolumes', 'pods']

/** The Velero schedule. A resource policy selects the volumes: a label selector would miss other volumes of pods. */
export function backupSchedule({ object, shared, policy, hooks, velero, target }: VolumeBackups): Child<'Schedule'> {
  const name = backupScheduleName(object)
  return child(
    { namespace: velero, labels: shared.labels },
    { apiVersion: 'velero.io/v1', kind: 'Schedule', name },
    {
      spec: {
        schedule: normalizeSchedule(policy.schedule),
        paused: !policy.enabled,
        useOwnerReferencesInBackup: false,
        template: {
          metadata: { labels: { ...shared.labels } },
          includedNamespaces: [shared.namespace],
          includedResources: BACKED_UP_RESOURCES,
          labelSelector: { matchLabels: { ...shared.selector } },
          resourcePolicy: { kind: 'configmap', name },
          snapshotMoveData: policy.method === 'Snapshot',
          defaultVolumesToFsBackup: policy.method === 'FileSystem',
          storageLocation: target.metadata.name,
          ttl: duration(policy.retentionDays * 86_400),
          hooks: { resources: hooks },
        },
      },
    },
  )
}

/** Selects the volumes with a Velero resource policy, written as JSON because JSON is valid YAML. */
export function volumePolicy({ object, shared, policy, claims, velero }: VolumeBackups) {
  const type = policy.method === 'Snapshot' ? 'snapshot' : 'fs-backup'
  const chosen = claims.map((pvcLabels) => ({ conditions: { pvcLabels }, action: { type } }))
  const volumePolicies = [...chosen, { conditions: {}, action: { type: 'skip' } }]
  return child(
    { namespace: velero, labels: shared.labels },
    { apiVersion: 'v1', kind: 'ConfigMap', name: backupScheduleName(object) },
    { data: { 'policy.yaml': JSON.stringify({ version: 'v1', volumePolicies }) } },
  )
}

/** Asks Velero to delete a backup with its data. A deleted Backup object alone would be synced back from the bucket. */
export function backupDeletion(
  { shared, velero }: { shared: Pick<WorkloadInput, 'labels'>; velero: string },
  backup: string,
): Child<'DeleteBackupRequest'> {
  return child(
    { namespace: velero, labels: shared.labels },
    { apiVersion: 'velero.io/v1', kind: 'DeleteBackupRequest', name: backup },
    { spec: { backupName: backup } },
  )
}
