import { PREFIX } from '../../core/labels.ts'
import { sha256 } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { backupFrom, type Schedule } from '../platformbackups/backups.ts'

/** On the Backup that was taken before a rollout: its RolloutExecution. */
export const EXECUTION_ANNOTATION = `${PREFIX}rollout-execution`

/** Tells what one life of a rollout made from what a former one of its name did, which may be there still. */
export const lifeMark = (incarnation: string): string => sha256(incarnation).slice(0, 12)

/** Its name; after a resume that wants another one, another. */
export function snapshotName(execution: string, incarnation: string, resumedAt: string | undefined): string {
  return `platform-rollout-${sha256(`${execution} ${resumedAt ?? ''}`).slice(0, 16)}-${lifeMark(incarnation)}`
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
