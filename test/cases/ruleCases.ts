import { ACCESS_RULES } from './rules/access.ts'
import { APP_RULES } from './rules/apps.ts'
import { BLUEPRINT_RULES } from './rules/blueprints.ts'
import type { RuleCase } from './rules/case.ts'
import { DATABASE_RULES } from './rules/databases.ts'
import { FUNCTION_RULES } from './rules/functions.ts'
import { LIFECYCLE_RULES } from './rules/lifecycle.ts'
import { MONITORING_RULES } from './rules/monitoring.ts'
import { PLATFORM_RULES } from './rules/platform.ts'
import { REGISTRY_RULES } from './rules/registry.ts'
import { ROLLOUT_RULES } from './rules/rollouts.ts'
import { SINGLE_SIGN_ON_RULES } from './rules/singleSignOn.ts'
import { SITE_RULES } from './rules/sites.ts'
import { SOURCE_RULES } from './rules/sources.ts'
import { STORAGE_RULES } from './rules/storage.ts'
import { WORKLOAD_RULES } from './rules/workloads.ts'

export type { RuleCase } from './rules/case.ts'

/** The cases of every kind's rules; a kind whose rules lack one fails the policy tests. */
export const RULE_CASES: readonly RuleCase[] = [
  ...PLATFORM_RULES,
  ...ACCESS_RULES,
  ...SINGLE_SIGN_ON_RULES,
  ...SOURCE_RULES,
  ...DATABASE_RULES,
  ...STORAGE_RULES,
  ...WORKLOAD_RULES,
  ...APP_RULES,
  ...FUNCTION_RULES,
  ...SITE_RULES,
  ...REGISTRY_RULES,
  ...MONITORING_RULES,
  ...BLUEPRINT_RULES,
  ...LIFECYCLE_RULES,
  ...ROLLOUT_RULES,
]
