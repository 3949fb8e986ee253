import { z } from 'zod'
import { isSameDrift } from '../../../contracts/rollouts/drift.ts'
import { type CompletedCheck, worsenedChecks } from '../../../contracts/rollouts/preflight.ts'
import { rollbackNames } from '../../../contracts/rollouts/requests.ts'
import { isRolloutOver } from '../../../contracts/rollouts/states.ts'
import { type ErrorCode, PlatformError } from '../../../core/errors.ts'
import { refOf } from '../../../core/object.ts'
import { PlatformComponent } from '../../../crds/lifecycle.ts'
import { RolloutExecution, RolloutPlan } from '../../../crds/rollouts.ts'
import { accepted, ok } from '../../http/answer.ts'
import type { Context } from '../../http/context.ts'
import { etagOf } from '../../http/etag.ts'
import { strictRecord } from '../../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../../http/route.ts'
import { atPlatform } from '../../resources/collection/parents.ts'
import { withChangeLock } from '../../rules/changeLocks.ts'
import { listPlatformObjects } from '../inventory.ts'
import { LIFECYCLE_LOCK, refuseWhileBusy } from '../lifecycleLock.ts'
import { executions } from './executions.ts'
import { driftDto, driftFields, RolloutExecutionDto } from './records.ts'
import { type ExecutionRecord, findRollback, runPreflightChecks } from './service.ts'

type Status = NonNullable<ExecutionRecord['status']>

const refuse = (code: ErrorCode, message: string, extras: Record<string, unknown> = {}) => {
  throw new PlatformError(code, message, extras)
}

/** Stores a request to a rollout if its state allows it. */
async function requestChange(
  context: Context,
  found: ExecutionRecord,
  requests: (at: string) => object,
  check: (status: Status) => void,
): Promise<ExecutionRecord> {
  const { services, caller, ifMatch } = context
  // Milliseconds, so that two requests within a second differ.
  const at = new Date(services.clock.now()).toISOString()
  const { object } = await services.records.update(RolloutExecution, refOf(found), {
    caller,
    ifMatch,
    fresh: true,
    change({ spec, status = {} }) {
      check(status)
      return { ...spec, requests: { ...spec.requests, ...requests(at), by: caller.principalId } }
    },
  })
  return object
}

async function shown(context: Context, object: ExecutionRecord) {
  const { body } = await executions.show(context, object, atPlatform())
  return [body as never, { etag: etagOf(object) }] as const
}

/** @throws PlatformError NOT_FOUND, AlreadyFinished */
async function cancel(context: Context<'executionId'>) {
  const { object: found } = await executions.find(context)
  const object = await requestChange(
    context,
    found,
    (cancelAt) => ({ cancelAt }),
    ({ state }) => {
      if (isRolloutOver(state)) refuse('AlreadyFinished', `The rollout has ended as ${state}.`)
    },
  )
  return accepted(...(await shown(context, object)))
}

const ResumeExecutionRequest = strictRecord('ResumeExecutionRequest', {
  skipSnapshot: z.boolean().default(false).describe('Continues without the failed snapshot, where that is offered'),
  comment: z.string().max(512).nullish(),
})
type Resume = z.output<typeof ResumeExecutionRequest> | undefined

/** @throws PlatformError NOT_FOUND, NotPaused, PlatformDriftPending, SnapshotRequired, StillFailing */
async function resume(context: Context<'executionId', unknown, Resume>) {
  const { skipSnapshot = false, comment } = context.body ?? {}
  const { object: found } = await executions.find(context)
  const check = ({ state = 'Executing', pause }: Status) => {
    if (state !== 'Paused') refuse('NotPaused', `The rollout is not paused; it is ${state}.`)
    if (pause?.code === 'PlatformDrift') {
      refuse('PlatformDriftPending', 'First revert what was changed by hand: revert-platform-drift.')
    }
    if (skipSnapshot && pause?.canSkipSnapshot !== true) {
      refuse('SnapshotRequired', 'This rollout cannot continue without a snapshot.')
    }
  }
  check(found.status ?? {})
  if (!skipSnapshot) await refuseWhileFailing(context, found)
  const requests = (resumeAt: string) => ({ resumeAt, skipSnapshot, comment: comment ?? undefined })
  return accepted(...(await shown(context, await requestChange(context, found, requests, check))))
}

/** Refuses if the cause of the pause visibly persists. @throws PlatformError StillFailing */
async function refuseWhileFailing(context: Context, { metadata, status }: ExecutionRecord): Promise<void> {
  const { pause, preflight } = status ?? {}
  if (pause?.code === 'HealthFailed') {
    const component = (await listPlatformObjects(context, PlatformComponent)).find(
      (one) => one.metadata.name === pause.component,
    )
    if (component?.status?.state === 'Ready') return
    refuse('StillFailing', `${pause.component} is not healthy yet.`)
  }
  if (pause?.code !== 'BatchCheckWorsened' && pause?.code !== 'SnapshotFailed') return
  const checks = await runPreflightChecks(context, undefined, metadata.name)
  const failing =
    pause.code === 'SnapshotFailed'
      ? checks.filter(({ id, result }) => id === 'snapshot-possible' && result === 'Failed').map(({ id }) => id)
      : worsenedChecks((preflight?.checks ?? []) as CompletedCheck[], checks)
  if (failing.length > 0) refuse('StillFailing', `These checks still fail: ${failing.join(', ')}.`, { checks: failing })
}

