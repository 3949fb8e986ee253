import { childName } from '../../core/names.ts'

/** Progress of a deployment (records: blueprints, BlueprintExecutionDto). */
export const EXECUTION_STATES = ['Queued', 'Running', 'Succeeded', 'Failed', 'Cancelled'] as const
export const EXECUTION_STAGES = ['Validating', 'Creating', 'WaitingForReady', 'CollectingOutputs', 'Finished'] as const
export const EXECUTION_STEP_STATES = ['Pending', 'Waiting', 'Creating', 'Ready', 'Failed', 'Skipped'] as const
export type StepState = (typeof EXECUTION_STEP_STATES)[number]

export const isExecutionOver = (state: string | undefined) =>
  state === 'Succeeded' || state === 'Failed' || state === 'Cancelled'

type ExecutionProgress = {
  readonly state?: (typeof EXECUTION_STATES)[number] | undefined
  readonly stage?: (typeof EXECUTION_STAGES)[number] | undefined
}
/** How REST shows a state; before the controller has seen an execution, its first one. */
export const shownState = ({ state, stage }: ExecutionProgress = {}) => ({
  status: state ?? 'Queued',
  phase: stage ?? 'Validating',
})

/** Newest executions that are kept per boundary. */
export const EXECUTIONS_KEPT = 200

/** The Secret beside an execution with the values of its secret parameters, by their names. */
export const executionSecretName = (execution: string) => childName('bpx', execution)

/** The Secret from which a vault entry takes its value. */
export const valueSecretName = (entry: string) => childName('bpv', entry.replaceAll('.', '-'))
export const VALUE_KEY = 'value'

/** Annotation of a resource: the deployment and the component that it belongs to. */
export const blueprintMark = (deploy: string, component: string) => `${deploy}/${component}`
export const deploymentOfMark = (mark: string | undefined) => mark?.split('/')[0]
