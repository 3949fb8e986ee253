import { z } from 'zod'
import type { AdmissionRule } from './define.ts'

/** How many of the things that hold an object its status names. */
export const HELD_SHOWN = 50

export const HeldBy = z.array(z.string().max(320)).max(HELD_SHOWN).optional()

/**
 * For kubectl, Git and whoever else does not ask REST. The controllers keep the list, and look once more before they
 * delete anything: what came to be kept a moment ago holds as well.
 *
 * @param because goes on after the name: `still has buckets`
 * @param remedy begins small
 */
export function notWhileHeld(because: string, remedy: string): AdmissionRule {
  const said = `${remedy.charAt(0).toUpperCase()}${remedy.slice(1)}`
  return {
    on: 'DELETE',
    cel: 'variables.isPlatform || size(oldObject.?status.?heldBy.orValue([])) == 0',
    message: `it ${because}, named in status.heldBy: ${remedy}`,
    messageCel: `'"' + oldObject.metadata.name + '" ${because}: ' + oldObject.?status.?heldBy.orValue([]).join(', ') + '. ${said}'`,
  }
}
