import type { z } from 'zod'
import { planFromRecords } from '../../../contracts/rollouts/checkInput.ts'
import { kindOfPlan } from '../../../contracts/rollouts/plan.ts'
import { blockingChecks, CHECK_IDS, type CompletedCheck } from '../../../contracts/rollouts/preflight.ts'
import { isRolloutOver, PLAN_KINDS, ROLLOUT_STATES } from '../../../contracts/rollouts/states.ts'
import { PlatformError, refusedFields } from '../../../core/errors.ts'
import { uuidV5 } from '../../../core/ids.ts'
import { createdAtOf } from '../../../core/object.ts'
import { RolloutExecution, RolloutPlan } from '../../../crds/rollouts.ts'
import type { Context } from '../../http/context.ts'
import { strictRecord } from '../../http/namedRecord.ts'
import { action } from '../../http/route.ts'
import { collection } from '../../resources/collection/collection.ts'
import { atPlatform } from '../../resources/collection/parents.ts'
import { Uuid, wholeRecord } from '../../resources/dto.ts'
import { dateTime, enumeration } from '../../resources/paging.ts'
import { listPlatformObjects, platformObjectId, readInventory } from '../inventory.ts'
import { LIFECYCLE_LOCK, refuseWhileBusy } from '../lifecycleLock.ts'
import type { ComponentInventory } from '../records.ts'
import { validatedPlanOf } from './plans.ts'
import { driftDto, preflightDto, RolledComponentDto, RolloutBatchDto, RolloutExecutionDto } from './records.ts'
import { type ExecutionRecord, findPlan, findRollback, type PlanRecord, runPreflightChecks } from './service.ts'

const CreateExecutionRequest = strictRecord('CreateExecutionRequest', {
  planId: Uuid.describe('Id of the plan that is carried out'),
  acknowledgedFailures: RolloutExecution.spec.shape.acknowledgedFailures.describe('Ids of failed checks to override'),
})

/** Checks in the order of the interface; some failures have their own error code. @throws PlatformError */
async function toSpec(context: Context<string, unknown, z.output<typeof CreateExecutionRequest>>) {
  const { body, caller } = context
  const acknowledgedFailures = [...new Set(body.acknowledgedFailures)]
  const unknown = acknowledgedFailures.find((id) => !CHECK_IDS.includes(id))
  if (unknown !== undefined) {
    throw refusedFields([{ field: 'acknowledgedFailures', message: `"${unknown}" is not the id of a check` }])
  }
  const plan = await findPlan(context, body.planId)
  const planned = await requireValidated(context, plan)
  await refuseWhileBusy(context)
  refuseFailed(await runPreflightChecks(context, planned), acknowledgedFailures)
  return { plan: plan.metadata.name, acknowledgedFailures, startedBy: caller.principalId }
}

/** @throws PlatformError PlanExecuted, PlanNotValidated with `problems` */
async function requireValidated(context: Context, plan: PlanRecord) {
  const executions = await listPlatformObjects(context, RolloutExecution, true)
  const isOf = ({ spec, status }: ExecutionRecord) =>
    spec.plan === plan.metadata.name && (status?.startedAt !== undefined || !isRolloutOver(status?.state))
  if (plan.status?.state === 'Executed' || executions.some((one) => isOf(one) && one.status?.startedAt !== undefined)) {
    throw new PlatformError('PlanExecuted', 'The plan was already carried out: make a new one.')
  }
  const inventory = await readInventory(context)
  const seen = validatedPlanOf(plan, inventory)
  const planned = plan.spec.kind === 'Rollback' ? seen : planFromRecords(plan.spec, inventory)
  if (seen.state === 'Validated' && planned.problems.length === 0) return { ...planned, items: [...planned.items] }
  const problems = planned.problems.length > 0 ? planned.problems : seen.problems
  const message =
    seen.state === 'Superseded'
      ? 'Another rollout has begun since the plan was made: validate it again.'
      : `The plan has problems: ${problems[0]?.message ?? 'it was not validated yet.'}`
  throw new PlatformError('PlanNotValidated', message, { problems })
}

/** @throws PlatformError OperatorTooOld, ValueMissing with `keys`, PreflightFailed with `checks` */
function refuseFailed(checks: readonly CompletedCheck[], acknowledged: readonly string[]): void {
  const blocking = blockingChecks(checks, acknowledged)
  const named = (id: string) => blocking.find((check) => check.id === id)
  const old = named('operator-version')
  if (old !== undefined) throw new PlatformError('OperatorTooOld', old.message, old.details)
  const missing = named('configuration-values')
  if (missing !== undefined) {
    const keys = (missing.details.keys ?? '').split(',')
    throw new PlatformError('ValueMissing', missing.message, { keys }, { status: 409 })
  }
  if (blocking.length === 0) return
  const words = blocking.map(({ id }) => id).join(', ')
  const shown = preflightDto({ id: '', planId: null, runAt: '', canExecute: false }, blocking).checks
  throw new PlatformError('PreflightFailed', `Checks before the rollout failed: ${words}.`, { checks: shown })
}

