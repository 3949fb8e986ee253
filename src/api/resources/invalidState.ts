import { type Summarized, summaryOf } from '../../core/conditions.ts'
import { PlatformError } from '../../core/errors.ts'
import { sentenceSubjectOf } from '../../crds/restNames.ts'

type Refused = {
  readonly kind?: string
  readonly spec?: unknown
  readonly metadata: Summarized['metadata'] & { readonly name: string }
  readonly status?: object | undefined
}

/**
 * Refuses what an object's current state does not allow, with that state as its record shows it. For an object that is
 * being deleted, the refusal says only that, because nothing else is worth waiting for.
 *
 * @param message the reason, unless the object is being deleted
 */
export function invalidState(object: Refused, message: string | undefined): PlatformError {
  const { status, phase } = summaryOf(object as Summarized)
  const { deletionTimestamp } = object.metadata
  const isDeleting = message === undefined || deletionTimestamp !== undefined
  return new PlatformError(
    'INVALID_STATE',
    isDeleting ? `${sentenceSubjectOf(object.kind, object)} is being deleted.` : message,
    { status, phase },
  )
}
