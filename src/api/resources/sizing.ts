import { z } from 'zod'
import { badRequest, type ErrorCode, PlatformError, refusedFields } from '../../core/errors.ts'
import { RESOURCE_NAME_PATTERN } from '../../core/names.ts'
import { compareQuantities } from '../../core/quantity.ts'
import {
  defaultPlan,
  PLAN_FAMILIES,
  type PlanFamily,
  type PlanOverrides,
  requestOverLimit,
  SIZES,
  type Size,
} from '../../core/sizing/plans.ts'
import type { AnyKind } from '../../crds/define.ts'
import { RESOURCE_KINDS } from '../../crds/index.ts'
import { ComputePlan } from '../../crds/plans.ts'
import type { Context, Services } from '../http/context.ts'
import { derivedFrom } from '../records/derived.ts'
import type { RecordOf } from '../records/records.ts'
import { type ListField, number, quantity } from './paging.ts'
import type { ResourceView } from './types.ts'

/**
 * Shared by the records of all kinds with plans: own sizes over those of a plan, a cluster, an image (records: plans,
 * head of every resource record).
 */

export const PlanId = z.string().max(52).regex(new RegExp(RESOURCE_NAME_PATTERN), 'must be the id of a compute plan')

type Sizes = { readonly [Name in Size]?: string | null | undefined }

export type Plan = RecordOf<typeof ComputePlan>

/** The fields of any spec with sizes. */
export type SizedSpec = PlanOverrides & {
  clusterId?: string | undefined
  replicas?: number | undefined
  imageName?: string | undefined
}

/** The fields of any body with sizes. */
export type SizedBody = Sizes & {
  readonly computePlan?: string | null | undefined
  readonly resourcePlanId?: string | null | undefined
  readonly clusterId?: string | undefined
  readonly replicas?: number | null | undefined
  readonly imageName?: string | null | undefined
}

export type SizedView = {
  readonly boundaryId: string
  readonly form: 'create' | 'put' | 'patch'
  readonly previous: { readonly spec: SizedSpec } | undefined
  readonly services: Services
  readonly context: Pick<Context, 'body'>
}

function planNamed(services: Services, name: string): Plan | undefined {
  return services.records.peek(ComputePlan, { name })
}

const defaultPlans = derivedFrom(
  ComputePlan,
  (plans) => new Map(PLAN_FAMILIES.map((family) => [family, defaultPlan(family, plans)])),
)

const offeredPlans = derivedFrom(ComputePlan, (plans) => {
  const offered = plans.filter(({ spec }) => !spec.deprecated)
  const namesOf = (family: PlanFamily) =>
    offered.flatMap(({ metadata, spec }) => (spec.family === family ? [metadata.name] : []))
  return new Map(PLAN_FAMILIES.map((family) => [family, namesOf(family).sort()]))
})

/** Returns the plan that a stored spec follows. */
export function planOf(services: Services, family: PlanFamily, spec: Pick<SizedSpec, 'computePlan'>): Plan | undefined {
  return spec.computePlan === undefined
    ? defaultPlans(services.records).get(family)
    : planNamed(services, spec.computePlan)
}

const COMPUTE_SIZES: readonly Size[] = ['cpuRequest', 'cpuLimit', 'memoryRequest', 'memoryLimit']

/** Whether a spec sets everything that a plan would, except storage and replicas. */
export function isSizedByItself(sizes: Sizes): boolean {
  return COMPUTE_SIZES.every((size) => (sizes[size] ?? null) !== null)
}

/** Returns the plan id that a record shows; null for a resource with its own sizes. */
export function shownPlan(spec: SizedSpec, plan: Plan | undefined): string | null {
  return spec.computePlan ?? (isSizedByItself(spec) ? null : (plan?.metadata.name ?? null))
}

const FAMILIES = new Map(RESOURCE_KINDS.map(({ kind, sized }) => [kind, sized]))

/** Returns the plan that the record of a resource of any kind shows. */
export function planInView({ object, services }: Pick<ResourceView, 'object' | 'services'>): string | null {
  const [family, spec] = [FAMILIES.get(object.kind), object.spec as SizedSpec]
  return family === undefined ? null : shownPlan(spec, planOf(services, family, spec))
}

/** Returns the effective sizes of a spec: its own, otherwise the plan's; null if neither sets them. */
export function effectiveSizes(spec: SizedSpec, plan: Plan | undefined): Record<Size, string | null> {
  const of = (size: Size) => spec[size] ?? (plan?.spec[size] || null)
  return Object.fromEntries(SIZES.map((size) => [size, of(size)])) as Record<Size, string | null>
}

