import { z } from 'zod'
import type { AdmissionRule } from './define.ts'

/** Maximum holders of an object that its status names. */
export const HOLDERS_SHOWN_MAX = 50

export const HeldBy = z.array(z.string().max(320)).max(HOLDERS_SHOWN_MAX).optional()

/**
 * Refuses deletion through kubectl, Git and all else that bypasses REST. The controllers maintain the list, and check
 * once more before they delete anything, so that a holder that was just added counts as well.
 *
 * @param because continues after the name: `still has buckets`
 * @param remedy begins in lower case
 */
export function denyDeleteWhileHeld(because: string, remedy: string): AdmissionRule {
  const sentence = `${remedy.charAt(0).toUpperCase()}${remedy.slice(1)}`
  return {
    on: 'DELETE',
    cel: 'variables.isPlatform || size(oldObject.?status.?heldBy.orValue([])) == 0',
    message: `it ${because}, named in status.heldBy: ${remedy}`,
    messageCel: `'"' + oldObject.metadata.name + '" ${because}: ' + oldObject.?status.?heldBy.orValue([]).join(', ') + '. ${sentence}'`,
  }
}
