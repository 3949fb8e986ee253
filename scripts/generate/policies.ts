import { BOUNDARY_LABEL, GROUP_LABEL, LEAVING_LABEL, PREFIX, RESERVED_LABEL } from '../../src/core/labels.ts'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import type { AnyKind, Placement } from '../../src/crds/define.ts'
import { activityPolicies } from './activityPolicies.ts'
import { buildPodsPolicy } from './buildPolicies.ts'
import {
  closedIamPolicy,
  grantPolicy,
  patternPolicy,
  roleNamePolicy,
  seededPolicy,
  trustPolicy,
} from './iamPolicies.ts'
import { besidePolicies, deletionProtectionPolicy, kindRulesPolicies, protectedFieldsPolicy } from './kindPolicies.ts'
import { metadataPolicy } from './metadataPolicy.ts'
import { objectLimitPolicies } from './objectLimitPolicies.ts'
import { activatorPolicy, ownAccountsPolicy, ownSecretsPolicy } from './ownPolicies.ts'
import { CALLER_VARIABLES, NOT_OURS, namespaceLabel, policyWithBinding, ruleFor } from './policy.ts'
import { removalPolicy } from './removalPolicy.ts'

export { ACTIVATOR_ACCOUNT, CONTROLLERS_ACCOUNT, FACADE_ACCOUNT } from './policy.ts'

const PLACEMENT_RULES: Record<Exclude<Placement, 'cluster'>, { test: string; message: string }> = {
  platform: {
    test: `request.namespace == '${SYSTEM_NAMESPACE}'`,
    message: `stands only in namespace ${SYSTEM_NAMESPACE}`,
  },
  boundary: {
    test: "(variables.boundary != '' && variables.group == '') || variables.reservedFor == 'Boundary'",
    message: "stands only in a boundary's own namespace, boundary-<id>",
  },
  boundaryOrPlatform: {
    test: `(variables.boundary != '' && variables.group == '') || variables.reservedFor == 'Boundary' || request.namespace == '${SYSTEM_NAMESPACE}'`,
    message: `stands only in a boundary's own namespace, boundary-<id>, or in ${SYSTEM_NAMESPACE}`,
  },
  group: {
    test: "(variables.boundary != '' && variables.group != '') || variables.reservedFor == 'ResourceGroup'",
    message: 'stands only in the namespace of a resource group, which kubectl get resourcegroups shows',
  },
}

/** Admits each namespaced kind only in its declared places, equally for kubectl, Git and REST. */
function placementPolicy(kinds: readonly AnyKind[]): KubeObject[] {
  const namespaced = kinds.filter((kind) => kind.placement !== 'cluster')
  const validations = Object.entries(PLACEMENT_RULES).flatMap(([placement, rule]) => {
    const here = namespaced.filter((kind) => kind.placement === placement)
    if (here.length === 0) return []
    const names = here.map((kind) => `'${kind.resource.plural}'`).join(', ')
    return [
      {
        expression: `!(request.resource.resource in [${names}]) || (${rule.test})`,
        messageExpression: `request.kind.kind + ' ${rule.message.replaceAll("'", "\\'")}; "' + request.namespace + '" is none'`,
        reason: 'Invalid',
      },
    ]
  })
  return policyWithBinding({
    name: 'freehold-placement',
    rules: [ruleFor(namespaced, ['CREATE'])],
    variables: [
      ...CALLER_VARIABLES,
      { name: 'boundary', expression: namespaceLabel(BOUNDARY_LABEL) },
      { name: 'group', expression: namespaceLabel(GROUP_LABEL) },
      { name: 'reservedFor', expression: namespaceLabel(RESERVED_LABEL) },
    ],
    validations: [
      ...validations,
      {
        expression: `variables.isPlatform || variables.isKubernetes || ${namespaceLabel(LEAVING_LABEL)} == ''`,
        messageExpression: `'namespace "' + request.namespace + '" belongs to what is being deleted: nothing new is placed in it'`,
        reason: 'Forbidden',
      },
    ],
  })
}

const celMapOrEmpty = (map: string) => `(has(${map}) ? ${map} : {})`

/** True if no entry with our key prefix was added, changed or removed. */
function celOwnKeysUnchanged(field: 'labels' | 'annotations'): string {
  const [next, old] = [celMapOrEmpty(`object.metadata.${field}`), celMapOrEmpty(`oldObject.metadata.${field}`)]
  const mine = (key: string) => `!${key}.startsWith('${PREFIX}')`
  return [
    `(request.operation == 'CREATE' ? ${next}.all(k, ${mine('k')}) :`,
    `${next}.all(k, ${mine('k')} || (k in ${old} && ${old}[k] == ${next}[k])) && ${old}.all(k, ${mine('k')} || k in ${next}))`,
  ].join(' ')
}

const OWNER_TEST = `o.apiVersion.startsWith('${PREFIX}') || o.apiVersion.contains('.${PREFIX}')`

