import { compareQuantities } from '../../core/quantity.ts'
import type { ComputePlan } from '../../crds/plans.ts'
import type { RecordOf } from '../records/records.ts'

export type Usage = { p95: number; maximum: number; limit: number | null; request: number | null; seconds: number }
export type Recommendation = {
  kind: 'None' | 'ScaleUp' | 'ScaleDown'
  computePlan: string | null
  message: string | null
}

type Plan = RecordOf<typeof ComputePlan>
type Size = 'cpuLimit' | 'memoryLimit' | 'storageSize'

/** The fraction of the limit above which a larger size is recommended. */
const GROW_ABOVE = 0.85
/** The fraction of the request below which a smaller size is recommended. */
const SHRINK_BELOW = 0.4
/** Seconds of measurements that are needed before a smaller size is recommended. */
const SHRINK_MIN_SECONDS = 86_400

/**
 * Returns whether another size would suit better.
 * @param size the plan field concerned; undefined for sizes that plans do not have, such as connections
 * @param current the current plan, if there is one
 */
export function recommendation(
  { p95, maximum, limit, request, seconds }: Usage,
  plans: readonly Plan[],
  size: Size | undefined,
  current: Plan | undefined,
): Recommendation {
  if (limit !== null && limit > 0 && p95 >= GROW_ABOVE * limit) {
    const message = `It used at most ${percent(p95, limit)} % of its limit 95 % of the time.`
    return { kind: 'ScaleUp', computePlan: adjacentPlan(plans, size, current, 1), message }
  }
  const given = request ?? limit
  const canShrink = size !== 'storageSize' && given !== null && given > 0 && seconds >= SHRINK_MIN_SECONDS
  if (canShrink && maximum <= SHRINK_BELOW * given) {
    const message = `It never used more than ${percent(maximum, given)} % of what it has.`
    return { kind: 'ScaleDown', computePlan: adjacentPlan(plans, size, current, -1), message }
  }
  return { kind: 'None', computePlan: null, message: null }
}

const percent = (part: number, whole: number) => Math.round((100 * part) / whole)

/** Returns the plan of the same family with the next size in that direction. */
function adjacentPlan(
  plans: readonly Plan[],
  size: Size | undefined,
  current: Plan | undefined,
  direction: 1 | -1,
): string | null {
  const now = size && current?.spec[size]
  if (size === undefined || current === undefined || !now) return null
  const difference = ({ spec }: Plan) => direction * compareQuantities(spec[size] ?? '0', now)
  const [next] = plans
    .filter((plan) => plan.spec.family === current.spec.family && !plan.spec.deprecated && difference(plan) > 0)
    .sort((one, other) => direction * compareQuantities(one.spec[size] ?? '0', other.spec[size] ?? '0'))
  return next?.metadata.name ?? null
}
