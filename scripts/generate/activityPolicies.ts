import { isTold, isToldWithoutContent } from '../../src/api/records/activity/subjects.ts'
import { DRY_RUN_KEY, DRY_RUN_POLICY, UNCHANGED_KEY, UNCHANGED_POLICY } from '../../src/contracts/activity.ts'
import type { KubeObject } from '../../src/core/object.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { CALLER_VARIABLES, policyWithBinding, ruleFor } from './policy.ts'

/** What the record of activity, which is made of the audit log, needs to be true and whole. */
export function activityPolicies(kinds: readonly AnyKind[]): KubeObject[] {
  return [...unchangedPolicy(kinds), ...dryRunPolicy(kinds), ...oneByOnePolicy(kinds)]
}

/**
 * Of parts that the audit log tells of without their content it says which writes change nothing: an apply that is
 * repeated is no entry of activity.
 */
function unchangedPolicy(kinds: readonly AnyKind[]): KubeObject[] {
  const same = (field: string) => `object.metadata.?${field}.orValue({}) == oldObject.metadata.?${field}.orValue({})`
  return policyWithBinding({
    name: UNCHANGED_POLICY,
    rules: [ruleFor(kinds.filter(isToldWithoutContent), ['UPDATE'])],
    auditAnnotations: [
      {
        key: UNCHANGED_KEY,
        valueExpression: `object.spec == oldObject.spec && ${same('labels')} && ${same('annotations')} ? 'true' : ''`,
      },
    ],
  })
}

/** A dry run is no entry. The audit log shows only what the client wrote, which may look like one and be none. */
function dryRunPolicy(kinds: readonly AnyKind[]): KubeObject[] {
  const told = kinds.filter(isTold)
  const rule = ruleFor(told, ['CREATE', 'UPDATE', 'DELETE'])
  const scales = told.filter(({ scale }) => scale !== undefined).map(({ resource }) => `${resource.plural}/scale`)
  return policyWithBinding({
    name: DRY_RUN_POLICY,
    rules: [{ ...rule, resources: [...rule.resources, ...scales] }],
    auditAnnotations: [{ key: DRY_RUN_KEY, valueExpression: "has(request.dryRun) && request.dryRun ? 'true' : ''" }],
  })
}

/**
 * Of a collection that is deleted at once the audit log names no object if one of them is refused, when others are gone
 * already, and none of what it tells without content.
 */
function oneByOnePolicy(kinds: readonly AnyKind[]): KubeObject[] {
  return policyWithBinding({
    name: 'freehold-deletion-one-by-one',
    rules: [ruleFor(kinds.filter(isTold), ['DELETE'])],
    variables: CALLER_VARIABLES,
    validations: [
      {
        // Only the deletion of a collection names nothing.
        expression: 'variables.isKubernetes || has(request.name)',
        messageExpression:
          "request.resource.resource + ' are deleted one by one, so that the record of activity tells of each: name them, or use kubectl delete --all'",
        reason: 'Forbidden',
      },
    ],
  })
}
