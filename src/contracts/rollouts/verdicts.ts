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
  /** Whether a rollout may begin although it failed, if somebody says so. */
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
/** Nothing is known of it: never Passed. */
export const skipped = verdict('Skipped')

/** A check over one fact of the cluster, skipped where that could not be learnt. */
export function over<Value>(
  fact: (facts: Facts) => Known<Value>,
  decide: (value: Value, facts: Facts) => Verdict,
): Check['decide'] {
  return (facts) => {
    const known = fact(facts)
    return 'unknown' in known ? skipped(known.unknown) : decide(known.value, facts)
  }
}

/** The same over what is known of the cluster under one name. */
export const ofCluster = <Name extends keyof Facts['cluster']>(
  name: Name,
  decide: (value: Extract<Facts['cluster'][Name], { value: unknown }>['value'], facts: Facts) => Verdict,
): Check['decide'] => over(({ cluster }) => cluster[name] as Known<never>, decide)
