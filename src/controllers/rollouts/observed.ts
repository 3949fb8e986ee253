import { type Backup, phaseOf } from '../../contracts/backups.ts'
import { componentRolloutOf } from '../../contracts/lifecycle.ts'
import { platformFailureOf, type VeleroSchedule } from '../../contracts/platformbackups/backups.ts'
import { INSTALL_VELERO_ADVICE } from '../../contracts/platformbackups/conditions.ts'
import { PLATFORM_SCHEDULE } from '../../contracts/platformbackups/names.ts'
import { type CheckInput, factsOf } from '../../contracts/rollouts/checkInput.ts'
import { blockingChecks, type CompletedCheck, runChecks, worsenedChecks } from '../../contracts/rollouts/preflight.ts'
import { backupOfRollout, snapshotName } from '../../contracts/rollouts/snapshot.ts'
import { DRIFT_ITEMS_MAX } from '../../contracts/rollouts/states.ts'
import type { KubeObject } from '../../core/object.ts'
import { activeBatch, numberOf } from '../../desired/rollouts/batches.ts'
import {
  type Execution,
  neededObservation,
  type ObservedComponent,
  type RolloutObservation,
} from '../../desired/rollouts/index.ts'
import { ignoreKubeAlreadyExists } from '../../kube/errors.ts'
import { veleroBackup, veleroSchedule } from '../../kube/velero.ts'
import { type ComponentObject, componentsOf } from '../lifecycle/storedObjects.ts'
import { gatherCheckInput, inspectedComponents, plansOf } from './checkInput.ts'
import { plannedNow } from './plan.ts'
import type { ExecutionPass, RolloutOptions } from './types.ts'

/** Observes everything that `nextExecution` needs, including the one expensive observation it asks for now. */
export async function observeRollout(
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
export async function makeSnapshot(
  pass: ExecutionPass,
  execution: Execution,
  { velero }: RolloutOptions,
): Promise<void> {
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
