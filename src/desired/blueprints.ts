import type { StepState } from '../contracts/blueprints/executions.ts'
import { OUTPUTS, type OutputCollection } from '../contracts/references.ts'
import { RELATIONAL_PORT, relationalNames, serviceHost } from '../contracts/relational.ts'
import { SQL_PORTS, SQL_USERS, sqlHost } from '../contracts/sql.ts'
import { vectorEndpoints } from '../contracts/vector.ts'
import type { KubeObject } from '../core/object.ts'
import type { BlueprintExecution, ExecutionStep } from '../crds/blueprints.ts'
import type { RelationalCluster } from '../crds/relational.ts'
import type { SqlInstance } from '../crds/sql.ts'

/** Milliseconds within which a component must become ready. */
export const READY_TIMEOUT_MS = 1_800_000

type Condition = { type: string; status: string; reason?: string; message?: string }
type ObservedStatus = { observedGeneration?: number; conditions?: readonly Condition[] }

export type Readiness =
  | { readonly kind: 'ready' }
  | { readonly kind: 'waiting'; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string }

/** Reasons that only another spec resolves. Lack of room or a missing reference may pass, so it is waited for. */
const TERMINAL_REASONS = new Set([
  'PlanNotFound',
  'QuotaExceeded',
  'ConfigurationInvalid',
  'StorageCannotShrink',
  'LicenseInvalid',
  'NameOccupied',
  'EngineMissing',
  'BuildFailed',
  'JobFailed',
  'JobTimedOut',
  'JobCancelled',
])

/** Returns what an observed resource means for the step that created it. */
export function readinessOf(object: KubeObject): Readiness {
  const { observedGeneration, conditions = [] } = (object.status ?? {}) as ObservedStatus
  const find = (type: string) => conditions.find((one) => one.type === type && one.status === 'True')
  const isSeen = observedGeneration === object.metadata.generation
  const stalled = find('Stalled')
  if (isSeen && stalled !== undefined && TERMINAL_REASONS.has(stalled.reason ?? ''))
    return { kind: 'failed', message: stalled.message ?? '' }
  if (isSeen && find('Ready') !== undefined) return { kind: 'ready' }
  const message = (find('Stalled') ?? find('Reconciling') ?? conditions.find(({ type }) => type === 'Ready'))?.message
  return { kind: 'waiting', message: message ?? '' }
}

export type StepProgress = NonNullable<NonNullable<BlueprintExecution['status']>['steps']>[number]

/** Returns the state of the steps before a pass; of a new execution, the initial state. */
export function initialProgress(
  { spec, status }: Pick<BlueprintExecution, 'spec' | 'status'>,
  now: string,
): StepProgress[] {
  const takenOver = new Set(spec.takenOver)
  return spec.steps.map(({ component, isSkipped = false }) => {
    const seen = status?.steps?.find((one) => one.component === component)
    if (seen !== undefined) return { ...seen }
    if (isSkipped) return { component, status: 'Skipped' }
    return takenOver.has(component)
      ? { component, status: 'Ready', message: 'Taken over.', startedAt: now, finishedAt: now }
      : { component, status: 'Pending' }
  })
}

const DONE_STATES: ReadonlySet<StepState> = new Set<StepState>(['Ready', 'Skipped'])
export const isStepDone = ({ status }: Pick<StepProgress, 'status'>) => DONE_STATES.has(status)

/** Ends the remaining steps of a failed execution. Created resources stay, and a retry looks at them again. */
export function endRemainingSteps(steps: readonly StepProgress[], now: string): StepProgress[] {
  return steps.map((one) => {
    if (isStepDone(one) || one.status === 'Failed') return one
    const message =
      one.status === 'Creating'
        ? 'It was started, but the deployment failed before it was ready.'
        : 'It was not started: the deployment failed first.'
    return { ...one, status: 'Skipped', message, finishedAt: now }
  })
}

/** Returns the components that a step still waits for. */
export function unmetDependencies({ dependsOn = [] }: ExecutionStep, steps: readonly StepProgress[]): string[] {
  return dependsOn.filter((name) => !steps.some((one) => one.component === name && isStepDone(one)))
}

/** Returns the milliseconds that a step has left. */
export function timeLeft({ startedAt }: StepProgress, now: number): number {
  return startedAt === undefined ? READY_TIMEOUT_MS : Date.parse(startedAt) + READY_TIMEOUT_MS - now
}

/** Returns a plain field of a resource for `${components.c.field}`; undefined if it is not set. */
export function plainField(object: KubeObject, field: string): string | undefined {
  const { spec = {}, status = {} } = object as { spec?: Record<string, unknown>; status?: Record<string, unknown> }
  const value = status[field] ?? spec[field]
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined
}

/** Returns a plain output (records: values) that the object alone determines. */
export function plainOutput(collection: string, object: KubeObject, output: string): string | undefined {
  if (!Object.hasOwn(OUTPUTS, collection)) return undefined
  const plain: readonly string[] = OUTPUTS[collection as OutputCollection].plain
  if (!plain.includes(output)) return undefined
  const { name, namespace = '' } = object.metadata
  switch (collection) {
    case 'vectorclusters': {
      const { rest, grpc } = vectorEndpoints(namespace, name)
      return output === 'restEndpoint' ? rest : grpc
    }
    case 'relationalclusters': {
      const { spec, status } = object as unknown as RelationalCluster
      const database = status?.origin?.databaseName ?? spec.databaseName
      const host = serviceHost(relationalNames(name).primary, namespace)
      // The user name is in a Secret and read by reference.
      return { host, port: String(RELATIONAL_PORT), database }[output]
    }
    case 'sqlclusters': {
      const { engine, databaseName } = (object as unknown as SqlInstance).spec
      const host = sqlHost(namespace, name)
      return { host, port: String(SQL_PORTS[engine]), database: databaseName, username: SQL_USERS.owner }[output]
    }
    default:
      return plainField(object, output)
  }
}
