import { z } from 'zod'
import { COMPONENT_KINDS } from '../lifecycle.ts'

/** What the facade and the controllers share about plans, rollouts and scans (interface sections 3 and 4.21). */

export const PLAN_KINDS = ['Components', 'Release', 'Target', 'Rollback'] as const
export type PlanKind = (typeof PLAN_KINDS)[number]

export const PLAN_STATES = ['Unvalidated', 'Validated', 'Executed', 'Superseded'] as const

export const PLAN_PROBLEM_CODES = [
  'ReleaseMissing',
  'SchemaBreaking',
  'FromVersionTooOld',
  'MinorSkipped',
  'CrdBundleMissing',
  'ManualUpgrade',
  'PinConflict',
  'DependencyUnmet',
  'DowngradeRefused',
  'NothingToDo',
] as const
export type PlanProblemCode = (typeof PLAN_PROBLEM_CODES)[number]

export const ADDED_BY = ['Caller', 'Pin', 'CrdBundle'] as const
export const BATCH_KINDS = ['ThirdPartyChart', 'CrdBundle', 'PlatformStep', 'LifecycleModule', 'Components'] as const
export type BatchKind = (typeof BATCH_KINDS)[number]

/** Maximum components of one plan. */
export const PLAN_ITEMS_MAX = 100

export const describedText = (description: string) => z.string().max(1024).describe(description)

export const PlanItem = z.object({
  component: describedText('Component that is upgraded'),
  kind: z.enum(COMPONENT_KINDS).describe('Kind of the component'),
  fromVersion: describedText('Version that was installed; absent if none').optional(),
  toVersion: describedText('Version to install'),
  addedBy: z.enum(ADDED_BY).describe('Caller, a Pin of another item, or the CrdBundle that requires it'),
  isReversible: z.boolean().describe('Whether a rollback restores the former version'),
  note: describedText('Why it is in the plan, as a sentence').optional(),
})
export type PlanItem = z.output<typeof PlanItem>

export const PlanBatch = z.object({
  index: z.int().describe('Its place; each batch finishes before the next'),
  kind: z.enum(BATCH_KINDS).describe('What it upgrades'),
  components: z.array(z.string()).max(PLAN_ITEMS_MAX).describe('Components that roll at once'),
  timeLimitMinutes: z.int().describe('How long it may take; it starts anew when a rollout is resumed'),
})
export type PlanBatch = z.output<typeof PlanBatch>

export const PlanProblem = z.object({
  code: z.enum(PLAN_PROBLEM_CODES).describe('Why the plan may not be executed, as a constant'),
  component: describedText('Component that it concerns; empty if it concerns the whole plan'),
  message: describedText('The same, as a sentence'),
  details: z.record(z.string(), z.string()).describe('Versions that it concerns, by their meaning'),
})
export type PlanProblem = z.output<typeof PlanProblem>

export type PlannedRollout = { items: PlanItem[]; batches: PlanBatch[]; problems: PlanProblem[] }

export const ROLLOUT_STATES = ['Executing', 'Paused', 'Succeeded', 'Failed', 'Cancelled'] as const

export const ROLLOUT_PHASES = [
  'Preflight',
  'Snapshot',
  'ThirdPartyCharts',
  'CrdBundle',
  'PlatformStep',
  'LifecycleModule',
  'Components',
  'Verification',
  'RollingBack',
  'Finished',
] as const
export type RolloutPhase = (typeof ROLLOUT_PHASES)[number]

export const BATCH_STATES = [
  'Pending',
  'Applying',
  'WaitingForHealth',
  'Paused',
  'Succeeded',
  'Failed',
  'Skipped',
  'Cancelled',
] as const

export const BATCH_COMPONENT_STATES = ['Pending', 'Applying', 'Ready', 'Failed', 'Unchanged', 'RolledBack'] as const

export const PAUSE_CODES = [
  'ComponentFailed',
  'HealthFailed',
  'BatchCheckWorsened',
  'ClusterRefused',
  'SnapshotFailed',
  'PlatformDrift',
] as const
export type PauseCode = (typeof PAUSE_CODES)[number]

/** `Refused` is ours: REST refuses such a rollout with a code before it exists; one from kubectl fails with this. */
export const FAILURE_CODES = ['BatchTimeout', 'OperatorTooOld', 'Internal', 'Refused'] as const

export const OVERRIDE_KINDS = ['SkipSnapshot', 'AcknowledgedFailure', 'DriftReverted'] as const

export const SCAN_STATES = ['Running', 'Finished', 'Failed'] as const
export const SCAN_TRIGGERS = ['Manual', 'Scheduled', 'Rollout'] as const

/** Whether a rollout has begun and not ended; a paused one counts. */
export function isRolloutActive(state: string | undefined): boolean {
  return state === 'Executing' || state === 'Paused'
}

export function isRolloutOver(state: string | undefined): boolean {
  return state === 'Succeeded' || state === 'Failed' || state === 'Cancelled'
}

/** Returns the minutes that a batch may take (interface section 8). */
export function batchTimeoutMinutes(kind: BatchKind): number {
  return kind === 'ThirdPartyChart' ? 30 : 10
}

/** Milliseconds from the last component of a chart's batch being ready until the checks run again. */
export const BATCH_CHECK_DELAY_MS = 60_000
/** Milliseconds that the snapshot before a rollout may take. */
export const SNAPSHOT_TIMEOUT_MS = 1_800_000
/** Milliseconds between two scans for manual changes. */
export const SCAN_INTERVAL_MS = 21_600_000

export const PLANS_KEPT = 50
export const ROLLOUTS_KEPT = 50
export const SCANS_KEPT = 20

/** Maximum items that a scan keeps, and characters of one value of them. */
export const DRIFT_ITEMS_MAX = 200
export const MAX_DRIFT_VALUE_CHARACTERS = 1024
