import { z } from 'zod'
import { DriftItem } from '../contracts/rollouts/drift.ts'
import {
  BATCH_COMPONENT_STATES,
  BATCH_KINDS,
  BATCH_STATES,
  DRIFT_ITEMS_MAX,
  describedText,
  FAILURE_CODES,
  OVERRIDE_KINDS,
  PAUSE_CODES,
  PLAN_ITEMS_MAX,
  PLAN_KINDS,
  PLAN_STATES,
  PlanBatch,
  PlanItem,
  PlanProblem,
  ROLLOUT_PHASES,
  ROLLOUT_STATES,
  SCAN_STATES,
  SCAN_TRIGGERS,
} from '../contracts/rollouts/states.ts'
import { type AdmissionRule, defineKind, type ObjectOf, READ_VERBS, statusWith } from './define.ts'
import { DateTime, listSetOf, mapOf, PlainText, ResourceName } from './fields.ts'
import { Version } from './lifecycle.ts'
import { StartedBy, startedBySelfRule } from './startedBy.ts'

const list = <Item extends z.ZodType>(item: Item, maxItems = PLAN_ITEMS_MAX) => z.array(item).max(maxItems)

/** Versions that components shall get together. */
export const RolloutPlan = defineKind({
  group: 'lifecycle',
  kind: 'RolloutPlan',
  restNaming: { collection: 'plans' },
  shortNames: ['rplan'],
  placement: 'platform',
  name: 'free',
  area: 'rollouts',
  description: 'Versions that components shall get together, the order, and problems that prevent it.',
  platformForms: { 'lifecycle/view': READ_VERBS, 'lifecycle/plan': ['create', 'update', 'patch'] },
  spec: z.strictObject({
    targetVersions: mapOf(Version, PLAN_ITEMS_MAX)
      .default({})
      .describe('Requested versions, by component; none for a rollback; immutable'),
    unselected: listSetOf(ResourceName, PLAN_ITEMS_MAX)
      .default([])
      .describe('Charts that stay although an item pins another version of them; immutable'),
    kind: z
      .enum(PLAN_KINDS)
      .default('Components')
      .describe(
        'Components; Release with the platform step; Target, which also rolls components whose version stays, with changed values; Rollback; immutable',
      ),
    rollbackOf: ResourceName.optional().describe('RolloutExecution that a Rollback reverts; immutable'),
    validateRequestedAt: DateTime.optional().describe('When another validation was last requested'),
  }),
  status: statusWith({
    state: z
      .enum(PLAN_STATES)
      .describe(
        'Validated without problems, otherwise Unvalidated; Executed once a rollout has begun; Superseded by newer plans',
      ),
    items: list(PlanItem).describe('Components that roll'),
    batches: list(PlanBatch).describe('Batches, in order'),
    problems: list(PlanProblem, 500).describe('Problems of the plan; only a plan without any is executed'),
    validatedAt: DateTime.describe('When it was last validated'),
    validateRequestedAt: DateTime.describe('The validateRequestedAt that was last handled'),
    execution: describedText('RolloutExecution that carried it out'),
  }),
  immutable: ['targetVersions', 'unselected', 'kind', 'rollbackOf'],
  rules: [
    {
      cel: "(self.kind == 'Rollback') == has(self.rollbackOf) && (self.kind == 'Rollback' || size(self.targetVersions) > 0)",
      message: 'a plan must name versions, or as a Rollback the rollout that it takes back',
      field: 'targetVersions',
      test: ({ kind, rollbackOf, targetVersions }) =>
        (kind === 'Rollback') === (rollbackOf !== undefined) &&
        (kind === 'Rollback' || Object.keys(targetVersions).length > 0),
    },
  ],
  columns: [
    { name: 'Kind', path: '.spec.kind' },
    { name: 'State', path: '.status.state' },
    { name: 'First Problem', path: '.status.problems[0].code', priority: 1 },
    { name: 'Validated', path: '.status.validatedAt', type: 'date' },
  ],
})
export type RolloutPlan = ObjectOf<typeof RolloutPlan>

