import { z } from 'zod'
import { timestamp } from '../../core/clock.ts'
import { type Summarized, summarize, summaryOf } from '../../core/conditions.ts'
import { PlatformError, refusedFields } from '../../core/errors.ts'
import { idOf } from '../../core/ids.ts'
import type { AnyKind } from '../../crds/define.ts'
import { type Answer, accepted, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { strictRecord } from '../http/namedRecord.ts'
import type { RouteDraft } from '../http/route.ts'
import { changeResource } from './change.ts'
import { POWER_ACTIONS, ResourceActionResultDto, ScaleRequestDto, ScaleStatusDto } from './dto.ts'
import { findResource, locateResource, type ResourceLocation } from './find.ts'
import { type DeclaredResource, genericRoute } from './generic.ts'
import { invalidState } from './invalidState.ts'
import { fieldOrPlanDefault } from './sizing.ts'

type Copies = { replicas?: number; computePlan?: string }
type PowerSpec = Copies & {
  running?: boolean
  restartedAt?: string
  minReplicas?: number
  components?: readonly Copies[]
}

/** The routes of actions and scale: changes of the spec that are not fields of the record. */
export function powerRoutes<K extends AnyKind>(declaration: DeclaredResource<K>): RouteDraft[] {
  const { kind, parameter, scale = { min: 0, max: 99 } } = declaration
  const reply: z.ZodType = ResourceActionResultDto
  const copies = z.int().min(scale.min).max(scale.max)
  const documentedBody = strictRecord(`${kind.kind}ScaleRequest`, { targetScale: copies })
  return [
    genericRoute('action', declaration, { reply, answers: [200, 202] }, (context) =>
      runAction(kind, context, parameter),
    ),
    genericRoute('getScale', declaration, { reply: ScaleStatusDto }, async (context) => {
      const { object } = await findResource(kind, context, parameter)
      return ok(scaleStatus(kind, { ...context, object }, scale), { etag: etagOf(object) })
    }),
    genericRoute('scale', declaration, { body: ScaleRequestDto, documentedBody, reply: ScaleStatusDto }, (context) =>
      setScale(kind, context, parameter, scale),
    ),
  ]
}

async function setScale<K extends AnyKind>(
  kind: K,
  context: Context<string, unknown, z.output<typeof ScaleRequestDto>>,
  parameter: string,
  scale: { min: number; max: number },
): Promise<Answer<ScaleStatusDto>> {
  const { targetScale } = context.body
  if (targetScale < scale.min || targetScale > scale.max) {
    const message = `must be from ${scale.min} to ${scale.max}`
    throw refusedFields([{ field: 'targetScale', message }])
  }
  const located = await locateResource(context, parameter)
  const { object, isChanged } = await changeResource(kind, located, context, async (stored, reserve) => {
    const spec = { ...(stored.spec as object), replicas: targetScale }
    await reserve(spec)
    return spec
  })
  return (isChanged ? accepted : ok)(scaleStatus(kind, { ...context, object }, scale), { etag: etagOf(object) })
}

type Seen = Pick<Context, 'services'> & { readonly object: { spec: object; status?: object | undefined } }

function scaleStatus(kind: AnyKind, seen: Seen, { min, max }: { min: number; max: number }) {
  const { object } = seen
  const { running = true } = object.spec as PowerSpec
  const replicas = fieldOrPlanDefault(kind, 'replicas', seen) ?? 1
  const { replicas: current = 0, readyReplicas = 0 } = (object.status ?? {}) as {
    replicas?: number
    readyReplicas?: number
  }
  const wanted = running ? replicas : 0
  // The status counts the wanted replicas even while none of them runs.
  const isAtRest = !running && summarize(object.status, false).status === 'Stopped'
  const currentScale = isAtRest ? 0 : current
  return {
    currentScale,
    maxScale: max,
    minScale: min,
    readyScale: readyReplicas,
    targetScale: replicas,
    isScaling: currentScale !== wanted || readyReplicas !== wanted,
  }
}

async function runAction<K extends AnyKind>(kind: K, context: Context, parameter: string): Promise<Answer> {
  const word = POWER_ACTIONS.find((name) => name === context.parameters.action)
  if (word === undefined) {
    throw new PlatformError('INVALID_ACTION', `There is no such action; use one of ${POWER_ACTIONS.join(', ')}.`, {
      allowed: POWER_ACTIONS,
    })
  }
  const located = await locateResource(context, parameter)
  const { ref, location } = located
  const now = timestamp(context.services.clock.now())
  const { object, isChanged } = await changeResource(kind, located, context, async (stored, reserve) => {
    const spec = stored.spec as PowerSpec
    if (word === 'restart') return restartPatch(stored, now)
    const next = word === 'stop' ? { ...spec, running: false } : { ...withCopies(kind, spec, context), running: true }
    await reserve(next)
    return next
  })
  const answer = isChanged ? accepted : ok
  return answer(actionResult(kind, word, { ref, location, object, isChanged, now }), { etag: etagOf(object) })
}

export function actionResult<Word extends string>(
  { kind, resource: { group } }: AnyKind,
  action: Word,
  done: {
    ref: { namespace: string; name: string }
    location: ResourceLocation
    object: Summarized
    isChanged: boolean
    now: string
  },
) {
  const { status, phase } = summaryOf(done.object)
  const { namespace, name } = done.ref
  return {
    action,
    changed: done.isChanged,
    id: idOf({ kind, group, namespace, name }),
    name,
    phase,
    requestedAt: done.now,
    resourceGroup: done.location.resourceGroup,
    status,
  }
}

type Stored = Parameters<typeof invalidState>[0] & { metadata: { name: string }; spec: object }

/** @throws PlatformError INVALID_STATE */
function restartPatch(stored: Stored, now: string): object {
  refuseStopped(stored)
  return { ...stored.spec, restartedAt: now }
}

/** Refuses a restart if there are no copies to replace. @throws PlatformError INVALID_STATE */
export function refuseStopped(stored: Stored): void {
  if ((stored.spec as PowerSpec).running !== false && !hasNoCopies(stored.spec)) return
  throw invalidState(stored, `"${stored.metadata.name}" is stopped; start it instead.`)
}

/** Whether a resource is scaled to zero. With `minReplicas`, its load decides the number of copies. */
function hasNoCopies({ replicas, minReplicas, components }: PowerSpec): boolean {
  return components?.every(hasNoCopies) ?? (replicas === 0 && minReplicas === undefined)
}

/** Starting a resource scaled to zero uses the plan's replicas, at least one, of each of its components. */
function withCopies(kind: AnyKind, spec: PowerSpec, { services }: Context): PowerSpec {
  if (!hasNoCopies(spec)) return spec
  const started = ({ replicas: _, ...own }: Copies, plan = own.computePlan) => {
    const object = { spec: { ...own, computePlan: plan } }
    return { ...own, replicas: Math.max(1, fieldOrPlanDefault(kind, 'replicas', { object, services }) ?? 1) }
  }
  const { components } = spec
  if (components === undefined) return started(spec)
  return { ...spec, components: components.map((one) => started(one, one.computePlan ?? spec.computePlan)) }
}
