import type { AdmissionRule } from './define.ts'
import { PlainText } from './fields.ts'

/** For objects that somebody starts: REST fills in the caller. */
export const StartedBy = PlainText.max(128)
  .optional()
  .describe('Id of the principal who requested it; callers can only set their own; immutable')

/** Nobody may name another principal, because records and audit entries show this one. */
export const startedBySelfRule: AdmissionRule = {
  on: 'CREATE',
  cel: "variables.isExempt || !has(object.spec.startedBy) || request.userInfo.username == 'p:' + object.spec.startedBy",
  message: 'startedBy must be your own id, or absent',
}
