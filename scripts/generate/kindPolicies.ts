import type { z } from 'zod'
import type { KubeObject } from '../../src/core/object.ts'
import { withArticle } from '../../src/core/withArticle.ts'
import { type AdmissionRule, type AnyKind, celAskingFor, requireOwnerVerb } from '../../src/crds/define.ts'
import { EXPIRING_KINDS, EXPIRY_RULE } from '../../src/crds/expiry.ts'
import { REFERENCE_VARIABLES } from '../../src/crds/referenceAdmission.ts'
import { CALLER_VARIABLES, NOT_OURS, policyWithBinding, ruleFor } from './policy.ts'

/** Policies that kinds request in their declarations. */

/**
 * Fields that need more than the right to write, at creation and later. The policy asks the same authorizers as the
 * request itself whether the caller holds the required virtual verb.
 */
export function protectedFieldsPolicy(kinds: readonly AnyKind[]): KubeObject[] {
  const guarded = kinds.filter(({ protectedFields }) => protectedFields !== undefined)
  const validations = guarded.flatMap(({ resource, kind, protectedFields, spec }) =>
    Object.entries(protectedFields ?? {}).map(([field, verb]) => {
      const absent = (spec.shape[field] as z.ZodType).safeParse(undefined).data ?? null
      const value = (object: string) => `${object}.?spec[?'${field}'].orValue(null)`
      const place = resource.namespaced ? '.namespace(request.namespace)' : ''
      const holder = `authorizer.group('${resource.group}').resource('${resource.plural}')${place}.name(request.name).check('${verb}').allowed()`
      const isAdministrative = verb === 'administrators'
      const whoMay = isAdministrative ? 'an administrator of the cluster' : `a holder of the verb ${verb}`
      const message = `the ${field} of ${withArticle(kind)} is written by ${whoMay} only`
      return {
        expression: [
          `request.resource.resource != '${resource.plural}'`,
          'variables.isAdministrator',
          `${value('object')} == (request.operation == 'CREATE' ? dyn(${JSON.stringify(absent)}) : ${value('oldObject')})`,
          ...(isAdministrative ? [] : [holder]),
        ].join(' || '),
        message,
        ...(isAdministrative ? {} : { messageExpression: celAskingFor(message, verb, resource, 'request.name') }),
        reason: 'Forbidden',
      }
    }),
  )
  return policyWithBinding({
    name: 'freehold-protected-fields',
    rules: [ruleFor(guarded, ['CREATE', 'UPDATE'])],
    matchConditions: NOT_OURS,
    variables: CALLER_VARIABLES,
    validations,
  })
}

/** Creating a part of a resource needs a right at that resource, which the part's name does not show. */
function partRules({ kind, partOf }: AnyKind, kinds: readonly AnyKind[]): AdmissionRule[] {
  if (partOf === undefined || !('field' in partOf)) return []
  const { collection, field, verb } = partOf
  const owner = kinds.find(({ segment }) => segment === collection)
  if (owner === undefined) throw new Error(`${kind} is a part of "${collection}", which no kind is.`)
  const message = `${withArticle(kind)} is made by a holder of the verb ${verb} on the ${owner.kind} that ${field} names only`
  return [requireOwnerVerb(owner.resource, field, verb, message)]
}

/** As a rule of the schema, it would prevent every change of objects whose name is already shorter. */
function nameRules({ kind, nameMin }: AnyKind): AdmissionRule[] {
  if (nameMin === undefined) return []
  const message = `the name of ${withArticle(kind)} has at least ${nameMin} characters`
  return [{ on: 'CREATE', cel: `size(object.metadata.name) >= ${nameMin}`, message }]
}