export function unprocessable(code: ErrorCode, field: string, value: string, message: string): PlatformError {
  return new PlatformError(code, message, { field, value })
}

export type ChosenPlan = {
  named: string | undefined
  effective: Plan | undefined
  /** Whether there is no plan: `effective` only completes the sizes that a body sets itself. */
  isNone?: boolean
}

/** Returns the plan id that a body means. In a merge patch only named fields count, because its base has the old id. */
function planIdOf(body: SizedBody, { form, context }: SizedView): string | undefined {
  const named = form === 'patch' ? (context.body as Record<string, unknown>) : body
  const [one, other] = [body.computePlan ?? undefined, body.resourcePlanId ?? undefined]
  const [hasComputePlan, hasResourcePlanId] = [
    Object.hasOwn(named, 'computePlan'),
    Object.hasOwn(named, 'resourcePlanId'),
  ]
  if (form === 'patch' && hasComputePlan !== hasResourcePlanId) return hasComputePlan ? one : other
  if (one !== undefined && other !== undefined && one !== other) {
    throw refusedFields([{ field: 'resourcePlanId', message: 'differs from computePlan, although both mean the same' }])
  }
  return one ?? other
}

/** Lists the available plans, because some families have no route that does. */
export function planNotFound(services: Services, family: PlanFamily, id: string, message: string): PlatformError {
  const available = offeredPlans(services.records).get(family) ?? []
  return new PlatformError('PLAN_NOT_FOUND', message, { field: 'computePlan', value: id, available })
}

/** @throws PlatformError PLAN_NOT_FOUND, BAD_REQUEST */
function planOfFamily(services: Services, family: PlanFamily, id: string): Plan {
  const plan = planNamed(services, id)
  if (plan === undefined) throw planNotFound(services, family, id, `There is no compute plan "${id}".`)
  if (plan.spec.family === family) return plan
  throw refusedFields([
    {
      field: 'computePlan',
      message: `must be a plan of family ${family}: "${id}" is one of family ${plan.spec.family}`,
    },
  ])
}

/** Whether a spec of kubectl that names no plan still names none: a PUT repeats the default plan, as it was read. */
function followsDefault(id: string | undefined, plan: Plan | undefined, { form, previous }: SizedView): boolean {
  if (plan === undefined || previous === undefined) return false
  if (previous.spec.computePlan !== undefined || isSizedByItself(previous.spec)) return false
  return form === 'put' ? id === plan.metadata.name : id === undefined
}

/** @throws PlatformError PLAN_NOT_FOUND, PLAN_DEPRECATED, BAD_REQUEST */
export function choosePlan(family: PlanFamily, body: SizedBody, view: SizedView): ChosenPlan {
  const id = planIdOf(body, view)
  const { services, previous } = view
  const effective = defaultPlans(services.records).get(family)
  if (followsDefault(id, effective, view)) return { named: undefined, effective }
  if (id === undefined) {
    if (isSizedByItself(body)) return { named: undefined, effective, isNone: true }
    if (effective === undefined) {
      throw planNotFound(services, family, '', `No compute plan of family ${family} is the default: name one.`)
    }
    return { named: effective.metadata.name, effective }
  }
  const held = previous?.spec.computePlan
  // The plan was removed meanwhile: the resource waits for another one, and everything else about it may be changed.
  if (held === id && planNamed(services, id)?.spec.family !== family) return { named: id, effective: undefined }
  return { named: id, effective: requireOfferedPlan(services, family, { id, held }) }
}

/**
 * @param held the plan that the resource, or what it is made from, has already
 * @throws PlatformError PLAN_NOT_FOUND, PLAN_DEPRECATED, BAD_REQUEST
 */
export function requireOfferedPlan(
  services: Services,
  family: PlanFamily,
  { id, held }: { id: string; held: string | undefined },
): Plan {
  const plan = planOfFamily(services, family, id)
  if (!plan.spec.deprecated || held === id) return plan
  throw unprocessable('PLAN_DEPRECATED', 'computePlan', id, `Compute plan "${id}" is no longer offered.`)
}

/**
 * Returns the sizes to store. A value that equals the plan's is left to the plan. So is one that repeats the former
 * plan's, as read: a caller who reads, changes the plan and writes back wants the new plan's sizes.
 */
