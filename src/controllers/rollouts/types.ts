import type { ClusterInspector } from '../../adapters/clusterinspector/port.ts'
import type { PlatformDriftScan, RolloutExecution, RolloutPlan } from '../../crds/rollouts.ts'
import type { Pass } from '../engine/controller.ts'

/** Ports and settings of plans, rollouts and scans. */
export type RolloutOptions = {
  readonly inspector: ClusterInspector
  /** Version of this operator. */
  readonly version: string
  /** Velero's namespace. */
  readonly velero: string
}

export type PlanPass = Pass<typeof RolloutPlan>
export type ExecutionPass = Pass<typeof RolloutExecution>
export type ScanPass = Pass<typeof PlatformDriftScan>
