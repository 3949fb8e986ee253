import { refOf } from '../../core/object.ts'
import { type EvictionNote, forgotten } from '../../desired/workload/evicted.ts'
import type { LivePod } from '../../desired/workload/trouble.ts'
import { pod } from '../../kube/builtin.ts'
import { isKubeError } from '../../kube/errors.ts'
import type { Pass, Rights } from '../engine/controller.ts'

export const POD_RIGHTS: Rights = { resource: pod, verbs: ['delete'] }

/** At most so many in one pass: each deletion wakes the next. */
const AT_ONCE = 20

/** Removes the pods that ended and of which nothing more is told: one that fills its disk leaves thousands in a day. */
export async function clearEnded(
  { workloads, clock }: Pick<Pass, 'workloads' | 'clock'>,
  ended: readonly LivePod[],
): Promise<void> {
  for (const each of forgotten(ended, clock.now()).slice(0, AT_ONCE)) {
    const { uid } = each.metadata
    try {
      await workloads.client.remove(pod, refOf(each), { uid })
    } catch (error) {
      // An agent of before has no right to, and what it runs is not ill for that.
      if (isKubeError(error, 'Forbidden')) return
      if (!isKubeError(error, 'Conflict')) throw error
    }
  }
}

/**
 * An event for each eviction that its status has not told of: what takes the place of a copy is often ready before anybody
 * looks, and the resource was never ill then.
 */
export function tellOf(
  { object, event }: { object: { status?: { statusMessage?: string | undefined } | undefined } } & Pick<Pass, 'event'>,
  notes: readonly EvictionNote[],
): void {
  const told = object.status?.statusMessage ?? ''
  for (const { reason, words } of notes) if (!told.includes(words)) event('Warning', reason, words)
}
