import { isActivityRecorded, isRecordedWithoutContent } from '../../src/api/records/activity/subjects.ts'
import { DRY_RUN_KEY, DRY_RUN_POLICY, UNCHANGED_KEY, UNCHANGED_POLICY } from '../../src/contracts/activity.ts'
import type { KubeObject } from '../../src/core/object.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { CALLER_VARIABLES, policyWithBinding, ruleFor } from './policy.ts'

/** Policies that make the activity record, which is derived from the audit log, true and complete. */
export function activityPolicies(kinds: readonly AnyKind[]): KubeObject[] {
  return [...unchangedPolicy(kinds), ...dryRunPolicy(kinds), ...oneByOnePolicy(kinds)]
}

/**
 * The audit log omits the content of some objects. This policy marks their writes that change nothing, because a
 * repeated apply is not recorded as activity.
 */
function unchangedPolicy(kinds: readonly AnyKind[]): KubeObject[] {
  const same = (field: string) => `object.metadata.?${field}.orValue({}) == oldObject.metadata.?${field}.orValue({})`
  return policyWithBinding({
    name: UNCHANGED_POLICY,
    rules: [ruleFor(kinds.filter(isRecordedWithoutContent), ['UPDATE'])],
    auditAnnotations: [
      {
        key: UNCHANGED_KEY,
        valueExpression: `object.spec == oldObject.spec && ${same('labels')} && ${same('annotations')} ? 'true' : ''`,
      },
    ],
  })
}

/**
 * Dry runs are not recorded. The audit log shows only the client's request, which can look like a dry run without being
 * one.
 */
function dryRunPolicy(kinds: readonly AnyKind[]): KubeObject[] {
  const recordedKinds = kinds.filter(isActivityRecorded)
  const rule = ruleFor(recordedKinds, ['CREATE', 'UPDATE', 'DELETE'])
  const scales = recordedKinds
    .filter(({ scale }) => scale !== undefined)
    .map(({ resource }) => `${resource.plural}/scale`)
  return policyWithBinding({
    name: DRY_RUN_POLICY,
    rules: [{ ...rule, resources: [...rule.resources, ...scales] }],
    auditAnnotations: [{ key: DRY_RUN_KEY, valueExpression: "has(request.dryRun) && request.dryRun ? 'true' : ''" }],
  })
}

/**
 * For a deleted collection, the audit log names no objects if one of them is refused, although others are deleted
 * already, and never those whose content it omits.
 */
function oneByOnePolicy(kinds: readonly AnyKind[]): KubeObject[] {
  return policyWithBinding({
    name: 'freehold-deletion-one-by-one',
    rules: [ruleFor(kinds.filter(isActivityRecorded), ['DELETE'])],
    variables: CALLER_VARIABLES,
    validations: [
      {
        // Only the deletion of a collection has no name.
        expression: 'variables.isKubernetes || has(request.name)',
        messageExpression:
          "request.resource.resource + ' are deleted one by one, so that the record of activity tells of each: name them, or use kubectl delete --all'",
        reason: 'Forbidden',
      },
    ],
  })
}
