import { type Summarized, summaryOf } from '../../core/conditions.ts'
import { PlatformError } from '../../core/errors.ts'

type Refused = Pick<Summarized, 'metadata'> & { readonly status?: object | undefined }

/** The refusal of what something does not take as it is now, with that as its record shows it. */
export function invalidState(object: Refused, message: string): PlatformError {
  const { status, phase } = summaryOf(object as Summarized)
  return new PlatformError('INVALID_STATE', message, { status, phase })
}
