import { messageOf, PlatformError } from '../../core/errors.ts'
import { stackInSources } from '../../core/stack.ts'

/** What went wrong, for the log only: the chain of causes, as our own errors keep foreign text out of the message. */
export function causesOf(failure: unknown): string {
  const cause = failure instanceof Error ? failure.cause : undefined
  const stack = failure instanceof PlatformError ? undefined : failure instanceof Error ? failure.stack : undefined
  return [
    stack === undefined ? messageOf(failure) : stackInSources(stack),
    ...(cause === undefined ? [] : [messageOf(cause)]),
  ].join(' <- ')
}
