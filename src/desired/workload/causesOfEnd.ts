import { evictionWords, isEvicted } from './evicted.ts'
import type { LivePod } from './trouble.ts'

const PLAIN = ['Completed', 'Error', 'ContainerCreating', 'DeadlineExceeded', 'BackoffLimitExceeded']

/** Nothing of a reason that says no more than that it ended, or has not begun. */
export const reasonWords = (reason: string | undefined): string[] =>
  reason === undefined || PLAIN.includes(reason) ? [] : [`The reason is ${reason}.`]

/**
 * Why the last pod of what runs once failed. A container's own message may hold anything and is not repeated.
 *
 * @param otherwise the reason where the container tells none
 */
export function causesOfEnd(last: LivePod | undefined, otherwise?: string): string[] {
  // Its exit code is that of the signal, and says nothing.
  if (last !== undefined && isEvicted(last)) return [evictionWords('Its container', last)]
  const { exitCode, reason = otherwise } = last?.status?.containerStatuses?.[0]?.state?.terminated ?? {}
  return [...(exitCode === undefined ? [] : [`Its last exit code is ${exitCode}.`]), ...reasonWords(reason)]
}
