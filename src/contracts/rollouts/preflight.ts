import { pluralize, pluralizeVerb } from '../../core/pluralize.ts'
import { isNewerSemver, minorOf, satisfiesConstraint } from '../lifecycle.ts'
import {
  type Check,
  type CheckResult,
  failed,
  PREFLIGHT_RESULTS,
  type PreflightResult,
  passed,
  skipped,
  warns,
} from './checkResults.ts'
import { CLUSTER_CHECKS } from './clusterChecks.ts'
import type { CheckFacts } from './facts.ts'

const HOUR_MS = 3_600_000
const NO_PLAN = skipped('No plan was named.')

/** Every check before a rollout, in the order in which they are shown (interface section 4.21, rule 5). */
export const CHECKS: readonly Check[] = [
  {
    id: 'rollout-running',
    title: 'No other rollout runs',
    category: 'Plan',
    isOverridable: false,
    remedy: 'Wait until the other one has ended, or cancel it.',
    decide: ({ busyWith }) =>
      busyWith === undefined
        ? passed('Nothing else is rolled out or installed.')
        : failed(`"${busyWith}" has not ended.`, { busyWith }),
  },
  {
    id: 'operator-version',
    title: 'The operator can install these releases',
    category: 'Plan',
    isOverridable: false,
    remedy: 'Upgrade the operator of the platform first.',
    decide: requirePlan(({ releases, operatorVersion }) => {
      const needed = releases.flatMap(({ component, version, minimumOperatorVersion: minimum }) =>
        minimum !== undefined && isNewerSemver(minimum, operatorVersion)
          ? [`${component} ${version} needs ${minimum}`]
          : [],
      )
      if (needed.length === 0) return passed(`The operator has version ${operatorVersion}, which is new enough.`)
      return failed(`The operator is at ${operatorVersion}: ${needed.join('; ')}.`, { operatorVersion })
    }),
  },
  {
    id: 'configuration-values',
    title: 'Values that releases need exist',
    category: 'Plan',
    isOverridable: false,
    remedy: 'Add the missing entries to the Secret install-configuration in freehold-system.',
    decide: requirePlan(({ missingValues }) => {
      if ('unknown' in missingValues) return skipped(missingValues.unknown)
      const { value } = missingValues
      if (value.length === 0) return passed('Every value that the releases need exists.')
      return failed(`These values are missing: ${value.join(', ')}.`, { keys: value.join(',') })
    }),
  },
  {
    id: 'release-signature',
    title: 'Releases are signed',
    category: 'Plan',
    isOverridable: false,
    remedy: 'Push the signature of the release to the registry, then read the feed again.',
    decide: requirePlan(({ releases, components }) => {
      const unsigned = releases.filter(({ isSigned }) => !isSigned)
      if (unsigned.length === 0) return passed('The registry has a signature for each release.')
      const kinds = new Map(components.map(({ name, kind }) => [name, kind]))
      const releaseNames = unsigned.map(({ component, version }) => `${component} ${version}`).join(', ')
      const isOthers = unsigned.every(({ component }) => kinds.get(component) === 'ThirdPartyChart')
      // Not all makers of charts sign them; the platform does.
      return isOthers
        ? warns(`The registry has no signature for third-party charts: ${releaseNames}.`)
        : failed(`The registry has no signature for ${releaseNames}.`)
    }),
  },
  {
    id: 'crd-bundle-order',
    title: 'Definitions come before what needs them',
    category: 'Plan',
    isOverridable: false,
    remedy: 'Add the CRD bundle to the plan.',
    decide: problemCheck('CrdBundleMissing', 'Every release finds the definitions that it needs.'),
  },
  {
    id: 'minor-skip',
    title: 'No minor version is skipped',
    category: 'Plan',
    isOverridable: false,
    remedy: 'First upgrade to the minor version in between.',
    decide: problemCheck('MinorSkipped', 'No minor version that must come before is skipped.'),
  },
  ...CLUSTER_CHECKS,
  {
    id: 'agents-compatible',
    title: 'Agents of other clusters have this minor version',
    category: 'Clusters',
    isOverridable: true,
    remedy: 'Upgrade the agents in those clusters.',
    decide({ agents, operatorVersion }) {
      const known = agents.filter(({ version }) => version !== undefined)
      if (known.length === 0) return passed('There are no other clusters with an agent.')
      const old = known.filter(
        ({ version = '' }) => !satisfiesConstraint(version, `~${minorOf(operatorVersion) ?? '0.0'}.0`),
      )
      if (old.length === 0)
        return passed(
          `${pluralize(known.length, 'agent')} ${pluralizeVerb(known.length, 'is', 'are')} at this minor version.`,
        )
      return failed(
        `These agents have another minor version: ${old.map(({ name, version }) => `${name} ${version}`).join(', ')}.`,
      )
    },
  },
  {
    id: 'platform-drift',
    title: 'Nothing was changed by hand',
    category: 'Drift',
    isOverridable: true,
    remedy: 'Adopt or revert the changes.',
    decide({ lastScan }) {
      if (lastScan === undefined) return skipped('No scan has finished yet.')
      if (lastScan.found === 0) return passed('The last scan found nothing that was changed by hand.')
      const { found } = lastScan
      return failed(
        `The last scan found ${pluralize(found, 'field')} that ${pluralizeVerb(found, 'was', 'were')} changed by hand.`,
      )
    },
  },
  {
    id: 'components-healthy',
    title: 'Components are healthy',
    category: 'Health',
    isOverridable: true,
    remedy: 'Repair the components that are not ready.',
    decide({ components }) {
      const unhealthy = components.filter(
        ({ state }) => state !== undefined && state !== 'Ready' && state !== 'NotInstalled',
      )
      if (unhealthy.length === 0) return passed('Every installed component is ready.')
      return failed(
        `These components are not ready: ${unhealthy.map(({ name, state }) => `${name} (${state})`).join(', ')}.`,
      )
    },
  },
  {
    id: 'alerts-firing',
    title: 'No alert fires',
    category: 'Health',
    isOverridable: true,
    remedy: 'Look at the alerts.',
    decide: () => skipped('The platform does not ask for alerts yet.'),
  },
  {
    id: 'drift-scan-age',
    title: 'The last scan for changes by hand is fresh',
    category: 'Drift',
    isOverridable: true,
    remedy: 'Start a scan.',
    decide({ lastScan, now }) {
      if (lastScan === undefined) return warns('No scan has finished yet.')
      const hours = (now - Date.parse(lastScan.finishedAt)) / HOUR_MS
      return hours <= 6
        ? passed('The last scan is less than six hours old.')
        : warns(`The last scan is ${Math.floor(hours)} hours old.`)
    },
  },
]