export function chooseSizes(
  family: PlanFamily,
  body: SizedBody,
  view: SizedView,
  { effective, isNone = false }: Pick<ChosenPlan, 'effective' | 'isNone'>,
): { [Name in Size]?: string | undefined } {
  const previous = view.previous?.spec
  const plan = isNone ? undefined : effective
  const shown = previous === undefined ? undefined : effectiveSizes(previous, planOf(view.services, family, previous))
  return Object.fromEntries(
    SIZES.map((size) => {
      const value = body[size] || undefined
      const isOwn = previous?.[size] !== undefined
      if (size === 'storageClass' && value !== undefined && value === shown?.storageClass)
        return [size, previous?.[size]]
      const isPlans = isSame(size, value, plan?.spec[size] || undefined) && !(size === 'storageClass' && isOwn)
      const isNeeded = isNone && COMPUTE_SIZES.includes(size)
      const isEcho = view.form === 'put' && !isOwn && !isNeeded && isSame(size, value, shown?.[size] ?? undefined)
      return [size, isPlans || isEcho ? undefined : value]
    }),
  )
}

/** Quantities are the same amount however they are written: `1000m` is `1`. */
function isSame(size: Size, one: string | undefined, other: string | undefined): boolean {
  if (one === undefined || other === undefined || size === 'storageClass') return one === other
  return compareQuantities(one, other) === 0
}

/** Whether a merge patch sets a field back to its default, which its merged body no longer shows. */
export function isReset({ form, context }: Pick<SizedView, 'form' | 'context'>, field: string): boolean {
  return form === 'patch' && (context.body as Record<string, unknown>)[field] === null
}

/** Returns the replicas to store: always a number, so that a change of plan does not scale. */
export function chooseReplicas(body: SizedBody, view: SizedView, plan: Plan | undefined): number {
  const { previous } = view
  if (body.replicas === undefined && previous?.spec.replicas !== undefined && !isReset(view, 'replicas')) {
    return previous.spec.replicas
  }
  return body.replicas ?? plan?.spec.replicas ?? 1
}

/** @throws PlatformError IMAGE_NOT_ALLOWED */
export function chooseImage(body: SizedBody, { previous }: SizedView, isAllowed: boolean): string | undefined {
  const image = body.imageName ?? undefined
  if (image !== undefined && image !== previous?.spec.imageName && !isAllowed) {
    throw unprocessable('IMAGE_NOT_ALLOWED', 'imageName', image, 'This platform runs its own images only.')
  }
  return image
}

/** The spec's own request may exceed the plan's limit, which the rules of the kind cannot see. */
export function refuseRequestOverLimit(next: SizedSpec, plan: Plan | undefined): void {
  const overLimit = requestOverLimit(effectiveSizes(next, plan))
  if (overLimit === undefined) return
  const { what, request, limit } = overLimit
  const [above, below] = [`${what}Request`, `${what}Limit`] as const
  const origin = (field: typeof above | typeof below) =>
    next[field] === undefined && plan !== undefined ? ` of compute plan "${plan.metadata.name}"` : ''
  throw badRequest(`${above} ${request}${origin(above)} is more than ${below} ${limit}${origin(below)}.`, [
    next[below] === undefined && next[above] !== undefined
      ? { field: above, message: `must not be more than ${below}` }
      : { field: below, message: `must not be less than ${above}` },
  ])
}

/** The rule of the kind checks the spec; this also checks the sizes from its plan. */
export function refuseShrinking(family: PlanFamily, next: SizedSpec, view: SizedView, plan: Plan | undefined): void {
  const { previous, services } = view
  if (previous === undefined) return
  const before = effectiveSizes(previous.spec, planOf(services, family, previous.spec)).storageSize
  const after = effectiveSizes(next, plan).storageSize
  if (before === null || after === null || compareQuantities(after, before) >= 0) return
  const message = `The volumes have ${before} and cannot shrink to ${after}.`
  throw unprocessable('STORAGE_CANNOT_SHRINK', 'storageSize', after, message)
}

/** Returns a field of a spec, otherwise of its plan, even before the controller has stored it. */
export function fieldOrPlanDefault<Field extends 'replicas' | 'storageSize'>(
  { sized }: AnyKind,
  field: Field,
  { object, services }: { object: { spec: object }; services: Services },
) {
  const spec: SizedSpec = object.spec
  return spec[field] ?? (sized && planOf(services, sized, spec)?.spec[field])
}

/** The list field of a kind with volumes. */
export function storageField<K extends AnyKind>(kind: K): ListField<ResourceView<K>> {
  return quantity('Storage', { of: (view) => fieldOrPlanDefault(kind, 'storageSize', view), isFiltered: false })
}

/** The list field of a kind that scales. */
export function replicasField<K extends AnyKind>(kind: K, options: { isSorted?: boolean } = {}) {
  return number<ResourceView<K>>('Replicas', { ...options, of: (view) => fieldOrPlanDefault(kind, 'replicas', view) })
}
