import { BUILD_EXIT_CODES } from '../../contracts/builds/pod.ts'

/** Exit code that the container runtime reports for containers that ran when their node went down. */
const LOST_WITH_NODE = 255

type Rule = {
  readonly action: 'Ignore' | 'FailJob'
  readonly onPodConditions?: readonly { type: string; status: string }[]
  readonly onExitCodes?: { operator: 'NotIn'; values: readonly number[] }
}

/**
 * Failures caused by the source are not retried. A pod that is evicted, drained or lost with its node is replaced until
 * the build's deadline; other failures of the builder are retried twice.
 */
export function buildRetryPolicy() {
  const rules: readonly Rule[] = [
    { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
    { action: 'FailJob', onExitCodes: { operator: 'NotIn', values: [BUILD_EXIT_CODES.builderFailed, LOST_WITH_NODE] } },
  ]
  return { backoffLimit: 2, podReplacementPolicy: 'Failed', podFailurePolicy: { rules } }
}