const RevertPlatformDriftRequest = strictRecord('RevertPlatformDriftRequest', {
  acknowledge: z.boolean().nullish(),
  fields: z.array(z.object(driftFields)).max(500).nullish().describe('The changes as they were reviewed'),
})

/** @throws PlatformError AcknowledgementRequired, NOT_FOUND, NotPausedOnPlatformDrift, OperatorCapabilityMissing, PlatformDriftChanged */
async function revert(
  context: Context<'executionId', unknown, z.output<typeof RevertPlatformDriftRequest> | undefined>,
) {
  const { acknowledge, fields } = context.body ?? {}
  if (acknowledge !== true) refuse('AcknowledgementRequired', 'Send acknowledge: true to revert the changes.')
  const { object: found } = await executions.find(context)
  const components = new Map(
    (await listPlatformObjects(context, PlatformComponent)).map((one) => [one.metadata.name, one]),
  )
  const check = ({ state, pause }: Status) => {
    if (state !== 'Paused' || pause?.code !== 'PlatformDrift') {
      throw new PlatformError('NotPausedOnPlatformDrift', 'The rollout is not paused because of manual changes.')
    }
    const { platformDrift } = pause
    const foreign = platformDrift.find(({ component }) => components.get(component)?.status?.isManaged !== true)
    if (foreign !== undefined) {
      const message = `Flux did not install "${foreign.component}", so nothing can revert its objects.`
      refuse('OperatorCapabilityMissing', message, { component: foreign.component })
    }
    if (fields === undefined || fields === null || isSameDrift(fields, platformDrift)) return
    const extras = { platformDrift: platformDrift.map(driftDto) }
    refuse('PlatformDriftChanged', 'The changes differ from those that were reviewed.', extras)
  }
  const object = await requestChange(context, found, (revertDriftAt) => ({ revertDriftAt }), check)
  return ok(...(await shown(context, object)))
}

/** @throws PlatformError NOT_FOUND, RolloutBusy, NothingToRollBack */
async function rollback(context: Context<'executionId'>) {
  const { services, caller } = context
  return withChangeLock(services, LIFECYCLE_LOCK, async () => {
    const { object: found } = await executions.find(context)
    await refuseWhileBusy(context)
    const isTaken =
      findRollback(found.metadata.name, await listPlatformObjects(context, RolloutExecution, true)) !== undefined
    const requested = await requestChange(
      context,
      found,
      (rollbackAt) => ({ rollbackAt }),
      ({ canRollback }) => {
        if (canRollback !== true || isTaken) refuse('NothingToRollBack', 'This rollout cannot be rolled back.')
      },
    )
    const names = rollbackNames(requested.metadata.name, requested.spec.requests.rollbackAt ?? '')
    const [{ namespace }, rollbackOf] = [atPlatform(), requested.metadata.name]
    const plan = { kind: 'Rollback', rollbackOf }
    // If this process ends between the two writes, the controllers create the same objects.
    await services.records.create(RolloutPlan, { namespace, name: names.plan, spec: plan, caller, isSame: () => true })
    const spec = { plan: names.plan, rollbackOf, startedBy: caller.principalId }
    const of = { namespace, name: names.execution, spec, caller, isSame: () => true }
    const { object } = await services.records.create(RolloutExecution, of)
    return accepted(...(await shown(context, object)))
  })
}

const path = '/lifecycle/rollouts/executions/{executionId}' as const
const execute = { auth: action('lifecycle/execute'), isHeld: true, reply: RolloutExecutionDto } as const

export const requestRoutes: readonly RouteDraft[] = [
  route('POST', `${path}/cancel`, {
    ...execute,
    summary: 'Cancel a rollout',
    handler: cancel,
  }),
  route('POST', `${path}/resume`, {
    ...execute,
    summary: 'Resume a paused rollout',
    body: ResumeExecutionRequest,
    isBodyOptional: true,
    handler: resume,
  }),
  route('POST', `${path}/revert-platform-drift`, {
    ...execute,
    summary: 'Revert what was changed by hand, and resume',
    body: RevertPlatformDriftRequest,
    isBodyOptional: true,
    handler: revert,
  }),
  route('POST', `${path}/rollback`, {
    auth: action('lifecycle/rollback'),
    isHeld: true,
    reply: RolloutExecutionDto,
    summary: 'Roll a rollout back with another one',
    handler: rollback,
  }),
]
