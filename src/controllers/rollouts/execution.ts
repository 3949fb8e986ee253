import { type Backup, phaseOf } from '../../contracts/backups.ts'
import { componentRolloutOf } from '../../contracts/lifecycle.ts'
import { platformFailureOf, type VeleroSchedule } from '../../contracts/platformbackups/backups.ts'
import { INSTALL_VELERO_ADVICE } from '../../contracts/platformbackups/conditions.ts'
import { PLATFORM_SCHEDULE } from '../../contracts/platformbackups/names.ts'
import { type CheckInput, factsOf, findLifecycleLockHolder } from '../../contracts/rollouts/checkInput.ts'
import { kindOfPlan } from '../../contracts/rollouts/plan.ts'
import { blockingChecks, type CompletedCheck, runChecks, worsenedChecks } from '../../contracts/rollouts/preflight.ts'
import { rollbackNames } from '../../contracts/rollouts/requests.ts'
import {
  backupOfRollout,
  EXECUTION_ANNOTATION,
  incarnationHash,
  snapshotName,
} from '../../contracts/rollouts/snapshot.ts'
import { DRIFT_ITEMS_MAX, isRolloutActive, isRolloutOver, ROLLOUTS_KEPT } from '../../contracts/rollouts/states.ts'
import { childName, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { ageOf, type KubeObject, keyOf, objectKey } from '../../core/object.ts'
import { done, ended, type Outcome, REQUEUE_NOW, waiting } from '../../core/outcome.ts'
import { PlatformComponent } from '../../crds/lifecycle.ts'
import { PlatformDriftScan, RolloutExecution, RolloutPlan } from '../../crds/rollouts.ts'
import { activeBatch, numberOf } from '../../desired/rollouts/batches.ts'
import {
  batchesOfPlan,
  componentsToApply,
  describeExecution,
  type Execution,
  neededObservation,
  nextExecution,
  type ObservedComponent,
  type RolloutObservation,
  wakesIn,
} from '../../desired/rollouts/index.ts'
import { absent, ignoreKubeAlreadyExists, isKubeError } from '../../kube/errors.ts'
import { veleroBackup, veleroBackupStorageLocation, veleroSchedule } from '../../kube/velero.ts'
import { controllerWith, steps, type Workspace } from '../engine/controller.ts'
import { CONFIGURATION_RIGHTS } from '../lifecycle/configuration.ts'
import { setVersion } from '../lifecycle/engine.ts'
import { acquireLifecycleLock } from '../lifecycle/lock.ts'
import {
  type ComponentObject,
  componentsOf,
  type ExecutionObject,
  executionsOf,
  installsOf,
} from '../lifecycle/storedObjects.ts'
import { createIfAbsent, pruneFinished } from '../platformObjects.ts'
import { gatherCheckInput, inspectedComponents, plansOf, ROLLOUT_READS } from './checkInput.ts'
import { plannedNow } from './plan.ts'
import type { ExecutionPass, RolloutOptions } from './types.ts'

/**
 * Executes plans, one at a time. Each pass carries out the stored state, observes, and stores the next state. After a
 * crash the same is done again, which changes nothing.
 */
export const executionController = controllerWith(
  RolloutExecution,
  {
    observes: [
      { resource: PlatformComponent.resource, keysOf: rolloutsUnderWay },
      { resource: veleroBackup, keysOf: rolloutOfBackup },
      { resource: RolloutPlan.resource, keysOf: rolloutsOfPlan },
    ],
    reads: [...ROLLOUT_READS, veleroBackupStorageLocation, veleroSchedule],
    writes: [
      { resource: PlatformComponent.resource, verbs: ['patch'], in: 'system' },
      { resource: RolloutExecution.resource, verbs: ['create', 'delete'], in: 'system' },
      { resource: RolloutPlan.resource, verbs: ['create'], in: 'system' },
      { resource: PlatformDriftScan.resource, verbs: ['create'], in: 'system' },
      { resource: veleroBackup, verbs: ['create'] },
      CONFIGURATION_RIGHTS,
    ],
  },
  (options: RolloutOptions) => ({
    reconcile: steps(function rollOut(pass: ExecutionPass): Promise<Outcome> {
      return advance(pass, options)
    }),
  }),
)

function rolloutsUnderWay(_changed: KubeObject, records: Workspace): string[] {
  return executionsOf(records)
    .filter(({ status }) => status?.state === 'Executing')
    .map(keyOf)
}

function rolloutOfBackup({ metadata }: KubeObject): string[] {
  const name = metadata.annotations?.[EXECUTION_ANNOTATION]
  return name === undefined ? [] : [objectKey(SYSTEM_NAMESPACE, name)]
}

/** Wakes executions that were created before their plan. */
function rolloutsOfPlan({ metadata }: KubeObject, records: Workspace): string[] {
  return executionsOf(records)
    .filter(({ spec, status }) => spec.plan === metadata.name && status?.state === undefined)
    .map(keyOf)
}

async function advance(pass: ExecutionPass, options: RolloutOptions): Promise<Outcome> {
  const { status = {} } = pass.object
  if (isRolloutOver(status.state)) return finishExecution(pass)
  if (status.state === undefined) return begin(pass)
  const execution = status as Execution
  const refusal = await applyExecution(pass, execution, options)
  const seen = await observeRollout(pass, execution, options, refusal)
  const next = nextExecution(execution, seen, pass.clock.now())
  if (next.state === 'Succeeded') await requestScan(pass)
  report(pass, next)
  return outcomeOf(pass, execution, next)
}

/** Reports the whole state, so that fields missing from it are removed. */
function report(pass: ExecutionPass, next: Execution): void {
  const { state, step, kind, batches, pause, preflight, overrides, snapshot, failure } = next
  const { startedAt, finishedAt, resumedAt, revertedAt, canRollback, release } = next
  pass.report({
    ...{ state, step, kind, pause, preflight, overrides, snapshot, failure },
    ...{ startedAt, finishedAt, resumedAt, revertedAt, canRollback, release },
    batches: [...batches],
  })
}

type EndedExecution = { state?: Execution['state'] | undefined; failure?: { message: string } | undefined }

function failureOf({ state, failure }: EndedExecution): string | undefined {
  return state === 'Failed' ? (failure?.message ?? 'It has failed.') : undefined
}

function outcomeOf({ clock }: ExecutionPass, before: Execution, next: Execution): Outcome {
  const now = clock.now()
  const isSame = JSON.stringify(before) === JSON.stringify({ ...before, ...next })
  const after = isSame ? wakesIn(next, now) : 1
  if (isRolloutOver(next.state))
    return ended(failureOf(next), { message: `It ended as ${next.state}.`, after: REQUEUE_NOW })
  if (next.state === 'Paused')
    return waiting('WaitingForDependency', describeExecution(next), isSame ? undefined : after)
  return waiting('RollingOut', describeExecution(next), after)
}

/** Carries out the stored state. @returns why the cluster refused; undefined if it did not */
async function applyExecution(
  pass: ExecutionPass,
  execution: Execution,
  options: RolloutOptions,
): Promise<string | undefined> {
  const { records } = pass
  const components = new Map(componentsOf(records).map((one) => [one.metadata.name, one]))
  try {
    for (const { name, toVersion, requestedAt } of componentsToApply(execution)) {
      const component = components.get(name)
      if (component !== undefined) await setVersion(records.client, component, { version: toVersion, requestedAt })
    }
    await makeSnapshot(pass, execution, options)
    return undefined
  } catch (error) {
    if (!isKubeError(error, 'Forbidden', 'Invalid')) throw error
    return error.message.slice(0, 1024)
  }
}

/** Takes the turn, or refuses as REST would: a refused execution never starts later. */
async function begin(pass: ExecutionPass): Promise<Outcome> {
  const { object, records } = pass
  const refusal = refusalOf(object, records)
  const plan = plansOf(records).find(({ metadata }) => metadata.name === object.spec.plan)
  // Each kind has its own watch: a plan created just before may not be cached yet, and wakes the execution.
  if (refusal === undefined && plan === undefined && (await isStored(pass, object.spec.plan)))
    return waiting('WaitingForDependency', `Plan "${object.spec.plan}" is about to be known.`)
  if (refusal !== undefined || plan === undefined) {
    const message = refusal ?? `PlanNotFound: there is no plan "${object.spec.plan}".`
    return refuse(pass, message)
  }
  const other = acquireLifecycleLock(pass)
  if (other !== undefined) return refuse(pass, describeBusy(other))
  const planned = plannedNow(plan, records)
  report(pass, {
    state: 'Executing',
    step: 'Preflight',
    kind: kindOfPlan(plan.spec.kind, planned.items),
    batches: batchesOfPlan(planned),
    startedAt: pass.now,
  })
  return waiting('Starting', 'It begins.', REQUEUE_NOW)
}

function refuse(pass: ExecutionPass, message: string): Outcome {
  pass.report({ state: 'Failed', step: 'Finished', failure: { code: 'Refused', message }, finishedAt: pass.now })
  return ended(message, { after: REQUEUE_NOW })
}

const describeBusy = (name: string) => `RolloutBusy: "${name}" has not ended.`

async function isStored({ records }: ExecutionPass, plan: string): Promise<boolean> {
  const found = await records.client
    .get(RolloutPlan.resource, { namespace: SYSTEM_NAMESPACE, name: plan })
    .catch(absent)
  return found !== undefined
}

/** Returns why it does not start: the code of REST, and a sentence. */
function refusalOf(object: Pick<ExecutionObject, 'metadata' | 'spec'>, records: Workspace): string | undefined {
  const others = executionsOf(records).filter(({ metadata }) => metadata.name !== object.metadata.name)
  const isBefore = (one: ExecutionObject) =>
    isRolloutActive(one.status?.state) || (one.status?.state === undefined && ageOf(one) < ageOf(object))
  const busy = others.find(isBefore) ?? findLifecycleLockHolder([], installsOf(records))
  if (busy !== undefined) return describeBusy(busy.metadata.name)
  const plan = plansOf(records).find(({ metadata }) => metadata.name === object.spec.plan)
  if (plan === undefined) return undefined
  const former = others.find(({ spec, status }) => spec.plan === plan.metadata.name && status?.startedAt !== undefined)
  if (former !== undefined) return `PlanExecuted: rollout "${former.metadata.name}" has already carried out the plan.`
  const [problem] = plannedNow(plan, records).problems
  return problem === undefined ? undefined : `PlanNotValidated: ${problem.message}`
}

/** Requests a scan once per incarnation: the scan of an earlier rollout of this name may still exist. */
async function requestScan({ records, object, incarnation }: ExecutionPass): Promise<void> {
  const name = childName('rollout', object.metadata.name, incarnationHash(incarnation))
  await createIfAbsent(records.client, PlatformDriftScan, name, { trigger: 'Rollout' })
}

async function finishExecution(pass: ExecutionPass): Promise<Outcome> {
  const { object, records } = pass
  const finished = executionsOf(records).filter(({ status }) => isRolloutOver(status?.state))
  if (await pruneFinished(pass, finished, ROLLOUTS_KEPT)) return done({ reason: 'Completed' })
  const { rollbackAt, by } = object.spec.requests
  if (rollbackAt !== undefined && rollbackAt !== object.status?.rolledBackAt) {
    // REST may have created both already, under the same names.
    const names = rollbackNames(object.metadata.name, rollbackAt)
    const rollbackOf = object.metadata.name
    if (object.status?.canRollback === true) {
      await createIfAbsent(records.client, RolloutPlan, names.plan, { kind: 'Rollback', rollbackOf })
      await createIfAbsent(records.client, RolloutExecution, names.execution, {
        plan: names.plan,
        rollbackOf,
        startedBy: by,
      })
    }
    pass.report({ rolledBackAt: rollbackAt })
  }
  return ended(failureOf(object.status ?? {}))
}

/** Observes everything that `nextExecution` needs, including the one expensive observation it asks for now. */
async function observeRollout(
  pass: ExecutionPass,
  execution: Execution,
  options: RolloutOptions,
  refusal: string | undefined,
): Promise<RolloutObservation> {
  const { object, records, clock, incarnation } = pass
  const components = new Map(componentsOf(records).map((one) => [one.metadata.name, one]))
  const needed = neededObservation(execution, clock.now())
  return {
    ...{ requests: object.spec.requests, startedBy: object.spec.startedBy, refusal },
    findComponent: (name, wanted) => observedComponent(components.get(name), wanted),
    snapshotName: snapshotName(object.metadata.name, incarnation, execution.resumedAt),
    snapshot: observeSnapshot(pass, execution, options),
    ...(needed === 'preflight' && { preflight: await preflight(pass, options) }),
    ...(needed === 'drift' && { drift: await driftOf(pass, execution, options) }),
    ...(needed === 'checks' && { worsened: await worsened(pass, execution, options) }),
  }
}

function observedComponent(
  component: ComponentObject | undefined,
  wanted?: Parameters<RolloutObservation['findComponent']>[1],
): ObservedComponent | undefined {
  if (component === undefined) return undefined
  const { spec, status } = component
  const version = wanted?.toVersion ?? spec.version ?? ''
  const { state, message } = componentRolloutOf(component, { version, requestedAt: wanted?.requestedAt })
  return {
    ...{ kind: spec.kind, state, message },
    currentVersion: state === 'Ready' ? version : undefined,
    isInstalled: status?.installedVersion === version,
    isHealthy: status?.state === 'Ready',
  }
}

const planOfPass = ({ object, records }: ExecutionPass) => {
  const plan = plansOf(records).find(({ metadata }) => metadata.name === object.spec.plan)
  return plan && plannedNow(plan, records)
}

async function preflight(
  pass: ExecutionPass,
  options: RolloutOptions,
): Promise<NonNullable<RolloutObservation['preflight']>> {
  const checks = runChecks(factsOf(await gatherCheckInput(pass, options, planOfPass(pass))))
  const { acknowledgedFailures } = pass.object.spec
  const [blocking] = blockingChecks(checks, acknowledgedFailures)
  const failing = new Set(checks.filter(({ result }) => result === 'Failed').map(({ id }) => id))
  return {
    report: { runAt: pass.now, checks: checks.map(truncateCheck) },
    refusal: blocking && {
      code: blocking.id === 'operator-version' ? 'OperatorTooOld' : 'Refused',
      message: `PreflightFailed: ${blocking.id}: ${blocking.message}`.slice(0, 1024),
    },
    acknowledged: acknowledgedFailures.filter((id) => failing.has(id)),
  }
}

/** Truncates findings to what a status may hold. */
function truncateCheck(check: CompletedCheck): CompletedCheck {
  const details = Object.entries(check.details).map(([name, text]) => [name, text.slice(0, 1024)])
  return { ...check, details: Object.fromEntries(details) }
}

async function worsened(
  pass: ExecutionPass,
  { preflight: before }: Execution,
  options: RolloutOptions,
): Promise<string[]> {
  const facts: CheckInput = await gatherCheckInput(pass, options, undefined)
  return worsenedChecks((before?.checks ?? []) as readonly CompletedCheck[], runChecks(factsOf(facts)))
}

/** Returns the drift of the batch's components. A rollback restores their fields anyway. */
async function driftOf({ records }: ExecutionPass, execution: Execution, { inspector }: RolloutOptions) {
  const batch = activeBatch(execution)
  if (batch === undefined || execution.kind === 'Rollback') return []
  const names = new Set(batch.components.map(({ name }) => name))
  const { items } = await inspector.drift(
    inspectedComponents(componentsOf(records).filter(({ metadata }) => names.has(metadata.name))),
  )
  return items.slice(0, DRIFT_ITEMS_MAX).map((item) => ({ ...item, step: `batch ${numberOf(batch)}` }))
}

const NO_SCHEDULE = `The Velero schedule "${PLATFORM_SCHEDULE}", which defines what a snapshot holds, is missing.`

function observeSnapshot(
  { workloads }: ExecutionPass,
  { snapshot }: Execution,
  { velero }: RolloutOptions,
): RolloutObservation['snapshot'] {
  if (!workloads.isServed(veleroBackup) || !workloads.isServed(veleroSchedule))
    return { problem: INSTALL_VELERO_ADVICE }
  if (workloads.cache(veleroSchedule).get(velero, PLATFORM_SCHEDULE) === undefined) return { problem: NO_SCHEDULE }
  const backup = snapshot && workloads.cache<Backup>(veleroBackup).get(velero, snapshot.name)
  if (backup === undefined) return {}
  return { phase: phaseOf(backup), completedAt: backup.status?.completionTimestamp, problem: platformFailureOf(backup) }
}

/** Creates the Backup that the stored state names, unless it exists. */
async function makeSnapshot(pass: ExecutionPass, execution: Execution, { velero }: RolloutOptions): Promise<void> {
  const { object, workloads } = pass
  const { snapshot, step, state } = execution
  if (state !== 'Executing' || step !== 'Snapshot' || snapshot === undefined) return
  if (!workloads.isServed(veleroBackup) || !workloads.isServed(veleroSchedule)) return
  const schedule = workloads.cache<VeleroSchedule>(veleroSchedule).get(velero, PLATFORM_SCHEDULE)
  if (schedule === undefined || workloads.cache(veleroBackup).get(velero, snapshot.name) !== undefined) return
  const execName = object.metadata.name
  const backup = backupOfRollout(schedule, {
    name: snapshot.name,
    execution: execName,
    startedBy: object.spec.startedBy ?? '',
  })
  await workloads.client.create<KubeObject>(veleroBackup, backup).catch(ignoreKubeAlreadyExists)
}