/** Rules of kinds about their own writes and deletions that no schema can express. */
export function kindRulesPolicies(kinds: readonly AnyKind[]): KubeObject[] {
  const rulesOf = (kind: AnyKind) => [
    ...(kind.admission ?? []),
    ...partRules(kind, kinds),
    ...nameRules(kind),
    ...(EXPIRING_KINDS.includes(kind) ? [EXPIRY_RULE] : []),
  ]
  const policy = (
    name: string,
    operations: string[],
    isHere: (rule: AdmissionRule) => boolean,
    settings: Pick<Parameters<typeof policyWithBinding>[0], 'matchConditions' | 'variables'>,
    ...skips: string[]
  ) => {
    const here = kinds.filter((kind) => rulesOf(kind).some(isHere))
    const validations = here.flatMap((kind) =>
      rulesOf(kind)
        .filter(isHere)
        .map((rule) => validationOf(rule, [`request.resource.resource != '${kind.resource.plural}'`, ...skips])),
    )
    return here.length === 0
      ? []
      : policyWithBinding({ name, rules: [ruleFor(here, operations)], ...settings, validations })
  }
  const isWrite = ({ on }: AdmissionRule) => on !== 'DELETE'
  const writes = ['CREATE', 'UPDATE']
  return [
    ...policy('freehold-kind-writes', writes, (rule) => isWrite(rule) && isExempting(rule), {
      matchConditions: NOT_OURS,
      variables: [...CALLER_VARIABLES, ...REFERENCE_VARIABLES],
    }),
    ...policy('freehold-kind-states', writes, (rule) => isWrite(rule) && !isExempting(rule), {}),
    ...policy(
      'freehold-kind-deletions',
      ['DELETE'],
      (rule) => !isWrite(rule),
      { variables: CALLER_VARIABLES },
      'variables.isKubernetes',
    ),
  ]
}

/** Whether a rule begins by exempting the platform; such a rule is skipped for the platform's writes. */
const isExempting = ({ cel }: AdmissionRule) => cel.startsWith('variables.isExempt || ')

/** Rules of kinds about writes that depend on another kind: a policy for each such kind and each one that reads it. */
export function besidePolicies(kinds: readonly AnyKind[]): KubeObject[] {
  return kinds.flatMap((kind) =>
    (kind.parameterizedRules ?? []).flatMap(({ of, rules }) => {
      const other = kinds.find((each) => each.kind === of)
      if (other === undefined) throw new Error(`${kind.kind} stands beside "${of}", which is no kind.`)
      return policyWithBinding({
        name: `freehold-${kind.resource.plural}-beside-${other.resource.plural}`,
        rules: [ruleFor([kind], ['CREATE', 'UPDATE'])],
        paramKind: { apiVersion: other.apiVersion, kind: other.kind },
        validations: rules.map((rule) => validationOf(rule)),
      })
    }),
  )
}

function validationOf({ on, cel, message, messageCel }: AdmissionRule, skips: readonly string[] = []) {
  const all = on === 'CREATE' ? [...skips, "request.operation != 'CREATE'"] : skips
  const words = messageCel === undefined ? { message } : { message, messageExpression: messageCel }
  return { expression: [...all, `(${cel})`].join(' || '), ...words, reason: 'Forbidden' }
}

/**
 * Protected objects stay until the protection is removed, whoever deletes them (REST: DELETION_PROTECTED). Controllers
 * and Kubernetes' clean-up are exempt: a group was checked for protected contents before its deletion began.
 */
export function deletionProtectionPolicy(kinds: readonly AnyKind[]): KubeObject[] {
  const guarded = kinds.filter(({ spec }) => 'deletionProtection' in spec.shape)
  return policyWithBinding({
    name: 'freehold-deletion-protection',
    rules: [ruleFor(guarded, ['DELETE'])],
    matchConditions: NOT_OURS,
    validations: [
      {
        expression: '!oldObject.?spec.?deletionProtection.orValue(false)',
        messageExpression: `'"' + oldObject.metadata.name + '" is protected from deletion: set deletionProtection to false first'`,
        reason: 'Forbidden',
      },
    ],
  })
}
