import type { ComponentKind } from '../../contracts/lifecycle.ts'
import type { DriftItem } from '../../contracts/rollouts/drift.ts'
import type { RolloutExecution } from '../../crds/rollouts.ts'

type Status = NonNullable<RolloutExecution['status']>

/** What is kept of a rollout: its status without what the engine writes. */
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
export type Rolled = Batch['components'][number]
export type Paused = NonNullable<Status['pause']>
export type Checked = NonNullable<Status['preflight']>

/** How a component stands to the version that it is to get. */
export type SeenComponent = {
  readonly kind: ComponentKind
  /** Version that it has and is healthy with, or that Flux was told. */
  readonly isAt?: string | undefined
  readonly state: 'Applying' | 'Ready' | 'Failed'
  readonly message?: string | undefined
  /** Whether that version runs, healthy or not. */
  readonly isInstalled: boolean
  /** Whether it serves as it should now. */
  readonly isHealthy: boolean
}

/** What is seen of the world. What takes a look of its own is undefined until `looksFor` asks for it. */
export type Observed = {
  readonly requests: RolloutExecution['spec']['requests']
  /** Who started it. */
  readonly by?: string | undefined
  readonly componentOf: (name: string, wanted?: Pick<Rolled, 'toVersion' | 'requestedAt'>) => SeenComponent | undefined
  readonly preflight?: { report: Checked; refusal: Execution['failure']; acknowledged: readonly string[] } | undefined
  /** The name of the Backup if one is made now. */
  readonly snapshotName: string
  readonly snapshot: { phase?: string | undefined; completedAt?: string | undefined; problem?: string | undefined }
  /** Of the components of the batch that would begin now. */
  readonly drift?: DriftItem[] | undefined
  /** Checks that are worse than they were before. */
  readonly worsened?: readonly string[] | undefined
  /** Why the API server refused what was written last. */
  readonly refusal?: string | undefined
}