const Check = z.object({
  id: describedText('Id of the check'),
  result: z.enum(['Passed', 'Warnings', 'Failed', 'Skipped']).describe('Result of the check'),
  message: describedText('Why, as a sentence'),
  details: z.record(z.string(), z.string()).describe('Details of the result, by name'),
})

const RolledComponent = z.object({
  name: describedText('Component'),
  fromVersion: describedText('Version that was installed before; absent if none').optional(),
  toVersion: describedText('Version that it gets'),
  state: z.enum(BATCH_COMPONENT_STATES).describe('Pending, Applying, Ready, Failed, Unchanged or RolledBack'),
  message: describedText('Details of the state').optional(),
  isReversible: z.boolean().describe('Whether a rollback brings the former version back'),
  requestedAt: DateTime.describe('The requestedAt with which Flux was asked to retry; absent if it was not').optional(),
  startedAt: DateTime.describe('When the upgrade began').optional(),
  finishedAt: DateTime.describe('When it was ready or had failed').optional(),
})

const RolledBatch = z.object({
  index: z.int().describe('Position of the batch'),
  kind: z.enum(BATCH_KINDS).describe('Kind of the components that it upgrades'),
  state: z
    .enum(BATCH_STATES)
    .describe('Pending, Applying, WaitingForHealth, Paused, Succeeded, Failed, Skipped or Cancelled'),
  components: list(RolledComponent).describe('Components of the batch'),
  timeLimitMinutes: z.int().describe('How long it may take'),
  deadlineAt: DateTime.describe('When that time is over').optional(),
  startedAt: DateTime.describe('When it began').optional(),
  finishedAt: DateTime.describe('When it ended').optional(),
  checkAt: DateTime.describe('When the checks run again after a chart').optional(),
})

const requestTime = (what: string) => DateTime.optional().describe(`When it was requested ${what}`)
const Requests = z
  .strictObject({
    cancelAt: requestTime('to cancel it: the current batch continues'),
    resumeAt: requestTime('to resume; takes effect while it is paused'),
    skipSnapshot: z
      .boolean()
      .optional()
      .describe('With resumeAt: continues without the failed snapshot, if status.pause.canSkipSnapshot is true'),
    comment: PlainText.max(512).optional().describe('Why, in words for people'),
    revertDriftAt: requestTime('to revert manual changes; takes effect while it is paused because of them'),
    rollbackAt: requestTime('to roll it back after it has ended; needs the verb rollback'),
    by: PlainText.max(128).optional().describe('Id of the principal of the last request'),
  })
  .prefault({})
  .describe('Requests of people to the rollout')

const previousOf = (cel: string) => `(request.operation == 'CREATE' ? '' : ${cel})`
const requestField = (object: string, field: string) => `${object}.?spec.?requests.?${field}.orValue('')`
const state = previousOf("oldObject.?status.?state.orValue('')")
const pausedOn = previousOf("oldObject.?status.?pause.?code.orValue('')")
const FINAL_STATES = "['Succeeded', 'Failed', 'Cancelled']"

/** Refuses a new request outside the states in which it has an effect, rather than leave it without one. */
function requestAllowed(field: string, cel: string, message: string): AdmissionRule {
  const isSame = `${requestField('object', field)} == ${previousOf(requestField('oldObject', field))}`
  return { on: 'WRITE', cel: `${isSame} || (${cel})`, message }
}

