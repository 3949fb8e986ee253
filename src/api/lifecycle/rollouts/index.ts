import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { blockingChecks } from '../../../contracts/rollouts/preflight.ts'
import { timestamp } from '../../../core/clock.ts'
import type { Resource } from '../../../core/object.ts'
import { CHECKED_TYPES, INSPECTED_TYPES } from '../../../kube/inspectedTypes.ts'
import { ok } from '../../http/answer.ts'
import type { Context } from '../../http/context.ts'
import { action, type RouteDraft, route } from '../../http/route.ts'
import { Uuid } from '../../resources/dto.ts'
import { readInventory } from '../inventory.ts'
import { ceilingRoutes } from './ceiling.ts'
import { driftRoutes } from './drift.ts'
import { executions } from './executions.ts'
import { planRoutes, validatedPlanOf } from './plans.ts'
import { PreflightReportDto, preflightDto } from './records.ts'
import { requestRoutes } from './requests.ts'
import { findPlan, runPreflightChecks } from './service.ts'

const PreflightQuery = z.object({
  planId: Uuid.optional().describe('The plan to check; the platform as it is when absent'),
})

/** Runs all checks now. @throws PlatformError PlanNotFound */
async function runPreflight(context: Context<string, z.output<typeof PreflightQuery>>) {
  const { services, query } = context
  const plan = query.planId === undefined ? undefined : await findPlan(context, query.planId)
  const planned = plan === undefined ? undefined : validatedPlanOf(plan, await readInventory(context))
  const checks = await runPreflightChecks(context, planned && { ...planned, items: [...planned.items] })
  const isOpen = planned === undefined || planned.state === 'Validated'
  return ok(
    preflightDto(
      {
        id: randomUUID(),
        planId: query.planId ?? null,
        runAt: timestamp(services.clock.now()),
        canExecute: isOpen && blockingChecks(checks, []).length === 0,
      },
      checks,
    ),
  )
}

const preflightRoutes: readonly RouteDraft[] = [
  route('GET', '/lifecycle/preflight', {
    auth: action('lifecycle/view'),
    summary: 'The checks before a rollout, run now',
    query: PreflightQuery,
    reply: PreflightReportDto,
    handler: runPreflight,
  }),
]

/** Returns the permissions of the facade for the checks and for adopting values. */
export function rolloutReads(): { resource: Resource; verbs: readonly string[] }[] {
  return [
    ...CHECKED_TYPES.map((resource) => ({ resource, verbs: ['list'] })),
    ...INSPECTED_TYPES.workloads.map((resource) => ({ resource, verbs: ['get', 'list'] })),
  ]
}

/** Plans, rollouts, checks and drift (interface section 4.21). */
export const rolloutRoutes: readonly RouteDraft[] = [
  ...planRoutes,
  ...executions.routes(),
  ...requestRoutes,
  ...preflightRoutes,
  ...ceilingRoutes,
  ...driftRoutes,
]
