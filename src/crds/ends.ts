import { refusalSentence } from '../core/errors.ts'
import type { AdmissionRule, AnyKind } from './define.ts'
import { KINDS } from './index.ts'

const FIELD = 'expiresAt'

/** Kinds whose objects hold until a time. */
export const ENDING_KINDS: readonly AnyKind[] = KINDS.filter(({ spec }) => FIELD in spec.shape)

export const END_OVER = refusalSentence({ field: FIELD, message: 'must be in the future' })

/**
 * What is asked for until a time must still have some of it before it (REST: src/api/rules/expiry.ts). CEL has no clock: an
 * object is made at its creation time, and whoever changes a field is put down for it with the time. What has ended stays
 * changeable, and administrators restore it from backups.
 */
export const END_RULE: AdmissionRule = {
  on: 'WRITE',
  cel: [
    'variables.isExempt',
    `!has(object.spec.${FIELD})`,
    `(request.operation == 'CREATE' ? timestamp(object.spec.${FIELD}) > timestamp(object.metadata.creationTimestamp) : (oldObject.?spec.?${FIELD}.orValue('') == object.spec.${FIELD} || object.metadata.?managedFields.orValue([]).all(m, !has(m.time) || timestamp(object.spec.${FIELD}) > timestamp(m.time))))`,
  ].join(' || '),
  message: END_OVER,
}
