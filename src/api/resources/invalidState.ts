import { type Summarized, summaryOf } from '../../core/conditions.ts'
import { PlatformError } from '../../core/errors.ts'
import { subjectOf } from '../../crds/called.ts'

type Refused = {
  readonly kind?: string
  readonly spec?: unknown
  readonly metadata: Summarized['metadata'] & { readonly name: string }
  readonly status?: object | undefined
}

/**
 * The refusal of what something does not take as it is now, with that as its record shows it. Of what is being deleted it
 * says that alone: nobody is to wait for anything else of it.
 *
 * @param message why, unless it is being deleted
 */
export function invalidState(object: Refused, message: string | undefined): PlatformError {
  const { status, phase } = summaryOf(object as Summarized)
  const { deletionTimestamp } = object.metadata
  const isDeleting = message === undefined || deletionTimestamp !== undefined
  return new PlatformError(
    'INVALID_STATE',
    isDeleting ? `${subjectOf(object.kind, object)} is being deleted.` : message,
    { status, phase },
  )
}
