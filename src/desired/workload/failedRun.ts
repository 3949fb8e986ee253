import { describeEviction, isEvicted } from './evicted.ts'
import type { LivePod } from './podProblems.ts'

const UNINFORMATIVE_REASONS = ['Completed', 'Error', 'ContainerCreating', 'DeadlineExceeded', 'BackoffLimitExceeded']

/** Returns a sentence with the reason, unless the reason only says that the container ended or has not started. */
export const describeReason = (reason: string | undefined): string[] =>
  reason === undefined || UNINFORMATIVE_REASONS.includes(reason) ? [] : [`The reason is ${reason}.`]

/**
 * Explains why the last pod of a run failed. The container's own message may contain anything and is not repeated.
 *
 * @param otherwise the reason if the container reports none
 */
export function explainFailedRun(last: LivePod | undefined, otherwise?: string): string[] {
  // The exit code of an evicted container only names the signal.
  if (last !== undefined && isEvicted(last)) return [describeEviction('Its container', last)]
  const { exitCode, reason = otherwise } = last?.status?.containerStatuses?.[0]?.state?.terminated ?? {}
  return [...(exitCode === undefined ? [] : [`Its last exit code is ${exitCode}.`]), ...describeReason(reason)]
}