/**
 * Only the platform writes our labels and annotations, and owner references to our kinds: they decide what the
 * controllers adopt, prune and show. Forged ones would make the controllers take a foreign object for ours.
 */
function protectedMetadataPolicy(kinds: readonly AnyKind[]): KubeObject[] {
  const inOurNamespaces = {
    name: 'freehold-protected-metadata',
    rules: [
      { apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], operations: ['CREATE', 'UPDATE'], scope: 'Namespaced' },
    ],
    namespaceSelector: { matchExpressions: [{ key: BOUNDARY_LABEL, operator: 'Exists' }] },
  }
  const inReserved = {
    ...inOurNamespaces,
    name: 'freehold-protected-metadata-reserved',
    namespaceSelector: { matchExpressions: [{ key: RESERVED_LABEL, operator: 'Exists' }] },
  }
  const elsewhere = {
    name: 'freehold-protected-metadata-cluster',
    rules: [
      ruleFor(
        kinds.filter((kind) => kind.placement === 'cluster'),
        ['CREATE', 'UPDATE'],
      ),
      { apiGroups: [''], apiVersions: ['v1'], resources: ['namespaces'], operations: ['CREATE', 'UPDATE'], scope: '*' },
    ],
  }
  // The platform's namespace also contains objects of others, so the policy covers only records of ours there.
  const inPlatform = {
    name: 'freehold-protected-metadata-platform',
    rules: [
      ruleFor(
        kinds.filter(({ placement }) => placement === 'platform' || placement === 'boundaryOrPlatform'),
        ['CREATE', 'UPDATE'],
      ),
    ],
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': SYSTEM_NAMESPACE } },
  }
  return [inOurNamespaces, inReserved, inPlatform, elsewhere].flatMap((where) =>
    policyWithBinding({
      ...where,
      matchConditions: NOT_OURS,
      variables: CALLER_VARIABLES,
      validations: [
        {
          expression: `variables.isAdministrator || (${celOwnKeysUnchanged('labels')} && ${celOwnKeysUnchanged('annotations')})`,
          message: `labels and annotations that begin with ${PREFIX} are written by the platform only`,
          reason: 'Forbidden',
        },
        {
          expression: `variables.isAdministrator || !has(object.metadata.ownerReferences) || object.metadata.ownerReferences.all(o, !(${OWNER_TEST}) || (request.operation == 'UPDATE' && has(oldObject.metadata.ownerReferences) && oldObject.metadata.ownerReferences.exists(p, p.uid == o.uid)))`,
          message: 'an owner reference to an object of the platform is written by the platform only',
          reason: 'Forbidden',
        },
        {
          // Without it a resource would disappear before its controller has removed what belongs to it.
          expression: `variables.isAdministrator || request.operation == 'CREATE' || oldObject.metadata.?finalizers.orValue([]).all(f, !f.startsWith('${PREFIX}') || f in object.metadata.?finalizers.orValue([]))`,
          message: `finalizers that begin with ${PREFIX} are taken off by the platform only`,
          reason: 'Forbidden',
        },
      ],
    }),
  )
}

/** Resources cannot have names that REST paths need, with kubectl either. */
function reservedNamesPolicy(kinds: readonly AnyKind[], reserved: readonly string[]): KubeObject[] {
  const named = kinds.filter(
    (kind) => (kind.placement === 'group' || kind.kind === 'ResourceGroup') && kind.name === 'resource',
  )
  return policyWithBinding({
    name: 'freehold-reserved-names',
    rules: [ruleFor(named, ['CREATE'])],
    validations: [
      {
        expression: `!(object.metadata.?name.orValue('') in [${reserved.map((name) => `'${name}'`).join(', ')}])`,
        messageExpression: `'the name "' + object.metadata.name + '" is reserved: it is a word of the REST paths'`,
        reason: 'Invalid',
      },
    ],
  })
}

/** Every admission policy, generated from the kinds and the route table. */
export function admissionPolicies(kinds: readonly AnyKind[], reserved: readonly string[]): KubeObject[] {
  return [
    ...placementPolicy(kinds),
    ...closedIamPolicy(kinds),
    ...grantPolicy(),
    ...patternPolicy(),
    ...roleNamePolicy(),
    ...seededPolicy(),
    ...trustPolicy(),
    ...metadataPolicy(kinds),
    ...objectLimitPolicies(kinds),
    ...protectedMetadataPolicy(kinds),
    ...ownAccountsPolicy(),
    ...buildPodsPolicy(),
    ...ownSecretsPolicy(),
    ...activatorPolicy(),
    ...reservedNamesPolicy(kinds, reserved),
    ...protectedFieldsPolicy(kinds),
    ...kindRulesPolicies(kinds),
    ...besidePolicies(kinds),
    ...deletionProtectionPolicy(kinds),
    ...removalPolicy(),
    ...activityPolicies(kinds),
  ]
}
