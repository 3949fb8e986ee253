import { PREFIX } from '../../core/labels.ts'
import { sha256 } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { buildBackupFromSchedule, type VeleroSchedule } from '../platformbackups/backups.ts'

/** Annotation on the Backup that was taken before a rollout: its RolloutExecution. */
export const EXECUTION_ANNOTATION = `${PREFIX}rollout-execution`

/** Distinguishes the objects of a rollout from those of a former one of its name, which may still exist. */
export const incarnationHash = (incarnation: string): string => sha256(incarnation).slice(0, 12)

/** Returns the name of the Backup; a resume that wants another backup gets another name. */
export function snapshotName(execution: string, incarnation: string, resumedAt: string | undefined): string {
  return `platform-rollout-${sha256(`${execution} ${resumedAt ?? ''}`).slice(0, 16)}-${incarnationHash(incarnation)}`
}

/** Builds a backup, for this rollout, of what the Schedule of the platform backs up. */
export function backupOfRollout(
  schedule: VeleroSchedule,
  { name, execution, startedBy }: { name: string; execution: string; startedBy: string },
): KubeObject {
  const backup = buildBackupFromSchedule(schedule, { name, trigger: 'Rollout', startedBy })
  const annotations = { ...backup.metadata.annotations, [EXECUTION_ANNOTATION]: execution }
  return { ...backup, metadata: { ...backup.metadata, annotations } }
}
