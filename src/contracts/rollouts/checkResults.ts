import type { CheckFacts, Fact } from './facts.ts'

/** From good to bad. */
export const PREFLIGHT_RESULTS = ['Skipped', 'Passed', 'Warnings', 'Failed'] as const
export type PreflightResult = (typeof PREFLIGHT_RESULTS)[number]

export const CHECK_CATEGORIES = ['Plan', 'Clusters', 'Databases', 'Backups', 'Drift', 'Health'] as const

export type CheckResult = { result: PreflightResult; message: string; details?: Record<string, string> }

export type Check = {
  readonly id: string
  readonly title: string
  readonly category: (typeof CHECK_CATEGORIES)[number]
  /** Whether a rollout may begin although the check failed, if somebody acknowledges that. */
  readonly isOverridable: boolean
  readonly remedy: string
  readonly decide: (facts: CheckFacts) => CheckResult
}

const verdict =
  (result: PreflightResult) =>
  (message: string, details?: Record<string, string>): CheckResult => ({
    result,
    message,
    ...(details && { details }),
  })

export const passed = verdict('Passed')
export const warns = verdict('Warnings')
export const failed = verdict('Failed')
/** For what is unknown, which never counts as Passed. */
export const skipped = verdict('Skipped')

/** Makes a check of one fact of the cluster; it is skipped if the fact is unknown. */
export function decideByFact<Value>(
  fact: (facts: CheckFacts) => Fact<Value>,
  decide: (value: Value, facts: CheckFacts) => CheckResult,
): Check['decide'] {
  return (facts) => {
    const known = fact(facts)
    return 'unknown' in known ? skipped(known.unknown) : decide(known.value, facts)
  }
}

/** Like `decideByFact`, for a fact of the cluster by its name. */
export const decideByClusterFact = <Name extends keyof CheckFacts['cluster']>(
  name: Name,
  decide: (value: Extract<CheckFacts['cluster'][Name], { value: unknown }>['value'], facts: CheckFacts) => CheckResult,
): Check['decide'] => decideByFact(({ cluster }) => cluster[name] as Fact<never>, decide)
