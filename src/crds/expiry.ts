import { refusalSentence } from '../core/errors.ts'
import type { AdmissionRule, AnyKind } from './define.ts'
import { KINDS } from './index.ts'

const FIELD = 'expiresAt'

/** Kinds whose objects are valid until a time. */
export const EXPIRING_KINDS: readonly AnyKind[] = KINDS.filter(({ spec }) => FIELD in spec.shape)

export const EXPIRY_PAST_MESSAGE = refusalSentence({ field: FIELD, message: 'must be in the future' })

/**
 * An end must be in the future when it is set (REST: src/api/rules/expiry.ts). CEL has no clock, so the rule compares a
 * new object with its creation time, and a changed one with the times in its managedFields. An object that has ended
 * can still be changed, and administrators can restore it from a backup.
 */
export const EXPIRY_RULE: AdmissionRule = {
  on: 'WRITE',
  cel: [
    'variables.isExempt',
    `!has(object.spec.${FIELD})`,
    `(request.operation == 'CREATE' ? timestamp(object.spec.${FIELD}) > timestamp(object.metadata.creationTimestamp) : (oldObject.?spec.?${FIELD}.orValue('') == object.spec.${FIELD} || object.metadata.?managedFields.orValue([]).all(m, !has(m.time) || timestamp(object.spec.${FIELD}) > timestamp(m.time))))`,
  ].join(' || '),
  message: EXPIRY_PAST_MESSAGE,
}
