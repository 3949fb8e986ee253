import { messageOf, PlatformError } from '../../core/errors.ts'
import { stackInSources } from '../../core/stack.ts'

/** The chain of causes of an error, for the log only: our own errors keep foreign text out of their messages. */
export function causesOf(failure: unknown): string {
  const cause = failure instanceof Error ? failure.cause : undefined
  const stack = failure instanceof PlatformError ? undefined : failure instanceof Error ? failure.stack : undefined
  return [
    stack === undefined ? messageOf(failure) : stackInSources(stack),
    ...(cause === undefined ? [] : [messageOf(cause)]),
  ].join(' <- ')
}
