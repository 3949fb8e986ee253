import { type BackupLocation, backupScheduleName, selectBackedUpVolumes } from '../../contracts/backups.ts'
import { COMPONENT_LABEL } from '../../contracts/containerinstances.ts'
import type { BackupPolicySpec } from '../../crds/containerFields.ts'
import type { ContainerInstance } from '../../crds/containerinstances.ts'
import { normalizeSchedule } from '../../crds/schedule.ts'
import { type Child, child } from '../workload/child.ts'
import { instanceShared, VOLUME_LABEL } from './index.ts'

export type BackupInput = {
  instance: ContainerInstance
  policy: BackupPolicySpec
  /** The namespace of Velero. */
  velero: string
  target: BackupLocation
}

/** Formats a duration as Go does: Velero rewrites the object in that form, which must not count as a difference. */
function duration(seconds: number): string {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  const parts = hours > 0 ? [`${hours}h`, `${minutes}m`] : minutes > 0 ? [`${minutes}m`] : []
  return `${parts.join('')}${seconds % 60}s`
}

/** Pods for hooks and file backups, claims and their volumes. Never Secrets: their content stays in the cluster. */
const BACKED_UP_RESOURCES = ['persistentvolumeclaims', 'persistentvolumes', 'pods']

/** The Velero schedule. A resource policy selects the volumes: a label selector would miss other volumes of pods. */
export function backupSchedule(input: BackupInput): Child<'Schedule'> {
  const { instance, policy, velero, target } = input
  const shared = instanceShared(instance)
  const name = backupScheduleName(instance)
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
          hooks: { resources: hooksOf(input) },
        },
      },
    },
  )
}

function hooksOf({ instance, policy }: BackupInput): object[] {
  const { selector, namespace } = instanceShared(instance)
  return policy.hooks.map(({ component, when, command, timeoutSeconds, onError }, at) => {
    const exec = { container: component, command, onError, timeout: duration(timeoutSeconds) }
    return {
      name: `${at}-${component}`,
      includedNamespaces: [namespace],
      includedResources: ['pods'],
      labelSelector: { matchLabels: { ...selector, [COMPONENT_LABEL]: component } },
      [when === 'Before' ? 'pre' : 'post']: [{ exec }],
    }
  })
}

/** Selects the volumes with a Velero resource policy, written as JSON because JSON is valid YAML. */
export function volumePolicy({ instance, policy, velero }: BackupInput): Child<'ConfigMap', { data: object }> {
  const shared = instanceShared(instance)
  const type = policy.method === 'Snapshot' ? 'snapshot' : 'fs-backup'
  const chosen = selectBackedUpVolumes(instance.spec.volumes, policy).map(({ name }) => ({
    conditions: { pvcLabels: { ...shared.selector, [VOLUME_LABEL]: name } },
    action: { type },
  }))
  const volumePolicies = [...chosen, { conditions: {}, action: { type: 'skip' } }]
  return child(
    { namespace: velero, labels: shared.labels },
    { apiVersion: 'v1', kind: 'ConfigMap', name: backupScheduleName(instance) },
    { data: { 'policy.yaml': JSON.stringify({ version: 'v1', volumePolicies }) } },
  )
}

/** Asks Velero to delete a backup with its data. A deleted Backup object alone would be synced back from the bucket. */
export function backupDeletion(
  { instance, velero }: Pick<BackupInput, 'instance' | 'velero'>,
  backup: string,
): Child<'DeleteBackupRequest'> {
  return child(
    { namespace: velero, labels: instanceShared(instance).labels },
    { apiVersion: 'velero.io/v1', kind: 'DeleteBackupRequest', name: backup },
    { spec: { backupName: backup } },
  )
}
