import { type Backup, phaseOf } from '../../contracts/backups.ts'
import { rolloutOf } from '../../contracts/lifecycle.ts'
import { platformFailureOf, type Schedule } from '../../contracts/platformbackups/backups.ts'
import { INSTALL_VELERO } from '../../contracts/platformbackups/conditions.ts'
import { PLATFORM_SCHEDULE } from '../../contracts/platformbackups/names.ts'
import { factsOf, type Gathered } from '../../contracts/rollouts/gather.ts'
import { blockingChecks, type Checked, runChecks, worsenedChecks } from '../../contracts/rollouts/preflight.ts'
import { backupOfRollout, snapshotName } from '../../contracts/rollouts/snapshot.ts'
import { DRIFT_MAX } from '../../contracts/rollouts/states.ts'
import type { KubeObject } from '../../core/object.ts'
import { batchUnderWay, numberOf } from '../../desired/rollouts/batches.ts'
import { type Execution, looksFor, type Observed, type SeenComponent } from '../../desired/rollouts/index.ts'
import { alreadyThere } from '../../kube/errors.ts'
import { veleroBackup, veleroSchedule } from '../../kube/velero.ts'
import { type ComponentObject, componentsOf } from '../lifecycle/stock.ts'
import { plannedNow } from './plan.ts'
import { gathered, looked, plansOf } from './stock.ts'
import type { ExecutionPass, RolloutOptions } from './types.ts'

/** Observes everything that `next` needs, including the one expensive observation it asks for now. */
export async function observed(
  pass: ExecutionPass,
  execution: Execution,
  options: RolloutOptions,
  refusal: string | undefined,
): Promise<Observed> {
  const { object, records, clock, incarnation } = pass
  const components = new Map(componentsOf(records).map((one) => [one.metadata.name, one]))
  const look = looksFor(execution, clock.now())
  return {
    ...{ requests: object.spec.requests, by: object.spec.startedBy, refusal },
    componentOf: (name, wanted) => seenComponent(components.get(name), wanted),
    snapshotName: snapshotName(object.metadata.name, incarnation, execution.resumedAt),
    snapshot: snapshotSeen(pass, execution, options),
    ...(look === 'preflight' && { preflight: await preflight(pass, options) }),
    ...(look === 'drift' && { drift: await driftOf(pass, execution, options) }),
    ...(look === 'checks' && { worsened: await worsened(pass, execution, options) }),
  }
}

function seenComponent(
  component: ComponentObject | undefined,
  wanted?: Parameters<Observed['componentOf']>[1],
): SeenComponent | undefined {
  if (component === undefined) return undefined
  const { spec, status } = component
  const version = wanted?.toVersion ?? spec.version ?? ''
  const { state, message } = rolloutOf(component, { version, requestedAt: wanted?.requestedAt })
  return {
    ...{ kind: spec.kind, state, message },
    isAt: state === 'Ready' ? version : undefined,
    isInstalled: status?.installedVersion === version,
    isHealthy: status?.state === 'Ready',
  }
}

const planOfPass = ({ object, records }: ExecutionPass) => {
  const plan = plansOf(records).find(({ metadata }) => metadata.name === object.spec.plan)
  return plan && plannedNow(plan, records)
}

async function preflight(pass: ExecutionPass, options: RolloutOptions): Promise<NonNullable<Observed['preflight']>> {
  const checks = runChecks(factsOf(await gathered(pass, options, planOfPass(pass))))
  const { acknowledgedFailures } = pass.object.spec
  const [blocking] = blockingChecks(checks, acknowledgedFailures)
  const failing = new Set(checks.filter(({ result }) => result === 'Failed').map(({ id }) => id))
  return {
    report: { runAt: pass.now, checks: checks.map(short) },
    refusal: blocking && {
      code: blocking.id === 'operator-version' ? 'OperatorTooOld' : 'Refused',
      message: `PreflightFailed: ${blocking.id}: ${blocking.message}`.slice(0, 1024),
    },
    acknowledged: acknowledgedFailures.filter((id) => failing.has(id)),
  }
}

/** Truncates findings to what a status may hold. */
function short(check: Checked): Checked {
  const details = Object.entries(check.details).map(([name, text]) => [name, text.slice(0, 1024)])
  return { ...check, details: Object.fromEntries(details) }
}

async function worsened(
  pass: ExecutionPass,
  { preflight: before }: Execution,
  options: RolloutOptions,
): Promise<string[]> {
  const facts: Gathered = await gathered(pass, options, undefined)
  return worsenedChecks((before?.checks ?? []) as readonly Checked[], runChecks(factsOf(facts)))
}

/** Returns the drift of the batch's components. A rollback restores their fields anyway. */
async function driftOf({ records }: ExecutionPass, execution: Execution, { look }: RolloutOptions) {
  const batch = batchUnderWay(execution)
  if (batch === undefined || execution.kind === 'Rollback') return []
  const names = new Set(batch.components.map(({ name }) => name))
  const { items } = await look.drift(looked(componentsOf(records).filter(({ metadata }) => names.has(metadata.name))))
  return items.slice(0, DRIFT_MAX).map((item) => ({ ...item, step: `batch ${numberOf(batch)}` }))
}

const NO_SCHEDULE = `The Velero schedule "${PLATFORM_SCHEDULE}", which defines what a snapshot holds, is missing.`

function snapshotSeen(
  { workloads }: ExecutionPass,
  { snapshot }: Execution,
  { velero }: RolloutOptions,
): Observed['snapshot'] {
  if (!workloads.isServed(veleroBackup) || !workloads.isServed(veleroSchedule)) return { problem: INSTALL_VELERO }
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
  const schedule = workloads.cache<Schedule>(veleroSchedule).get(velero, PLATFORM_SCHEDULE)
  if (schedule === undefined || workloads.cache(veleroBackup).get(velero, snapshot.name) !== undefined) return
  const execName = object.metadata.name
  const backup = backupOfRollout(schedule, {
    name: snapshot.name,
    execution: execName,
    startedBy: object.spec.startedBy ?? '',
  })
  await workloads.client.create<KubeObject>(veleroBackup, backup).catch(alreadyThere)
}
