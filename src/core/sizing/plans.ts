import { ageOf } from '../object.ts'
import { compareQuantities } from '../quantity.ts'
import { compareTexts } from '../textOrder.ts'

/** The kinds of resource that plans are made for; each kind that runs something names its own (`defineKind`, `sized`). */
export const PLAN_FAMILIES = ['Vector', 'Relational', 'Sql', 'ContainerInstance', 'App', 'Function', 'Job'] as const
export type PlanFamily = (typeof PLAN_FAMILIES)[number]

/** The fields of a spec that a plan also has: an absent one means the plan's. */
export const SIZES = ['cpuRequest', 'cpuLimit', 'memoryRequest', 'memoryLimit', 'storageSize', 'storageClass'] as const
export type Size = (typeof SIZES)[number]
export type PlanOverrides = { computePlan?: string | undefined } & { [Name in Size]?: string | undefined }

/** What sizing reads of a ComputePlan. */
export type SizingPlan = {
  metadata: { name: string; creationTimestamp?: string }
  spec: {
    family: PlanFamily
    cpuRequest: string
    cpuLimit: string
    memoryRequest: string
    memoryLimit: string
    storageSize?: string | undefined
    storageClass: string
    replicas: number
    isDefault: boolean
    deprecated: boolean
  }
}

/** What a resource really gets: its own fields where it has them, else the plan's. */
export type EffectivePlan = {
  cpuRequest: string
  cpuLimit: string
  memoryRequest: string
  memoryLimit: string
  /** Undefined if the family has no volumes. */
  storageSize: string | undefined
  /** Empty: the default class of the cluster. */
  storageClass: string
  /** The plan's; a kind that scales keeps its own number in `spec.replicas`. */
  replicas: number
}

export type PlanChoice =
  | { kind: 'plan'; plan: EffectivePlan; name: string }
  | { kind: 'refused'; reason: 'PlanNotFound' | 'ConfigurationInvalid'; message: string }

/**
 * Returns the plan of a resource that names none. If several plans of a family are marked as the default, the oldest
 * one wins, so that a new plan cannot change what others get. A deprecated plan, or one that contradicts itself, is
 * used only if there is no other.
 */
export function defaultPlan<P extends SizingPlan>(family: PlanFamily, plans: readonly P[]): P | undefined {
  const [first] = plans
    .filter(({ spec }) => spec.family === family && spec.isDefault)
    .sort((one, other) => compareTexts(rankOf(one), rankOf(other)))
  return first
}

function rankOf(plan: SizingPlan): string {
  const { spec } = plan
  const isUnfit = spec.deprecated || requestOverLimit(spec) !== undefined
  return `${isUnfit ? 1 : 0} ${ageOf(plan)}`
}

/** The plan that a spec names, else the default; undefined if there is none. */
export function planFor<P extends SizingPlan>(
  family: PlanFamily,
  spec: Pick<PlanOverrides, 'computePlan'>,
  plans: readonly P[],
): P | undefined {
  const { computePlan: name } = spec
  return name === undefined ? defaultPlan(family, plans) : plans.find(({ metadata }) => metadata.name === name)
}

/** The first request that is more than its limit, with both. */
export function requestOverLimit(
  sizes: { readonly [Name in Size]?: string | null | undefined },
): { what: 'cpu' | 'memory'; request: string; limit: string } | undefined {
  for (const what of ['cpu', 'memory'] as const) {
    const [request, limit] = [sizes[`${what}Request`], sizes[`${what}Limit`]]
    if (request && limit && compareQuantities(request, limit) > 0) return { what, request, limit }
  }
  return undefined
}

/** The existing plan that a spec uses. Deprecated plans still serve the resources that have them. */
export function choosePlan(family: PlanFamily, spec: PlanOverrides, plans: readonly SizingPlan[]): PlanChoice {
  const plan = planFor(family, spec, plans)
  if (plan === undefined) {
    return spec.computePlan === undefined
      ? refused('PlanNotFound', `No compute plan of family ${family} is marked as the default; set computePlan.`)
      : refused('PlanNotFound', `There is no compute plan "${spec.computePlan}".`)
  }
  const { name } = plan.metadata
  if (plan.spec.family !== family) {
    const other = `Compute plan "${name}" is for ${plan.spec.family} resources; name one of family ${family}.`
    return refused('PlanNotFound', other)
  }
  const own = Object.fromEntries(SIZES.flatMap((size) => (spec[size] === undefined ? [] : [[size, spec[size]]])))
  const { cpuRequest, cpuLimit, memoryRequest, memoryLimit, storageSize, storageClass, replicas } = plan.spec
  const effective = {
    ...{ cpuRequest, cpuLimit, memoryRequest, memoryLimit, storageSize, storageClass, replicas },
    ...own,
  }
  const conflict = requestOverLimit(effective)
  if (conflict === undefined) return { kind: 'plan', plan: effective, name }
  const { what, request, limit } = conflict
  const message = `${what}Request ${request} is more than ${what}Limit ${limit}; one of them comes from compute plan "${name}".`
  return refused('ConfigurationInvalid', message)
}

function refused(reason: 'PlanNotFound' | 'ConfigurationInvalid', message: string): PlanChoice {
  return { kind: 'refused', reason, message }
}