export const executions = collection(RolloutExecution, {
  path: '/lifecycle/rollouts/executions',
  item: 'executionId',
  noun: 'Rollout',
  parent: atPlatform,
  may: { read: action('lifecycle/view'), write: action('lifecycle/execute') },
  dto: RolloutExecutionDto,
  related: async (_, context) => ({
    executions: await listPlatformObjects(context, RolloutExecution),
    plans: new Map((await listPlatformObjects(context, RolloutPlan)).map((plan) => [plan.metadata.name, plan])),
    inventory: await readInventory(context),
  }),
  toDto: (execution, { related }) => executionFields(execution, related),
  columns: {
    startedAt: dateTime('Started', { isFiltered: false }),
    state: enumeration('State', ROLLOUT_STATES, { isSorted: false }),
    kind: enumeration('Kind', PLAN_KINDS, { isSorted: false }),
  },
  sort: '-startedAt',
  list: { summary: 'Rollouts, newest first' },
  get: { summary: 'One rollout' },
  create: {
    summary: 'Carry out a plan',
    body: CreateExecutionRequest,
    status: 202,
    lock: () => LIFECYCLE_LOCK,
    toSpec,
  },
})

type RolloutContext = {
  executions: readonly ExecutionRecord[]
  plans: ReadonlyMap<string, PlanRecord>
  inventory: ComponentInventory
}

function executionFields(execution: ExecutionRecord, { executions: others, plans, inventory }: RolloutContext) {
  const { metadata, spec, status = {} } = execution
  const { state = 'Executing', step = 'Preflight', batches = [], snapshot, failure, overrides = [] } = status
  const idOfExecution = (name: string) => platformObjectId(RolloutExecution, { name })
  const rollback = findRollback(metadata.name, others)
  const isOver = isRolloutOver(state)
  const current = batches.find((batch) => ['Applying', 'WaitingForHealth', 'Paused'].includes(batch.state))
  return {
    planId: platformObjectId(RolloutPlan, { name: spec.plan }),
    kind: status.kind ?? plannedKind(spec, plans.get(spec.plan), inventory),
    ...{ state, phase: step, overrides: [...overrides] },
    pauseReason: pauseOf(status.pause),
    batches: batches.map((batch) =>
      wholeRecord(RolloutBatchDto, {
        ...batch,
        components: batch.components.map((one) => wholeRecord(RolledComponentDto, one)),
      }),
    ),
    currentBatch: current?.index ?? null,
    preflight: preflightOf(execution),
    acknowledgedFailures: [...spec.acknowledgedFailures],
    snapshot:
      snapshot === undefined
        ? null
        : { name: snapshot.name, phase: snapshot.phase, completedAt: snapshot.completedAt ?? null },
    rollbackOf: spec.rollbackOf === undefined ? null : idOfExecution(spec.rollbackOf),
    rolledBackBy: rollback === undefined ? null : idOfExecution(rollback.metadata.name),
    canCancel: !isOver && spec.requests.cancelAt === undefined,
    canResume: state === 'Paused' && status.pause?.code !== 'PlatformDrift',
    canRollback: isOver && status.canRollback === true && rollback === undefined,
    startedBy: spec.startedBy ?? null,
    startedAt: status.startedAt ?? createdAtOf(metadata),
    finishedAt: status.finishedAt ?? null,
    failure:
      failure === undefined
        ? null
        : { code: failure.code, message: failure.message, component: failure.component ?? null },
  }
}

/** Returns the kind of a rollout that has not started. */
function plannedKind(
  { rollbackOf }: ExecutionRecord['spec'],
  plan: PlanRecord | undefined,
  inventory: ComponentInventory,
) {
  if (plan === undefined) return rollbackOf === undefined ? ('Components' as const) : ('Rollback' as const)
  return kindOfPlan(plan.spec.kind, validatedPlanOf(plan, inventory).items)
}

function pauseOf(pause: NonNullable<ExecutionRecord['status']>['pause']) {
  if (pause === undefined) return null
  const { component = null, batchIndex = null, platformDrift } = pause
  return { ...pause, component, batchIndex, platformDrift: platformDrift.map(driftDto) }
}

/** Returns the report of the deciding preflight; without checks until it has run. */
function preflightOf({ metadata, spec, status }: ExecutionRecord) {
  const { runAt = createdAtOf(metadata), checks = [] } = status?.preflight ?? {}
  const id = uuidV5(`preflight/${metadata.name}/${runAt}`)
  const canExecute =
    checks.length > 0 && blockingChecks(checks as CompletedCheck[], spec.acknowledgedFailures).length === 0
  return preflightDto({ id, planId: platformObjectId(RolloutPlan, { name: spec.plan }), runAt, canExecute }, checks)
}
