import { refusedFields } from '../../core/errors.ts'

/**
 * Refuses an end that is not in the future. A schema has validated the value as a date; null and undefined mean no end.
 *
 * @param now milliseconds since the epoch
 * @throws PlatformError BAD_REQUEST
 */
export function refusePast<Field extends string>(
  now: number,
  field: Field,
  given: { readonly [name in Field]?: string | null | undefined },
): void {
  const end = given[field]
  if (end !== undefined && end !== null && !(Date.parse(end) > now)) {
    throw refusedFields([{ field, message: 'must be in the future' }])
  }
}
