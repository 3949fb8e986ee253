import { messageOf, PlatformError } from '../../core/errors.ts'
import { stackInSources } from '../../core/stack.ts'

/** Describes an error with its cause, for the log only: our own messages contain no text of other systems. */
export function describeWithCauses(failure: unknown): string {
  const cause = failure instanceof Error ? failure.cause : undefined
  const stack = failure instanceof PlatformError ? undefined : failure instanceof Error ? failure.stack : undefined
  return [
    stack === undefined ? messageOf(failure) : stackInSources(stack),
    ...(cause === undefined ? [] : [messageOf(cause)]),
  ].join(' <- ')
}
