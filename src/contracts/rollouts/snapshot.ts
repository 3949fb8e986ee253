import { PREFIX } from '../../core/labels.ts'
import { sha256 } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { backupFrom, type Schedule } from '../platformbackups/backups.ts'

/** On the Backup that was taken before a rollout: its RolloutExecution. */
export const EXECUTION_ANNOTATION = `${PREFIX}rollout-execution`

/**
 * Its name; after a resume that wants another one, another.
 *
 * @param life the incarnation of the rollout: the snapshot of a former one of its name may be there still
 */
export function snapshotName(life: string, resumedAt: string | undefined): string {
  return `platform-rollout-${sha256(`${life} ${resumedAt ?? ''}`).slice(0, 16)}`
}

/** What the Schedule of the platform backs up, now, for this rollout. */
export function backupOfRollout(
  schedule: Schedule,
  { name, execution, startedBy }: { name: string; execution: string; startedBy: string },
): KubeObject {
  const backup = backupFrom(schedule, { name, trigger: 'Rollout', startedBy })
  const annotations = { ...backup.metadata.annotations, [EXECUTION_ANNOTATION]: execution }
  return { ...backup, metadata: { ...backup.metadata, annotations } }
}
