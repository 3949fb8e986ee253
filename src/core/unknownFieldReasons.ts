/** The refusal of an unknown field. Declared once, so that the command line can tell it from a refused value. */
export const UNKNOWN_FIELD_REASON = 'is not a field of this record'

/** The refusal of a field that the record has, but that a route of its own changes. */
export const changedByRouteReason = (path: string) => `is changed by PUT ${path}`

/** Whether a refusal, or its sentence, says that the body does not take a field. */
export const isUnknownFieldRefusal = (refusal: string) =>
  refusal.includes(UNKNOWN_FIELD_REASON) || refusal.includes(changedByRouteReason('/'))
