import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { planFromRecords } from '../../../contracts/rollouts/checkInput.ts'
import { kindOfPlan } from '../../../contracts/rollouts/plan.ts'
import { PLAN_STATES } from '../../../contracts/rollouts/states.ts'
import { PlatformError, refusedFields } from '../../../core/errors.ts'
import { refOf } from '../../../core/object.ts'
import { Version } from '../../../crds/lifecycle.ts'
import { RolloutExecution, RolloutPlan } from '../../../crds/rollouts.ts'
import { ok } from '../../http/answer.ts'
import type { Context } from '../../http/context.ts'
import { etagOf } from '../../http/etag.ts'
import { strictRecord } from '../../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../../http/route.ts'
import { collection } from '../../resources/collection/collection.ts'
import { atPlatform } from '../../resources/collection/parents.ts'
import { dateTime, enumeration } from '../../resources/paging.ts'
import { componentOf, platformObjectId, readInventory } from '../inventory.ts'
import type { ComponentInventory } from '../records.ts'
import { RolloutPlanDto } from './records.ts'
import { findPlan, type PlanRecord } from './service.ts'

/** Returns a plan as last validated, or as computed now if its controller has not validated it yet. */
export function validatedPlanOf(plan: PlanRecord, inventory: ComponentInventory) {
  const { spec, status } = plan
  const isValidated = status?.validatedAt !== undefined && status.validateRequestedAt === spec.validateRequestedAt
  if (isValidated || spec.kind === 'Rollback') {
    const { state = 'Unvalidated', items = [], batches = [], problems = [], validatedAt = null } = status ?? {}
    return { state, items, batches, problems, validatedAt }
  }
  const planned = planFromRecords(spec, inventory)
  const state = planned.problems.length === 0 ? ('Validated' as const) : ('Unvalidated' as const)
  return { ...planned, state, validatedAt: spec.validateRequestedAt ?? plan.metadata.creationTimestamp ?? null }
}

const CreatePlanRequest = strictRecord('CreatePlanRequest', {
  targetVersions: z
    .record(z.string().max(52), Version.nullable())
    .describe('Version for each component; null for a pinned chart that is not to roll along')
    .meta({ minProperties: 1 }),
})

/** @throws PlatformError BAD_REQUEST, ComponentNotFound */
async function toSpec(context: Context<string, unknown, z.output<typeof CreatePlanRequest>>) {
  const wanted = Object.entries(context.body.targetVersions)
  const chosen = wanted.filter((pair): pair is [string, string] => pair[1] !== null)
  if (chosen.length === 0) {
    throw refusedFields([{ field: 'targetVersions', message: 'must name at least one component with a version' }])
  }
  const inventory = await readInventory(context)
  for (const [name] of wanted) componentOf(inventory, name)
  const unselected = wanted.filter(([, version]) => version === null).map(([name]) => name)
  return { targetVersions: Object.fromEntries(chosen), unselected }
}

const plans = collection(RolloutPlan, {
  path: '/lifecycle/rollouts/plans',
  item: 'planId',
  noun: 'Plan',
  parent: atPlatform,
  missing: (key) => new PlatformError('PlanNotFound', `Plan "${key.slice(0, 64)}" was not found.`),
  may: { read: action('lifecycle/view'), write: action('lifecycle/plan') },
  dto: RolloutPlanDto,
  related: (_, context) => readInventory(context),
  toDto(plan, { related }) {
    const { state, items, batches, problems, validatedAt } = validatedPlanOf(plan, related)
    const { targetVersions, unselected, kind } = plan.spec
    const kept = Object.fromEntries(unselected.map((name) => [name, null]))
    const execution = plan.status?.execution
    return {
      ...{ status: state, kind: kindOfPlan(kind, items), validatedAt, targetVersions: { ...targetVersions, ...kept } },
      items: items.map(({ fromVersion = null, note = null, ...item }) => ({ ...item, fromVersion, note })),
      batches: [...batches],
      problems: [...problems],
      executionId: execution === undefined ? null : platformObjectId(RolloutExecution, { name: execution }),
    }
  },
  columns: {
    createdAt: dateTime('Created'),
    status: enumeration('Status', PLAN_STATES, { isSorted: false }),
  },
  sort: '-createdAt',
  list: { summary: 'Plans for rollouts, newest first' },
  get: { summary: 'One plan' },
  create: {
    summary: 'Plan a rollout to these versions',
    body: CreatePlanRequest,
    nameOf: () => randomUUID(),
    toSpec,
  },
})

/** @throws PlatformError PlanNotFound, CONFLICT, PlanExecuted */
async function validate(context: Context<'planId'>) {
  const { services, caller, ifMatch } = context
  const plan = await findPlan(context, context.parameters.planId)
  const at = new Date(services.clock.now()).toISOString()
  const { object } = await services.records.update(RolloutPlan, refOf(plan), {
    ...{ caller, ifMatch },
    change({ spec, status }) {
      if (status?.state !== 'Executed') return { ...spec, validateRequestedAt: at }
      throw new PlatformError('PlanExecuted', 'The plan was already carried out: make a new one.')
    },
  })
  const { body } = await plans.show(context, object, atPlatform())
  return ok(body as never, { etag: etagOf(object) })
}

export const planRoutes: readonly RouteDraft[] = [
  ...plans.routes(),
  route('POST', '/lifecycle/rollouts/plans/{planId}/validate', {
    auth: action('lifecycle/plan'),
    isHeld: true,
    summary: 'Validate a plan again',
    reply: RolloutPlanDto,
    handler: validate,
  }),
]
