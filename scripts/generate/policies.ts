import type { z } from 'zod'
import { ACTIVATOR_FIELDS, DIGEST_SECRET } from '../../src/contracts/functions.ts'
import {
  BOUNDARY_LABEL,
  GROUP_LABEL,
  LEAVING_LABEL,
  OWNER_KIND_LABEL,
  PREFIX,
  RESERVED_LABEL,
} from '../../src/core/labels.ts'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { type AdmissionRule, type AnyKind, atOwner, type Placement } from '../../src/crds/define.ts'
import { ServerlessFunction } from '../../src/crds/functions.ts'
import { REFERENCE_VARIABLES } from '../../src/crds/referenceAdmission.ts'
import { closedIamPolicy, grantPolicy, patternPolicy, trustPolicy } from './iamPolicies.ts'
import { metadataPolicy } from './metadataPolicy.ts'
import {
  ACTIVATOR_ACCOUNT,
  accountName,
  CALLER_VARIABLES,
  CONTROLLERS_ACCOUNT,
  policyWithBinding,
  ruleFor,
} from './policy.ts'

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
    message: 'stands only in the namespace of a resource group',
  },
}

const label = (name: string) => `namespaceObject.metadata.?labels[?'${name}'].orValue('')`

/** Admits each namespaced kind only where its placement says; the same for kubectl, Git and REST. */
function placementPolicy(kinds: readonly AnyKind[]): KubeObject[] {
  const namespaced = kinds.filter((kind) => kind.placement !== 'cluster')
  const validations = Object.entries(PLACEMENT_RULES).flatMap(([placement, rule]) => {
    const here = namespaced.filter((kind) => kind.placement === placement)
    if (here.length === 0) return []
    const names = here.map((kind) => `'${kind.resource.plural}'`).join(', ')
    return [
      {
        expression: `!(request.resource.resource in [${names}]) || (${rule.test})`,
        messageExpression: `'a ' + request.kind.kind + ' ${rule.message.replaceAll("'", "\\'")}; "' + request.namespace + '" is none'`,
        reason: 'Invalid',
      },
    ]
  })
  return policyWithBinding({
    name: 'freehold-placement',
    rules: [ruleFor(namespaced, ['CREATE'])],
    variables: [
      ...CALLER_VARIABLES,
      { name: 'boundary', expression: label(BOUNDARY_LABEL) },
      { name: 'group', expression: label(GROUP_LABEL) },
      { name: 'reservedFor', expression: label(RESERVED_LABEL) },
    ],
    validations: [
      ...validations,
      {
        expression: `variables.isPlatform || variables.isKubernetes || ${label(LEAVING_LABEL)} == ''`,
        messageExpression: `'namespace "' + request.namespace + '" belongs to what is being deleted: nothing new is placed in it'`,
        reason: 'Forbidden',
      },
    ],
  })
}

const ours = (map: string) => `(has(${map}) ? ${map} : {})`

/** True when nothing whose key begins with our prefix was added, changed or removed. */
function unchanged(field: 'labels' | 'annotations'): string {
  const [next, old] = [ours(`object.metadata.${field}`), ours(`oldObject.metadata.${field}`)]
  const mine = (key: string) => `!${key}.startsWith('${PREFIX}')`
  return [
    `(request.operation == 'CREATE' ? ${next}.all(k, ${mine('k')}) :`,
    `${next}.all(k, ${mine('k')} || (k in ${old} && ${old}[k] == ${next}[k])) && ${old}.all(k, ${mine('k')} || k in ${next}))`,
  ].join(' ')
}

const OWNER_TEST = `o.apiVersion.startsWith('${PREFIX}') || o.apiVersion.contains('.${PREFIX}')`

