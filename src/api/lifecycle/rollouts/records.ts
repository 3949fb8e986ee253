import { z } from 'zod'
import { COMPONENT_KINDS } from '../../../contracts/lifecycle.ts'
import { CHECK_CATEGORIES, PREFLIGHT_RESULTS } from '../../../contracts/rollouts/checkResults.ts'
import { type CompletedCheck, findCheck, overallResultOf } from '../../../contracts/rollouts/preflight.ts'
import {
  ADDED_BY,
  BATCH_COMPONENT_STATES,
  BATCH_KINDS,
  BATCH_STATES,
  OVERRIDE_KINDS,
  PAUSE_CODES,
  PLAN_KINDS,
  PLAN_PROBLEM_CODES,
  PLAN_STATES,
  ROLLOUT_PHASES,
  ROLLOUT_STATES,
  SCAN_STATES,
  SCAN_TRIGGERS,
} from '../../../contracts/rollouts/states.ts'
import { namedRecord } from '../../http/namedRecord.ts'
import { DateTime, Uuid } from '../../resources/dto.ts'

/** The records of section 19. */

const NullableText = z.string().nullable()
const NullableTime = DateTime.nullable()
const details = z.record(z.string(), z.string())

export const PlanItemDto = namedRecord('PlanItemDto', {
  component: z.string(),
  kind: z.enum(COMPONENT_KINDS),
  fromVersion: NullableText,
  toVersion: z.string(),
  addedBy: z.enum(ADDED_BY),
  isReversible: z.boolean(),
  note: NullableText,
})

const batchFields = { index: z.int(), kind: z.enum(BATCH_KINDS), timeLimitMinutes: z.int() }
export const PlanBatchDto = namedRecord('PlanBatchDto', { ...batchFields, components: z.array(z.string()) })

export const PlanProblemDto = namedRecord('PlanProblemDto', {
  code: z.enum(PLAN_PROBLEM_CODES),
  component: z.string(),
  message: z.string(),
  details,
})

export const RolloutPlanDto = namedRecord('RolloutPlanDto', {
  id: Uuid,
  status: z.enum(PLAN_STATES),
  targetVersions: z.record(z.string(), z.string().nullable()).describe('Null: a pinned chart that stays'),
  kind: z.enum(PLAN_KINDS),
  items: z.array(PlanItemDto),
  batches: z.array(PlanBatchDto),
  problems: z.array(PlanProblemDto),
  createdBy: NullableText,
  createdAt: DateTime,
  validatedAt: NullableTime,
  executionId: Uuid.nullable(),
})

export const PreflightCheckDto = namedRecord('PreflightCheckDto', {
  id: z.string(),
  title: z.string(),
  category: z.enum(CHECK_CATEGORIES),
  result: z.enum(PREFLIGHT_RESULTS),
  isOverridable: z.boolean(),
  message: z.string(),
  details,
  remedy: NullableText,
})

export const PreflightReportDto = namedRecord('PreflightReportDto', {
  id: Uuid,
  planId: Uuid.nullable(),
  runAt: DateTime,
  result: z.enum(['Passed', 'Warnings', 'Failed']),
  canExecute: z.boolean(),
  checks: z.array(PreflightCheckDto),
})

export const driftFields = {
  component: z.string(),
  step: z.string(),
  kind: z.string(),
  namespace: z.string(),
  name: z.string(),
  field: z.string(),
}
export const PlatformDriftItemDto = namedRecord('PlatformDriftItem', {
  ...driftFields,
  manager: z.string(),
  message: z.string(),
  expected: z.unknown().describe('Any value; null where there is none'),
  live: z.unknown().describe('Any value; null where there is none'),
  adoption: z.object({ configKey: z.string(), liveValue: z.string(), isSecret: z.boolean() }).nullable(),
  firstSeenAt: NullableTime,
})