/** The execution of a plan. */
export const RolloutExecution = defineKind({
  group: 'lifecycle',
  kind: 'RolloutExecution',
  restNaming: { collection: 'executions' },
  shortNames: ['rexec'],
  placement: 'platform',
  name: 'free',
  area: 'rollouts',
  description: 'A plan that is carried out, one batch after the other. Only one runs at a time; a paused one counts.',
  platformForms: {
    'lifecycle/view': READ_VERBS,
    'lifecycle/execute': ['create', 'update', 'patch'],
    'lifecycle/rollback': ['rollback'],
  },
  spec: z.strictObject({
    plan: ResourceName.describe('Name of the RolloutPlan; immutable'),
    acknowledgedFailures: listSetOf(PlainText.max(64), 50)
      .default([])
      .describe('Checks that may fail although that would otherwise block the rollout; immutable'),
    rollbackOf: ResourceName.optional().describe('RolloutExecution that it reverts; immutable'),
    startedBy: StartedBy,
    requests: Requests,
  }),
  status: statusWith({
    state: z
      .enum(ROLLOUT_STATES)
      .describe('Executing, Paused, Succeeded, Failed or Cancelled; absent until it is its turn'),
    step: z.enum(ROLLOUT_PHASES).describe('Current phase'),
    kind: z.enum(PLAN_KINDS).describe('Kind of its plan'),
    batches: list(RolledBatch).describe('Batches, finished and pending'),
    pause: z
      .object({
        code: z.enum(PAUSE_CODES).describe('Why it waits for a person, as a constant'),
        message: describedText('The same as a sentence'),
        component: describedText('Component that it is about').optional(),
        batchIndex: z.int().optional().describe('Batch that it is about'),
        canSkipSnapshot: z.boolean().describe('Whether it may be resumed without the failed snapshot'),
        platformDrift: list(DriftItem, DRIFT_ITEMS_MAX).describe('Manual changes'),
      })
      .describe('Why it is paused'),
    preflight: z
      .object({
        runAt: DateTime.describe('When the checks ran'),
        checks: list(Check).describe('Result of each check'),
      })
      .describe('The checks that decided whether it begins'),
    overrides: list(
      z.object({
        kind: z.enum(OVERRIDE_KINDS).describe('What was overridden'),
        by: describedText('Id of the principal; empty if unknown'),
        at: DateTime.describe('When'),
        detail: describedText('Details of the override'),
      }),
    ).describe('Decisions of people against the checks'),
    snapshot: z
      .object({
        name: describedText('Name of the Backup'),
        phase: describedText('Its phase, as Velero reports it'),
        startedAt: DateTime.describe('When it was requested').optional(),
        completedAt: DateTime.describe('When it was complete').optional(),
      })
      .describe('The snapshot that was taken before the first batch'),
    failure: z
      .object({
        code: z.enum(FAILURE_CODES).describe('Why it failed, as a constant'),
        message: describedText('The same as a sentence'),
        component: describedText('Component that it is about').optional(),
      })
      .describe('Why it failed'),
    startedAt: DateTime.describe('When it began'),
    finishedAt: DateTime.describe('When it ended'),
    resumedAt: DateTime.describe('The resumeAt that it last handled'),
    revertedAt: DateTime.describe('The revertDriftAt that it last handled'),
    rolledBackAt: DateTime.describe('The rollbackAt that it last handled'),
    canRollback: z.boolean().describe('Whether there is anything to roll back'),
    release: describedText('Version of the platform that it installed'),
  }),
  immutable: ['plan', 'acknowledgedFailures', 'rollbackOf', 'startedBy'],
  admission: [
    startedBySelfRule,
    {
      on: 'WRITE',
      cel: `variables.isExempt || ${requestField('object', 'by')} == '' || ${requestField('object', 'by')} == ${previousOf(requestField('oldObject', 'by'))} || request.userInfo.username == 'p:' + ${requestField('object', 'by')}`,
      message: 'requests.by must be your own id, or absent',
    },
    {
      on: 'WRITE',
      cel: `variables.isExempt || ${requestField('object', 'rollbackAt')} == ${previousOf(requestField('oldObject', 'rollbackAt'))} || authorizer.group('lifecycle.freehold.dev').resource('rolloutexecutions').namespace(request.namespace).name(request.name).check('rollback').allowed()`,
      message: 'only a holder of the verb rollback may request a rollback',
    },
    requestAllowed('cancelAt', `!(${state} in ${FINAL_STATES})`, 'the rollout has ended: there is nothing to cancel'),
    requestAllowed(
      'resumeAt',
      `${state} == 'Paused' && ${pausedOn} != 'PlatformDrift'`,
      'only a paused rollout can be resumed; one that is paused because of manual changes resumes by revertDriftAt',
    ),
    {
      on: 'WRITE',
      cel: `!object.?spec.?requests.?skipSnapshot.orValue(false) || ${requestField('object', 'resumeAt')} == ${previousOf(requestField('oldObject', 'resumeAt'))} || (request.operation == 'UPDATE' && oldObject.?status.?pause.?canSkipSnapshot.orValue(false))`,
      message: 'this rollout cannot continue without a snapshot',
    },
    requestAllowed(
      'revertDriftAt',
      `${pausedOn} == 'PlatformDrift'`,
      'the rollout is not paused because of manual changes',
    ),
    requestAllowed(
      'rollbackAt',
      `${state} in ${FINAL_STATES} && oldObject.?status.?canRollback.orValue(false)`,
      'the rollout cannot be rolled back: it has not ended, or changed nothing that can be rolled back',
    ),
    {
      on: 'DELETE',
      cel: "!(oldObject.?status.?state.orValue('') in ['Executing', 'Paused'])",
      message: 'the rollout has not ended: cancel it first',
    },
  ],
  columns: [
    { name: 'Plan', path: '.spec.plan', priority: 1 },
    { name: 'State', path: '.status.state' },
    { name: 'Phase', path: '.status.step' },
    { name: 'Paused On', path: '.status.pause.code' },
    { name: 'Started', path: '.status.startedAt', type: 'date' },
    { name: 'Finished', path: '.status.finishedAt', type: 'date' },
  ],
})
export type RolloutExecution = ObjectOf<typeof RolloutExecution>