/**
 * Our labels and annotations, and owner references to our kinds, are written by us alone: they decide what the
 * controllers adopt, prune and show. Whoever could forge them could have an object of theirs taken for ours.
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
  // Here stand records of ours that tenants write beside others' objects, of which we say nothing.
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
      matchConditions: [
        {
          name: 'not-kubernetes',
          expression:
            "!request.userInfo.username.startsWith('system:serviceaccount:kube-system:') && request.userInfo.username != 'system:kube-controller-manager'",
        },
      ],
      variables: CALLER_VARIABLES,
      validations: [
        {
          expression: `variables.isExempt || (${unchanged('labels')} && ${unchanged('annotations')})`,
          message: `labels and annotations that begin with ${PREFIX} are written by the platform only`,
          reason: 'Forbidden',
        },
        {
          expression: `variables.isExempt || !has(object.metadata.ownerReferences) || object.metadata.ownerReferences.all(o, !(${OWNER_TEST}) || (request.operation == 'UPDATE' && has(oldObject.metadata.ownerReferences) && oldObject.metadata.ownerReferences.exists(p, p.uid == o.uid)))`,
          message: 'an owner reference to an object of the platform is written by the platform only',
          reason: 'Forbidden',
        },
        {
          // Without it a resource would be gone before its controller has torn down what belongs to it.
          expression: `variables.isExempt || request.operation == 'CREATE' || oldObject.metadata.?finalizers.orValue([]).all(f, !f.startsWith('${PREFIX}') || f in object.metadata.?finalizers.orValue([]))`,
          message: `finalizers that begin with ${PREFIX} are taken off by the platform only`,
          reason: 'Forbidden',
        },
      ],
    }),
  )
}

/** Holds our own service accounts to the namespaces that carry our label, whatever a bug or a stolen token asks for. */
function ownAccountsPolicy(): KubeObject[] {
  return [
    ...policyWithBinding({
      name: 'freehold-own-namespaces',
      rules: [
        {
          apiGroups: [''],
          apiVersions: ['v1'],
          resources: ['namespaces'],
          operations: ['CREATE', 'UPDATE', 'DELETE'],
          scope: '*',
        },
      ],
      variables: CALLER_VARIABLES,
      validations: [
        {
          expression: `!variables.isPlatform || ((request.operation == 'DELETE' ? oldObject : object).metadata.?labels[?'${BOUNDARY_LABEL}'].orValue('') != '' && (request.operation != 'UPDATE' || oldObject.metadata.?labels[?'${BOUNDARY_LABEL}'].orValue('') != '' || oldObject.metadata.?labels[?'${RESERVED_LABEL}'].orValue('') != ''))`,
          message: `the platform writes and deletes only namespaces that carry the label ${BOUNDARY_LABEL}`,
          reason: 'Forbidden',
        },
        {
          // With it would go, unasked, what its group protects. An administrator who must takes the label off first.
          expression: `request.operation != 'DELETE' || variables.isPlatform || variables.isKubernetes || oldObject.metadata.?labels[?'${BOUNDARY_LABEL}'].orValue('') == ''`,
          messageExpression: `'namespace "' + oldObject.metadata.name + '" goes with its ' + oldObject.metadata.labels[?'${OWNER_KIND_LABEL}'].orValue('owner') + ': delete that. Only a namespace without the label ${BOUNDARY_LABEL} is deleted by itself'`,
          reason: 'Forbidden',
        },
      ],
    }),
    ...policyWithBinding({
      name: 'freehold-own-bindings',
      rules: [
        {
          apiGroups: ['rbac.authorization.k8s.io'],
          apiVersions: ['*'],
          resources: ['rolebindings', 'roles'],
          operations: ['CREATE', 'UPDATE', 'DELETE'],
          scope: 'Namespaced',
        },
      ],
      variables: CALLER_VARIABLES,
      validations: [
        {
          expression: `!variables.isPlatform || ${label(BOUNDARY_LABEL)} != ''`,
          message: `the platform binds roles only in namespaces that carry the label ${BOUNDARY_LABEL}`,
          reason: 'Forbidden',
        },
      ],
    }),
  ]
}

