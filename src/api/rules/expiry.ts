import { refusedFields } from '../../core/errors.ts'

/**
 * What is asked for until a time must still have some of it before it. The parts are dates that their schema has read;
 * null and undefined mean without an end.
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