/** One scan for manual changes. */
export const PlatformDriftScan = defineKind({
  group: 'lifecycle',
  kind: 'PlatformDriftScan',
  restNaming: { collection: 'platform-drift' },
  shortNames: ['dscan'],
  placement: 'platform',
  name: 'free',
  area: 'rollouts',
  description: 'One scan of the objects of components for fields that somebody else wrote.',
  platformForms: { 'lifecycle/view': READ_VERBS, 'lifecycle/plan': ['create'] },
  spec: z.strictObject({
    trigger: z
      .enum(SCAN_TRIGGERS)
      .default('Manual')
      .describe(
        'Manual; Scheduled, created by the platform four times a day; Rollout, created after a rollout; immutable',
      ),
    notBefore: DateTime.optional().describe('When it may begin; at once when absent; immutable'),
  }),
  status: statusWith({
    state: z.enum(SCAN_STATES).describe('Running, Finished or Failed; absent until it is its turn'),
    startedAt: DateTime.describe('When it began'),
    finishedAt: DateTime.describe('When it ended'),
    scanned: z.int().describe('Number of scanned objects'),
    items: list(DriftItem, DRIFT_ITEMS_MAX).describe('Manual changes'),
    configVersion: describedText('Version of the Secret install-configuration during the scan'),
    message: describedText('What could not be scanned, or why it failed, as a sentence'),
  }),
  immutable: ['trigger', 'notBefore'],
  columns: [
    { name: 'Trigger', path: '.spec.trigger' },
    { name: 'State', path: '.status.state' },
    { name: 'Objects', path: '.status.scanned', type: 'integer' },
    { name: 'Finished', path: '.status.finishedAt', type: 'date' },
  ],
})
export type PlatformDriftScan = ObjectOf<typeof PlatformDriftScan>
