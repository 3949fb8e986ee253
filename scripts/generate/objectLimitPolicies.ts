import {
  OBJECT_COUNT_POLICY,
  OBJECT_SIZE_POLICY,
  objectCountMessage,
  objectSizeMessage,
} from '../../src/contracts/objectLimits.ts'
import { FULL_LABEL, GROUP_LABEL } from '../../src/core/labels.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { BYTES_PER_COUNTED_OBJECT, celFullLabelNumbers } from '../../src/core/objectCount.ts'
import { type AnyKind, MAX_OBJECT_BYTES } from '../../src/crds/define.ts'
import { COUNT_LIMITED_KINDS } from '../../src/crds/index.ts'
import {
  accountName,
  CALLER_VARIABLES,
  CONTROLLERS_ACCOUNT,
  IS_KUBERNETES,
  namespaceLabel,
  negated,
  policyWithBinding,
  ruleFor,
} from './policy.ts'

/**
 * REST is limited like kubectl and Git, because the facade writes on behalf of its callers. The controllers complete
 * what was admitted, and must not stop halfway.
 */
const LIMITED_CALLERS = [
  { name: 'not-controllers', expression: `request.userInfo.username != '${accountName(CONTROLLERS_ACCOUNT)}'` },
  negated(IS_KUBERNETES),
]

/** As JSON: CEL has no other way to measure the size of a part. */
const celBytesOf = (...parts: string[]) => parts.map((part) => `size(bytes('%s'.format([${part}])))`).join(' + ')
const celConcat = (words: readonly string[]) => words.join(' + ')
const celString = (words: string) => `'${words}'`

/** No creations in a full boundary; existing objects can be changed, and grow a little. */
function fullPolicy(): KubeObject[] {
  const counts = (object: string) =>
    `((${celBytesOf(object)} + ${BYTES_PER_COUNTED_OBJECT - 1}) / ${BYTES_PER_COUNTED_OBJECT})`
  const [has, held, ofMost, most] = objectCountMessage('variables.mark[0]', 'variables.mark[1]')
  return policyWithBinding({
    name: OBJECT_COUNT_POLICY,
    rules: [ruleFor(COUNT_LIMITED_KINDS, ['CREATE', 'UPDATE'])],
    matchConditions: LIMITED_CALLERS,
    namespaceSelector: { matchExpressions: [{ key: FULL_LABEL, operator: 'Exists' }] },
    variables: [
      ...CALLER_VARIABLES,
      { name: 'mark', expression: celFullLabelNumbers(namespaceLabel(FULL_LABEL)) },
      {
        name: 'where',
        expression: `(${namespaceLabel(GROUP_LABEL)} == '' ? 'outside of' : 'in') + ' its resource groups'`,
      },
    ],
    validations: [
      {
        expression: `(request.operation == 'UPDATE' && ${counts('object')} <= ${counts('oldObject')}) || variables.isAdministrator`,
        messageExpression: celConcat([
          celString(`this boundary ${has}`),
          held,
          celString(ofMost),
          most,
          "' '",
          'variables.where',
          celString(
            `; one of more than ${BYTES_PER_COUNTED_OBJECT / 1024} KiB counts for each ${BYTES_PER_COUNTED_OBJECT / 1024} KiB. Delete what is not needed, or ask an administrator of the platform for more`,
          ),
        ]),
        reason: 'Forbidden',
      },
    ],
  })
}

/**
 * Limits the size of an object in etcd and in the memory of its watchers. Objects that were larger before the limit can
 * be changed as long as their spec does not grow; Kubernetes limits the rest.
 */
function sizePolicy(kinds: readonly AnyKind[]): KubeObject[] {
  const bound = kinds.filter(({ writtenByPlatform }) => writtenByPlatform === undefined)
  const own = bound.flatMap(({ resource, bytesMax }) =>
    bytesMax === undefined ? [] : [`'${resource.plural}.${resource.group}': ${bytesMax}`],
  )
  const spec = (object: string) => `${object}.?spec.orValue({})`
  const bytes = (object: string) => celBytesOf(`${object}.metadata`, spec(object))
  const [has, size, ofMost, most] = objectSizeMessage('string(variables.bytes)', 'string(variables.most)')
  return policyWithBinding({
    name: OBJECT_SIZE_POLICY,
    rules: [ruleFor(bound, ['CREATE', 'UPDATE'])],
    matchConditions: LIMITED_CALLERS,
    variables: [
      ...CALLER_VARIABLES,
      { name: 'bytes', expression: bytes('object') },
      {
        name: 'most',
        expression: `{${own.join(', ')}}[?request.resource.resource + '.' + request.resource.group].orValue(${MAX_OBJECT_BYTES})`,
      },
    ],
    validations: [
      {
        // The writer is checked last, because that asks the authorizers.
        expression: `variables.bytes <= variables.most || (request.operation == 'UPDATE' && ${bytes('oldObject')} > variables.most && ${celBytesOf(spec('object'))} <= ${celBytesOf(spec('oldObject'))}) || variables.isAdministrator`,
        messageExpression: celConcat([
          celString(`it ${has}`),
          size,
          celString(ofMost),
          most,
          celString(
            '; metadata and spec count, also the annotations, such as the copy of the spec that kubectl apply keeps unless it is called with --server-side',
          ),
        ]),
        reason: 'Forbidden',
      },
    ],
  })
}

export function objectLimitPolicies(kinds: readonly AnyKind[]): KubeObject[] {
  return [...fullPolicy(), ...sizePolicy(kinds)]
}
