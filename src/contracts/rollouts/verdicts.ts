import type { Facts, Known } from './facts.ts'

/** From good to bad. */
export const RESULTS = ['Skipped', 'Passed', 'Warnings', 'Failed'] as const
export type Result = (typeof RESULTS)[number]

export const CATEGORIES = ['Plan', 'Clusters', 'Databases', 'Backups', 'Drift', 'Health'] as const

export type Verdict = { result: Result; message: string; details?: Record<string, string> }

export type Check = {
  readonly id: string
  readonly title: string
  readonly category: (typeof CATEGORIES)[number]
  /** Whether a rollout may begin although the check failed, if somebody acknowledges that. */
  readonly isOverridable: boolean
  readonly remedy: string
  readonly decide: (facts: Facts) => Verdict
}

const verdict =
  (result: Result) =>
  (message: string, details?: Record<string, string>): Verdict => ({ result, message, ...(details && { details }) })

export const passed = verdict('Passed')
export const warns = verdict('Warnings')
export const failed = verdict('Failed')
/** For what is unknown, which never counts as Passed. */
export const skipped = verdict('Skipped')

/** Makes a check of one fact of the cluster; it is skipped if the fact is unknown. */
export function over<Value>(
  fact: (facts: Facts) => Known<Value>,
  decide: (value: Value, facts: Facts) => Verdict,
): Check['decide'] {
  return (facts) => {
    const known = fact(facts)
    return 'unknown' in known ? skipped(known.unknown) : decide(known.value, facts)
  }
}

/** Like `over`, for a fact of the cluster by its name. */
export const ofCluster = <Name extends keyof Facts['cluster']>(
  name: Name,
  decide: (value: Extract<Facts['cluster'][Name], { value: unknown }>['value'], facts: Facts) => Verdict,
): Check['decide'] => over(({ cluster }) => cluster[name] as Known<never>, decide)