/**
 * In the platform's own namespace stand the signing keys and the secrets of service accounts. The controllers may make
 * and delete there only what they made for managed identities, and can read none of it. Beside that they make, once,
 * what keys of functions are digested with: no role can confine making to a name.
 */
function ownSecretsPolicy(): KubeObject[] {
  return policyWithBinding({
    name: 'freehold-own-secrets',
    rules: [
      {
        apiGroups: [''],
        apiVersions: ['v1'],
        resources: ['secrets'],
        operations: ['CREATE', 'UPDATE', 'DELETE'],
        scope: 'Namespaced',
      },
    ],
    validations: [
      {
        expression: `request.namespace != '${SYSTEM_NAMESPACE}' || request.userInfo.username != '${accountName(CONTROLLERS_ACCOUNT)}' || (request.operation == 'DELETE' ? oldObject : object).metadata.?labels[?'${OWNER_KIND_LABEL}'].orValue('') == 'ManagedIdentity' || (request.operation == 'CREATE' && object.metadata.name == '${DIGEST_SECRET}')`,
        message: `the controllers write only Secrets of managed identities in ${SYSTEM_NAMESPACE}, and make ${DIGEST_SECRET}`,
        reason: 'Forbidden',
      },
    ],
  })
}

/**
 * What is stored of a function tells the gate of agents which ports of pods to open for the activator. It parses calls of
 * strangers, and so may not say it itself.
 */
function activatorPolicy(): KubeObject[] {
  const own = `k in [${ACTIVATOR_FIELDS.map((field) => `'${field}'`).join(', ')}]`
  return policyWithBinding({
    name: 'freehold-activator',
    rules: [
      { ...ruleFor([ServerlessFunction], ['UPDATE']), resources: [`${ServerlessFunction.resource.plural}/status`] },
    ],
    matchConditions: [
      { name: 'activator', expression: `request.userInfo.username == '${accountName(ACTIVATOR_ACCOUNT)}'` },
    ],
    variables: [
      { name: 'next', expression: 'object.?status.orValue({})' },
      { name: 'before', expression: 'oldObject.?status.orValue({})' },
    ],
    validations: [
      {
        expression: `variables.next.all(k, ${own} || (k in variables.before && variables.before[k] == variables.next[k])) && variables.before.all(k, ${own} || k in variables.next)`,
        message: `the activator writes only ${ACTIVATOR_FIELDS.join(', ')} of the status of a function`,
        reason: 'Forbidden',
      },
    ],
  })
}

/** Names that the REST paths need for themselves cannot be given to resources, by kubectl either. */
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

/**
 * Fields for which the right to write is not enough, neither at creation nor later. Whether the caller holds the virtual verb that is needed
 * is asked of the same authorizers as the request itself.
 */
function protectedFieldsPolicy(kinds: readonly AnyKind[]): KubeObject[] {
  const guarded = kinds.filter(({ protectedFields }) => protectedFields !== undefined)
  const validations = guarded.flatMap(({ resource, kind, protectedFields, spec }) =>
    Object.entries(protectedFields ?? {}).map(([field, verb]) => {
      const absent = (spec.shape[field] as z.ZodType).safeParse(undefined).data ?? null
      const value = (object: string) => `${object}.?spec[?'${field}'].orValue(null)`
      const place = resource.namespaced ? '.namespace(request.namespace)' : ''
      const holder = `authorizer.group('${resource.group}').resource('${resource.plural}')${place}.name(request.name).check('${verb}').allowed()`
      const whoMay = verb === 'administrators' ? 'an administrator of the platform' : `a holder of the verb ${verb}`
      return {
        expression: [
          `request.resource.resource != '${resource.plural}'`,
          'variables.isExempt',
          `${value('object')} == (request.operation == 'CREATE' ? dyn(${JSON.stringify(absent)}) : ${value('oldObject')})`,
          ...(verb === 'administrators' ? [] : [holder]),
        ].join(' || '),
        message: `the ${field} of a ${kind} is written by ${whoMay} only`,
        reason: 'Forbidden',
      }
    }),
  )
  return policyWithBinding({
    name: 'freehold-protected-fields',
    rules: [ruleFor(guarded, ['CREATE', 'UPDATE'])],
    variables: CALLER_VARIABLES,
    validations,
  })
}

