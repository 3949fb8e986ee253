import { refOf } from '../../core/object.ts'
import { type EvictionNote, endedPodsToDelete } from '../../desired/workload/evicted.ts'
import type { LivePod } from '../../desired/workload/podProblems.ts'
import { pod } from '../../kube/builtin.ts'
import { isKubeError } from '../../kube/errors.ts'
import type { Pass, Rights } from '../engine/controller.ts'

export const POD_RIGHTS: Rights = { resource: pod, verbs: ['delete'] }

/** Maximum deletions per pass; each one triggers the next pass. */
const MAX_DELETIONS_PER_PASS = 20

/** Deletes ended pods that are no longer reported: a copy that keeps filling its disk leaves thousands a day. */
export async function deleteEndedPods(
  { workloads, clock }: Pick<Pass, 'workloads' | 'clock'>,
  ended: readonly LivePod[],
): Promise<void> {
  for (const each of endedPodsToDelete(ended, clock.now()).slice(0, MAX_DELETIONS_PER_PASS)) {
    const { uid } = each.metadata
    try {
      await workloads.client.remove(pod, refOf(each), { uid })
    } catch (error) {
      // An older agent lacks this right, which is no fault of its workloads.
      if (isKubeError(error, 'Forbidden')) return
      if (!isKubeError(error, 'Conflict')) throw error
    }
  }
}

/**
 * Emits an event for each eviction that is not in the status message yet: a replacement is often ready before the next
 * pass, so the resource never showed a problem.
 */
export function emitEvictions(
  { object, event }: { object: { status?: { statusMessage?: string | undefined } | undefined } } & Pick<Pass, 'event'>,
  notes: readonly EvictionNote[],
): void {
  const reported = object.status?.statusMessage ?? ''
  for (const { reason, message } of notes) if (!reported.includes(message)) event('Warning', reason, message)
}
