import { BUILD_EXITS } from '../../contracts/builds/pod.ts'

/** What the runtime of a node says of containers that ran when the node went down. */
const LOST_WITH_NODE = 255

type Rule = {
  readonly action: 'Ignore' | 'FailJob'
  readonly onPodConditions?: readonly { type: string; status: string }[]
  readonly onExitCodes?: { operator: 'NotIn'; values: readonly number[] }
}

/**
 * What fails because of its source fails again, and is not repeated. A pod that is evicted or drained, or whose node dies, is
 * replaced for as long as the build may take; after what else the builder is to blame for there are two more.
 */
export function builderPolicy() {
  const rules: readonly Rule[] = [
    { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
    { action: 'FailJob', onExitCodes: { operator: 'NotIn', values: [BUILD_EXITS.builderFailed, LOST_WITH_NODE] } },
  ]
  return { backoffLimit: 2, podReplacementPolicy: 'Failed', podFailurePolicy: { rules } }
}
