import type { ClusterLook } from '../../adapters/clusterlook/port.ts'
import type { PlatformDriftScan, RolloutExecution, RolloutPlan } from '../../crds/rollouts.ts'
import type { Pass } from '../engine/controller.ts'

/** What plans, rollouts and scans work with beside the cluster. */
export type RolloutOptions = {
  readonly look: ClusterLook
  /** Version of this operator. */
  readonly version: string
  /** The namespace that Velero is in. */
  readonly velero: string
}

export type PlanPass = Pass<typeof RolloutPlan>
export type ExecutionPass = Pass<typeof RolloutExecution>
export type ScanPass = Pass<typeof PlatformDriftScan>
