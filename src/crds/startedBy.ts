import type { AdmissionRule } from './define.ts'
import { PlainText } from './fields.ts'

/** Of what somebody starts: REST writes the caller. */
export const StartedBy = PlainText.max(128)
  .optional()
  .describe('Id of the principal who requested it, which nobody writes but for themselves; immutable')

/** Records and audits name that one for what is done. */
export const startedByOneself: AdmissionRule = {
  on: 'CREATE',
  cel: "variables.isExempt || !has(object.spec.startedBy) || request.userInfo.username == 'p:' + object.spec.startedBy",
  message: 'startedBy must be your own id, or absent',
}
