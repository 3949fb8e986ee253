import { compareQuantities } from '../core/quantity.ts'
import type { ComputePlan, PlanFamily } from '../crds/plans.ts'

/** What a resource really gets: its own fields where it has them, else the plan's. */
export type EffectivePlan = {
  cpuRequest: string
  cpuLimit: string
  memoryRequest: string
  memoryLimit: string
  /** Undefined where the family has no volumes. */
  storageSize: string | undefined
  /** Empty: the default class of the cluster. */
  storageClass: string
  /** The plan's; a kind that scales keeps its own number in `spec.replicas`. */
  replicas: number
}

/** The fields of a spec that override a plan; an absent one means the plan's. */
export type PlanOverrides = {
  computePlan?: string | undefined
  cpuRequest?: string | undefined
  cpuLimit?: string | undefined
  memoryRequest?: string | undefined
  memoryLimit?: string | undefined
  storageSize?: string | undefined
  storageClass?: string | undefined
}

export type PlanChoice =
  | { kind: 'plan'; plan: EffectivePlan; name: string }
  | { kind: 'refused'; reason: 'PlanNotFound' | 'ConfigurationInvalid'; message: string }

/**
 * The plan that a spec gets out of those that exist. Without a name it is the default of the family; where two claim to
 * be that, the first by name, so that everybody sees the same one. Deprecated plans still serve those who have them.
 */
export function choosePlan(family: PlanFamily, spec: PlanOverrides, plans: readonly ComputePlan[]): PlanChoice {
  const named = spec.computePlan
  if (named !== undefined) {
    const plan = plans.find((candidate) => candidate.metadata.name === named)
    if (plan === undefined) return refused('PlanNotFound', `There is no compute plan "${named}".`)
    if (plan.spec.family !== family) {
      const other = `Compute plan "${named}" is for ${plan.spec.family} resources; name one of family ${family}.`
      return refused('PlanNotFound', other)
    }
    return merged(spec, plan)
  }
  const fallback = plans
    .filter((candidate) => candidate.spec.family === family && candidate.spec.isDefault)
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))[0]
  if (fallback === undefined) {
    const none = `No compute plan of family ${family} is marked as the default; set computePlan.`
    return refused('PlanNotFound', none)
  }
  return merged(spec, fallback)
}

function merged(spec: PlanOverrides, plan: ComputePlan): PlanChoice {
  const effective: EffectivePlan = {
    ...pair('cpu', spec, plan),
    ...pair('memory', spec, plan),
    storageSize: spec.storageSize ?? plan.spec.storageSize,
    storageClass: spec.storageClass ?? plan.spec.storageClass,
    replicas: plan.spec.replicas,
  }
  for (const what of ['cpu', 'memory'] as const) {
    const [request, limit] = [effective[`${what}Request`], effective[`${what}Limit`]]
    if (compareQuantities(request, limit) > 0) {
      const message = `${what}Request ${request} is more than ${what}Limit ${limit}; one of them comes from compute plan "${plan.metadata.name}".`
      return refused('ConfigurationInvalid', message)
    }
  }
  return { kind: 'plan', plan: effective, name: plan.metadata.name }
}

type Pair<What extends 'cpu' | 'memory'> = Record<`${What}Request` | `${What}Limit`, string>

function pair<What extends 'cpu' | 'memory'>(what: What, spec: PlanOverrides, plan: ComputePlan): Pair<What> {
  return {
    [`${what}Request`]: spec[`${what}Request`] ?? plan.spec[`${what}Request`],
    [`${what}Limit`]: spec[`${what}Limit`] ?? plan.spec[`${what}Limit`],
  } as Pair<What>
}

function refused(reason: 'PlanNotFound' | 'ConfigurationInvalid', message: string): PlanChoice {
  return { kind: 'refused', reason, message }
}
