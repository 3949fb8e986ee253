import { childName } from '../../core/names.ts'

/** How far a deployment has come (records: blueprints, BlueprintExecutionDto). */
export const EXECUTION_STATES = ['Queued', 'Running', 'Succeeded', 'Failed', 'Cancelled'] as const
export const EXECUTION_STAGES = ['Validating', 'Creating', 'WaitingForReady', 'CollectingOutputs', 'Finished'] as const
export const STEP_STATES = ['Pending', 'Waiting', 'Creating', 'Ready', 'Failed', 'Skipped'] as const
export type StepState = (typeof STEP_STATES)[number]

export const isExecutionOver = (state: string | undefined) =>
  state === 'Succeeded' || state === 'Failed' || state === 'Cancelled'

/** Of each boundary, the newest. */
export const EXECUTIONS_KEPT = 200

/** The Secret beside an execution with the values of its secret parameters, by their names. */
export const executionSecretName = (execution: string) => childName('bpx', execution)

/** The Secret beside an entry of a vault that its value comes from. */
export const valueSecretName = (entry: string) => childName('bpv', entry.replaceAll('.', '-'))
export const VALUE_KEY = 'value'

/** Which component of which deployment a resource is, as its annotation says it. */
export const deployMark = (deploy: string, component: string) => `${deploy}/${component}`
export const deployOf = (mark: string | undefined) => mark?.split('/')[0]