const PauseReasonDto = namedRecord('PauseReasonDto', {
  code: z.enum(PAUSE_CODES),
  message: z.string(),
  component: NullableText,
  batchIndex: z.int().nullable(),
  canSkipSnapshot: z.boolean(),
  platformDrift: z.array(PlatformDriftItemDto),
})

export const RolledComponentDto = z.object({
  name: z.string(),
  fromVersion: NullableText,
  toVersion: z.string(),
  state: z.enum(BATCH_COMPONENT_STATES),
  message: NullableText,
  startedAt: NullableTime,
  finishedAt: NullableTime,
})
export const RolloutBatchDto = namedRecord('RolloutBatchDto', {
  ...batchFields,
  state: z.enum(BATCH_STATES),
  components: z.array(RolledComponentDto),
  deadlineAt: NullableTime,
  startedAt: NullableTime,
  finishedAt: NullableTime,
})

export const RolloutExecutionDto = namedRecord('RolloutExecutionDto', {
  id: Uuid,
  planId: Uuid,
  kind: z.enum(PLAN_KINDS),
  state: z.enum(ROLLOUT_STATES),
  phase: z.enum(ROLLOUT_PHASES),
  pauseReason: PauseReasonDto.nullable(),
  batches: z.array(RolloutBatchDto),
  currentBatch: z.int().nullable(),
  preflight: PreflightReportDto,
  acknowledgedFailures: z.array(z.string()),
  overrides: z.array(z.object({ kind: z.enum(OVERRIDE_KINDS), by: z.string(), at: DateTime, detail: z.string() })),
  snapshot: z.object({ name: z.string(), phase: z.string(), completedAt: NullableTime }).nullable(),
  rollbackOf: Uuid.nullable(),
  rolledBackBy: Uuid.nullable(),
  canCancel: z.boolean(),
  canResume: z.boolean(),
  canRollback: z.boolean(),
  startedBy: NullableText,
  startedAt: DateTime,
  finishedAt: NullableTime,
  failure: z.object({ code: z.string(), message: z.string(), component: NullableText }).nullable(),
})

export const PlatformDriftScanDto = namedRecord('PlatformDriftScanDto', {
  id: Uuid,
  status: z.enum(SCAN_STATES),
  trigger: z.enum(SCAN_TRIGGERS),
  startedAt: DateTime,
  finishedAt: NullableTime,
  scanned: z.int(),
  message: NullableText,
})

type DriftItem = Omit<z.output<typeof PlatformDriftItemDto>, 'expected' | 'live' | 'adoption' | 'firstSeenAt'> & {
  expected?: string | undefined
  live?: string | undefined
  adoption?: z.output<typeof PlatformDriftItemDto>['adoption'] | undefined
  firstSeenAt?: string | undefined
}

/** Values are stored as JSON, except digests and truncated values. */
function shownValue(text: string | undefined): unknown {
  if (text === undefined) return null
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

export function driftDto(item: DriftItem): z.output<typeof PlatformDriftItemDto> {
  const { expected, live, adoption = null, firstSeenAt = null } = item
  return { ...item, expected: shownValue(expected), live: shownValue(live), adoption, firstSeenAt }
}

type Stored = Pick<CompletedCheck, 'id' | 'message' | 'details'> & { result: (typeof PREFLIGHT_RESULTS)[number] }

/** Returns the results of the checks, with the titles and remedies of this version. */
export function preflightDto(
  report: { id: string; planId: string | null; runAt: string; canExecute: boolean },
  checks: readonly Stored[],
): z.output<typeof PreflightReportDto> {
  const shown = checks.flatMap((one) => {
    const check = findCheck(one.id)
    if (check === undefined) return []
    const { title, category, isOverridable, remedy } = check
    const isWrong = one.result === 'Failed' || one.result === 'Warnings'
    return [{ ...one, title, category, isOverridable, remedy: isWrong ? remedy : null }]
  })
  return { ...report, result: overallResultOf(checks), checks: shown }
}
