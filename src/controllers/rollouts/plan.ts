import { planFromRecords } from '../../contracts/rollouts/checkInput.ts'
import { PLANS_KEPT, type PlannedRollout } from '../../contracts/rollouts/states.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { type KubeObject, keyOf, objectKey } from '../../core/object.ts'
import { done, type Outcome, stalled } from '../../core/outcome.ts'
import { ComponentRelease, PlatformComponent } from '../../crds/lifecycle.ts'
import { RolloutExecution, RolloutPlan } from '../../crds/rollouts.ts'
import { rollbackOf } from '../../desired/rollouts/index.ts'
import { controllerWith, steps, type Workspace } from '../engine/controller.ts'
import { componentsOf, type ExecutionObject, executionsOf, releasesOf } from '../lifecycle/storedObjects.ts'
import { pruneFinished } from '../platformObjects.ts'
import { type PlanObject, plansOf } from './checkInput.ts'
import type { PlanPass, RolloutOptions } from './types.ts'

/**
 * Computes a plan once, and again on request. Execution computes it anew, so a plan is a snapshot that need not follow
 * the components.
 */
export const planController = controllerWith(
  RolloutPlan,
  {
    observes: [{ resource: RolloutExecution.resource, keysOf: plansOfExecution }],
    reads: [PlatformComponent.resource, ComponentRelease.resource],
    writes: [{ resource: RolloutPlan.resource, verbs: ['delete'], in: 'system' }],
  },
  (_: RolloutOptions) => ({ reconcile: steps(reconcilePlan) }),
)

/** Returns the plan of an execution and, if the execution has started, the plans that it supersedes. */
function plansOfExecution(execution: KubeObject, records: Workspace): string[] {
  const { spec, status } = execution as ExecutionObject
  const own = objectKey(SYSTEM_NAMESPACE, spec.plan)
  if (status?.startedAt === undefined) return [own]
  const openPlans = plansOf(records).filter(
    ({ status: planStatus }) => planStatus?.state === 'Validated' || planStatus?.state === 'Unvalidated',
  )
  return [own, ...openPlans.map(keyOf)]
}

/** Returns the rollout that executes a plan; a refused one does not count. */
export function executionOf(plan: Pick<PlanObject, 'metadata'>, executions: readonly ExecutionObject[]) {
  return executions.find(({ spec, status }) => spec.plan === plan.metadata.name && status?.startedAt !== undefined)
}

async function reconcilePlan(pass: PlanPass): Promise<Outcome> {
  const { object, records } = pass
  const { status = {}, spec } = object
  const openPlans = plansOf(records).filter(({ metadata }) => !isNeeded(metadata.name, records))
  if (await pruneFinished(pass, openPlans, PLANS_KEPT)) return done()
  if (status.state === 'Executed') return done({ reason: 'Completed' })
  const execution = executionOf(object, executionsOf(records))
  if (execution !== undefined) {
    pass.report({ state: 'Executed', execution: execution.metadata.name })
    return done({ reason: 'Completed' })
  }
  if (status.validatedAt === undefined || status.validateRequestedAt !== spec.validateRequestedAt) {
    const { items, batches, problems } = plannedNow(object, records)
    pass.report({
      ...{ items, batches, problems: problems.slice(0, 500) },
      state: problems.length === 0 ? 'Validated' : 'Unvalidated',
      validatedAt: pass.now,
      validateRequestedAt: spec.validateRequestedAt,
    })
    return problemOutcome(problems)
  }
  if (isSuperseded(status.validatedAt, executionsOf(records))) {
    pass.report({ state: 'Superseded' })
  }
  return problemOutcome(status.state === 'Unvalidated' ? (status.problems ?? []) : [])
}

/** Reports why a plan cannot be executed. */
function problemOutcome([first]: readonly { readonly message: string }[]): Outcome {
  return first === undefined ? done({ reason: 'Available' }) : stalled('ConfigurationInvalid', first.message)
}

/** Returns what the plan would do now. */
export function plannedNow({ spec }: Pick<PlanObject, 'spec'>, records: Workspace): PlannedRollout {
  if (spec.kind !== 'Rollback') {
    return planFromRecords(spec, { components: componentsOf(records), releases: releasesOf(records) })
  }
  const original = executionsOf(records).find(({ metadata }) => metadata.name === spec.rollbackOf)
  const rollback = rollbackOf({ batches: original?.status?.batches ?? [] })
  if (rollback.items.length > 0) return { ...rollback, problems: [] }
  const message = `Rollout "${spec.rollbackOf}" cannot be rolled back.`
  return { ...rollback, problems: [{ code: 'NothingToDo', component: '', message, details: {} }] }
}

/** Whether a rollout since then may have changed what the plan is based on. */
function isSuperseded(validatedAt: string, executions: readonly ExecutionObject[]): boolean {
  return executions.some(({ status }) => (status?.startedAt ?? '') > validatedAt)
}

function isNeeded(name: string, records: Workspace): boolean {
  return executionsOf(records).some(
    ({ spec, status }) => spec.plan === name && (status?.finishedAt === undefined || status.state === 'Paused'),
  )
}