/** Who makes a part of a resource, which its name does not tell, needs a right at that resource. */
function partRules({ kind, partOf }: AnyKind, kinds: readonly AnyKind[]): AdmissionRule[] {
  if (partOf === undefined || !('field' in partOf)) return []
  const { collection, field, verb } = partOf
  const owner = kinds.find(({ segment }) => segment === collection)
  if (owner === undefined) throw new Error(`${kind} is a part of "${collection}", which no kind is.`)
  const message = `a ${kind} is made by a holder of the verb ${verb} on the ${owner.kind} that ${field} names only`
  return [atOwner(owner.resource, field, verb, message)]
}

/** What kinds say about their own writes and deletions that no schema can. */
function kindRulesPolicies(kinds: readonly AnyKind[]): KubeObject[] {
  const rulesOf = (kind: AnyKind) => [...(kind.admission ?? []), ...partRules(kind, kinds)]
  const written = kinds.filter((kind) => rulesOf(kind).some(({ on }) => on !== 'DELETE'))
  const deleted = kinds.filter((kind) => rulesOf(kind).some(({ on }) => on === 'DELETE'))
  const validations = (here: readonly AnyKind[], isDeletion: boolean) =>
    here.flatMap((kind) =>
      rulesOf(kind)
        .filter(({ on }) => (on === 'DELETE') === isDeletion)
        .map(({ on, cel, message, messageCel }) => {
          const skips = [`request.resource.resource != '${kind.resource.plural}'`]
          if (on === 'CREATE') skips.push("request.operation != 'CREATE'")
          if (isDeletion) skips.push('variables.isKubernetes')
          const words = messageCel === undefined ? { message } : { message, messageExpression: messageCel }
          return { expression: [...skips, `(${cel})`].join(' || '), ...words, reason: 'Forbidden' }
        }),
    )
  const policy = (name: string, here: readonly AnyKind[], operations: string[], isDeletion: boolean) =>
    here.length === 0
      ? []
      : policyWithBinding({
          name,
          rules: [ruleFor(here, operations)],
          variables: isDeletion ? CALLER_VARIABLES : [...CALLER_VARIABLES, ...REFERENCE_VARIABLES],
          validations: validations(here, isDeletion),
        })
  return [
    ...policy('freehold-kind-writes', written, ['CREATE', 'UPDATE'], false),
    ...policy('freehold-kind-deletions', deleted, ['DELETE'], true),
  ]
}

/**
 * What is protected stays until the protection is taken away, whoever asks (REST: DELETION_PROTECTED). The controllers
 * and the parts of Kubernetes that clean up are exempt: a group that goes was asked for its protected things before.
 */
function deletionProtectionPolicy(kinds: readonly AnyKind[]): KubeObject[] {
  const guarded = kinds.filter(({ spec }) => 'deletionProtection' in spec.shape)
  return policyWithBinding({
    name: 'freehold-deletion-protection',
    rules: [ruleFor(guarded, ['DELETE'])],
    variables: CALLER_VARIABLES,
    validations: [
      {
        expression:
          'variables.isPlatform || variables.isKubernetes || !oldObject.?spec.?deletionProtection.orValue(false)',
        messageExpression: `'"' + oldObject.metadata.name + '" is protected from deletion: set deletionProtection to false first'`,
        reason: 'Forbidden',
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
    ...trustPolicy(),
    ...metadataPolicy(kinds),
    ...protectedMetadataPolicy(kinds),
    ...ownAccountsPolicy(),
    ...ownSecretsPolicy(),
    ...activatorPolicy(),
    ...reservedNamesPolicy(kinds, reserved),
    ...protectedFieldsPolicy(kinds),
    ...kindRulesPolicies(kinds),
    ...deletionProtectionPolicy(kinds),
  ]
}
