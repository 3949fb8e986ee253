import type { ComponentKind } from '../../contracts/lifecycle.ts'
import type { DriftItem } from '../../contracts/rollouts/drift.ts'
import type { RolloutExecution } from '../../crds/rollouts.ts'

type Status = NonNullable<RolloutExecution['status']>

/** The state of a rollout: its status without the fields of the reconcile engine. */
export type Execution = Pick<
  Status,
  | 'kind'
  | 'preflight'
  | 'overrides'
  | 'snapshot'
  | 'pause'
  | 'failure'
  | 'startedAt'
  | 'finishedAt'
  | 'resumedAt'
  | 'revertedAt'
  | 'canRollback'
  | 'release'
> & {
  readonly state: NonNullable<Status['state']>
  readonly step: NonNullable<Status['step']>
  readonly batches: readonly Batch[]
}

export type Batch = NonNullable<Status['batches']>[number]
export type BatchComponent = Batch['components'][number]
export type ExecutionPause = NonNullable<Status['pause']>
export type PreflightReport = NonNullable<Status['preflight']>

/** State of a component relative to the version it should get. */
export type ObservedComponent = {
  readonly kind: ComponentKind
  /** The version it runs healthily, or that Flux was given. */
  readonly currentVersion?: string | undefined
  readonly state: 'Applying' | 'Ready' | 'Failed'
  readonly message?: string | undefined
  /** Whether that version is installed, healthy or not. */
  readonly isInstalled: boolean
  readonly isHealthy: boolean
}

/** What is observed. Expensive observations are undefined until `neededObservation` asks for them. */
export type RolloutObservation = {
  readonly requests: RolloutExecution['spec']['requests']
  /** Who started it. */
  readonly startedBy?: string | undefined
  readonly findComponent: (
    name: string,
    wanted?: Pick<BatchComponent, 'toVersion' | 'requestedAt'>,
  ) => ObservedComponent | undefined
  readonly preflight?:
    | { report: PreflightReport; refusal: Execution['failure']; acknowledged: readonly string[] }
    | undefined
  /** Name of the Backup if one is created now. */
  readonly snapshotName: string
  readonly snapshot: { phase?: string | undefined; completedAt?: string | undefined; problem?: string | undefined }
  /** Drift of the components in the batch that would start now. */
  readonly drift?: DriftItem[] | undefined
  /** Checks that are worse than before the rollout. */
  readonly worsened?: readonly string[] | undefined
  /** Why the API server rejected the last write. */
  readonly refusal?: string | undefined
}
