/**
 * What is said of a field that a body does not take. It stands in one place so that the command line can tell it from a
 * refusal of a value.
 */
export const NO_FIELD = 'is not a field of this record'

/** The record has the field, and a route of its own changes it. */
export const changedBy = (path: string) => `is changed by PUT ${path}`

/** Whether a refusal, or its sentence, is about such a field. */
export const isOfStrangeField = (refusal: string) => refusal.includes(NO_FIELD) || refusal.includes(changedBy('/'))