function requirePlan(decide: (facts: CheckFacts) => CheckResult): Check['decide'] {
  return (facts) => {
    if (facts.plan === undefined) return NO_PLAN
    const verdict = decide(facts)
    // Nothing is known of a missing release, so its checks must not pass.
    const missing = facts.plan.problems.find(({ code }) => code === 'ReleaseMissing')
    return verdict.result === 'Passed' && missing !== undefined ? skipped(missing.message) : verdict
  }
}

function problemCheck(code: string, success: string): Check['decide'] {
  return ({ plan }) => {
    if (plan === undefined) return NO_PLAN
    const found = plan.problems.filter((problem) => problem.code === code)
    return found.length === 0 ? passed(success) : failed(found.map(({ message }) => message).join(' '))
  }
}

export type CompletedCheck = { id: string; result: PreflightResult; message: string; details: Record<string, string> }

export const CHECK_IDS: readonly string[] = CHECKS.map(({ id }) => id)

export function findCheck(id: string): Check | undefined {
  return CHECKS.find((check) => check.id === id)
}

export function runChecks(facts: CheckFacts): CompletedCheck[] {
  return CHECKS.map(({ id, decide }) => {
    const { result, message, details = {} } = decide(facts)
    return { id, result, message: message.slice(0, 1024), details }
  })
}

/** Warnings never stop a rollout; failed checks must be acknowledged, if they can be. */
export function overallResultOf(checks: readonly Pick<CompletedCheck, 'result'>[]): 'Passed' | 'Warnings' | 'Failed' {
  if (checks.some(({ result }) => result === 'Failed')) return 'Failed'
  return checks.some(({ result }) => result === 'Warnings') ? 'Warnings' : 'Passed'
}

/** Returns the checks that block a rollout. */
export function blockingChecks<C extends Pick<CompletedCheck, 'id' | 'result'>>(
  checks: readonly C[],
  acknowledged: readonly string[],
): C[] {
  const isBlocking = ({ id, result }: C) =>
    result === 'Failed' && !(findCheck(id)?.isOverridable === true && acknowledged.includes(id))
  return checks.filter(isBlocking)
}

const rank = (result: PreflightResult) => PREFLIGHT_RESULTS.indexOf(result)
/** Checks that a chart can affect; all others are decided before the rollout. */
const CHART_CHECKS: ReadonlySet<string> = new Set([
  'cluster-reachable',
  'nodes-ready',
  'database-primary',
  'database-archiving',
  'backup-target',
  'certificates-valid',
  'crd-chart-match',
  'components-healthy',
])

/** Returns the ids of the checks that are worse than before. */
export function worsenedChecks(before: readonly CompletedCheck[], now: readonly CompletedCheck[]): string[] {
  const known = new Map(before.map(({ id, result }) => [id, result]))
  const isWorse = ({ id, result }: CompletedCheck) =>
    CHART_CHECKS.has(id) && rank(result) > rank(known.get(id) ?? 'Passed') && result !== 'Skipped'
  return now.filter(isWorse).map(({ id }) => id)
}
