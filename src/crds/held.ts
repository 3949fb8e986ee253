import { z } from 'zod'
import type { AdmissionRule } from './define.ts'

/** How many of the things that hold an object its status names. */
export const HELD_SHOWN = 50

export const HeldBy = z.array(z.string().max(320)).max(HELD_SHOWN).optional()

/**
 * For kubectl, Git and whoever else does not ask REST. The controllers keep the list, and look once more before they
 * delete anything: what came to be kept a moment ago holds as well.
 */
export const notWhileHeld: AdmissionRule = {
  on: 'DELETE',
  cel: 'variables.isPlatform || size(oldObject.?status.?heldBy.orValue([])) == 0',
  message: 'it holds protected resources, named in status.heldBy: remove the protection, or delete them first',
  messageCel:
    "'\"' + oldObject.metadata.name + '\" holds protected resources: ' + oldObject.?status.?heldBy.orValue([]).join(', ') + '. Remove the protection, or delete them first'",
}
