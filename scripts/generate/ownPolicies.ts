import { BACKUP_NAME_PREFIXES } from '../../src/contracts/backups.ts'
import { BUILD_NAMESPACE } from '../../src/contracts/builds/progress.ts'
import { ACTIVATOR_FIELDS, FUNCTION_ROUTE_PREFIX, KEY_DIGEST_SECRET } from '../../src/contracts/functions.ts'
import { operatorRights } from '../../src/controllers/index.ts'
import { BOUNDARY_LABEL, OWNER_KIND_LABEL, RESERVED_LABEL } from '../../src/core/labels.ts'
import { GROUP_NAMESPACE_PATTERN, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import { RESTRICTED_POD_SECURITY } from '../../src/core/namespaces.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { ServerlessFunction } from '../../src/crds/functions.ts'
import { KINDS } from '../../src/crds/index.ts'
import { KUBERNETES_NAMESPACES } from '../../src/desired/platformbackups.ts'
import { namespace, roleBinding } from '../../src/kube/builtin.ts'
import {
  ACTIVATOR_ACCOUNT,
  accountName,
  CALLER_VARIABLES,
  CONTROLLERS_ACCOUNT,
  IS_PLATFORM,
  namespaceLabel,
  policyWithBinding,
  ruleFor,
  type Validation,
} from './policy.ts'

/** Policies that limit the platform's own accounts to their purpose. */

const POD_SECURITY_LABELS = Object.entries(RESTRICTED_POD_SECURITY).filter(([key]) =>
  key.startsWith('pod-security.kubernetes.io/enforce'),
)

const podSecurityOf = (object: string) =>
  `[${POD_SECURITY_LABELS.map(([key]) => `${object}.metadata.?labels[?'${key}'].orValue('')`).join(', ')}]`
const isOurs = (object: string) => `${object}.metadata.?labels[?'${BOUNDARY_LABEL}'].orValue('') != ''`

/** Namespaces: only those of tenants, and with a Pod Security level at which pods do not reach their node. */
const NAMESPACE_VALIDATIONS = [
  {
    expression: `!variables.isPlatform || (${isOurs("(request.operation == 'DELETE' ? oldObject : object)")} && (request.operation != 'UPDATE' || ${isOurs('oldObject')} || oldObject.metadata.?labels[?'${RESERVED_LABEL}'].orValue('') != ''))`,
    message: `the platform writes and deletes only namespaces that carry the label ${BOUNDARY_LABEL}`,
    reason: 'Forbidden',
  },
  {
    // Settings of an administrator on our namespaces stay.
    expression: `!variables.isPlatform || request.operation == 'DELETE' || ${podSecurityOf('object')} == [${POD_SECURITY_LABELS.map(([, value]) => `'${value}'`).join(', ')}] || (request.operation == 'UPDATE' && ${isOurs('oldObject')} && ${podSecurityOf('object')} == ${podSecurityOf('oldObject')})`,
    message: 'the platform makes namespaces of the Pod Security level restricted, latest, and opens none',
    reason: 'Forbidden',
  },
]

const DELETED_WITH_OWNER = {
  // Deleting the namespace would delete what its group protects. An administrator who must do so removes the label
  // first.
  expression: `request.operation != 'DELETE' || variables.isPlatform || variables.isKubernetes || oldObject.metadata.?labels[?'${BOUNDARY_LABEL}'].orValue('') == ''`,
  messageExpression: `'namespace "' + oldObject.metadata.name + '" goes with its ' + oldObject.metadata.labels[?'${OWNER_KIND_LABEL}'].orValue('owner') + ': delete that. Only a namespace without the label ${BOUNDARY_LABEL} is deleted by itself'`,
  reason: 'Forbidden',
}

/** Restricts our own service accounts to namespaces with our label, even in case of a bug or a stolen token. */
export function ownAccountsPolicy(): KubeObject[] {
  return [...ownNamespacesPolicy([...NAMESPACE_VALIDATIONS, DELETED_WITH_OWNER]), ...boundAccountPolicies()]
}

/**
 * The same for the agent in another cluster, whose account has the controllers' name and nearly their rights. Local
 * administrators may delete its namespaces: their owners are elsewhere and may be gone.
 */
export function agentPolicies(): KubeObject[] {
  return [...ownNamespacesPolicy(NAMESPACE_VALIDATIONS), ...boundAccountPolicies()]
}

function ownNamespacesPolicy(validations: readonly Validation[]): KubeObject[] {
  return policyWithBinding({
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
    validations,
  })
}

function boundAccountPolicies(): KubeObject[] {
  return [
    ...policyWithBinding({
      name: 'freehold-own-bindings',
      rules: [rule('rbac.authorization.k8s.io', ['rolebindings', 'roles'])],
      variables: CALLER_VARIABLES,
      validations: [
        {
          expression: `!variables.isPlatform || ${namespaceLabel(BOUNDARY_LABEL)} != ''`,
          message: `the platform binds roles only in namespaces that carry the label ${BOUNDARY_LABEL}`,
          reason: 'Forbidden',
        },
      ],
    }),
    ...ownWorkloadsPolicy(),
    ...ownObjectsPolicy(),
    ...ownTokensPolicy(),
    ...ownBackupsPolicy(),
  ]
}

const rule = (apiGroup: string, resources: readonly string[]) => ({
  apiGroups: [apiGroup],
  apiVersions: ['*'],
  resources,
  operations: ['CREATE', 'UPDATE', 'DELETE'] as const,
  scope: 'Namespaced' as const,
})

const WORKLOADS: Readonly<Record<string, readonly string[]>> = {
  '': ['pods', 'replicationcontrollers'],
  apps: ['daemonsets', 'deployments', 'replicasets', 'statefulsets'],
  batch: ['cronjobs', 'jobs'],
}

/**
 * Anybody who may create a pod in a namespace can read every Secret and use every account there. Roles cannot express
 * which namespaces are tenants', so this policy does.
 */
function ownWorkloadsPolicy(): KubeObject[] {
  return policyWithBinding({
    name: 'freehold-own-workloads',
    rules: Object.entries(WORKLOADS).map(([group, plurals]) => rule(group, plurals)),
    // Evaluated first, so that other callers' writes cost next to nothing.
    matchConditions: [IS_PLATFORM],
    validations: [
      {
        expression: `${namespaceLabel(BOUNDARY_LABEL)} != '' || request.namespace == '${BUILD_NAMESPACE}'`,
        message: `the platform runs pods only in namespaces that carry the label ${BOUNDARY_LABEL}, and in ${BUILD_NAMESPACE}`,
        reason: 'Forbidden',
      },
    ],
  })
}

/** Objects written outside tenants' namespaces: events, Velero's objects, and base backups of any database. */
const OUTSIDE_TENANTS = ['events.k8s.io/', 'velero.io/', 'postgresql.cnpg.io/backups']
/** An annotation suspends and resumes the archive of any database; its spec must not change. */
const IS_ARCHIVE_UPDATE =
  "request.resource.resource == 'clusters' && request.operation == 'UPDATE' && object.?spec.orValue({}) == oldObject.?spec.orValue({})"
/** Routes that lead hosts of functions to the activator are in the activator's namespace. */
const ROUTE_RESOURCES = ['ingresses', 'httproutes', 'certificates']
/** Resource policies for volumes are in Velero's namespace, whatever its name. */
const IS_BACKUP_CONFIGMAP = `request.resource.resource == 'configmaps' && [${Object.values(BACKUP_NAME_PREFIXES)
  .map((stem) => `'${stem}-'`)
  .join(', ')}].exists(stem, request.name.startsWith(stem))`

/** Everything else that the roles let the controllers write in every namespace, from their declarations. */
function ownObjectsPolicy(): KubeObject[] {
  const ours = new Set(KINDS.map(({ resource }) => resource.group))
  const isBounded = ({ resource, verbs }: ReturnType<typeof operatorRights>[number]) =>
    verbs.some((verb) => ['update', 'patch', 'delete'].includes(verb)) &&
    !ours.has(resource.group) &&
    !OUTSIDE_TENANTS.some((start) => `${resource.group}/${resource.plural}`.startsWith(start)) &&
    ![namespace, roleBinding].some(({ group, plural }) => group === resource.group && plural === resource.plural) &&
    resource.plural !== 'secrets' &&
    !WORKLOADS[resource.group]?.includes(resource.plural)
  const groups = Map.groupBy(operatorRights().filter(isBounded), ({ resource }) => resource.group)
  const plurals = (rights: ReturnType<typeof operatorRights>) => [
    ...new Set(rights.map(({ resource }) => resource.plural)),
  ]
  return policyWithBinding({
    name: 'freehold-own-objects',
    rules: [...groups].sort().map(([group, rights]) => rule(group, plurals(rights).sort())),
    // Evaluated first, so that other callers' writes cost next to nothing.
    matchConditions: [IS_PLATFORM],
    validations: [
      {
        expression: `${namespaceLabel(BOUNDARY_LABEL)} != '' || request.namespace == '${BUILD_NAMESPACE}' || (request.namespace == '${SYSTEM_NAMESPACE}' && request.resource.resource in [${ROUTE_RESOURCES.map((plural) => `'${plural}'`).join(', ')}]) || (${IS_BACKUP_CONFIGMAP}) || (${IS_ARCHIVE_UPDATE})`,
        messageExpression: `'the platform writes ' + request.resource.resource + ' only in namespaces that carry the label ${BOUNDARY_LABEL}, and in ${BUILD_NAMESPACE}'`,
        reason: 'Forbidden',
      },
    ],
  })
}

/** Kubernetes writes the token of any account of the namespace into such a Secret, for anybody who may read it. */
function ownTokensPolicy(): KubeObject[] {
  return policyWithBinding({
    name: 'freehold-own-tokens',
    rules: [{ ...rule('', ['secrets']), operations: ['CREATE'] }],
    matchConditions: [
      IS_PLATFORM,
      { name: 'token', expression: "object.?type.orValue('') == 'kubernetes.io/service-account-token'" },
    ],
    validations: [
      { expression: 'false', message: 'the platform makes no tokens of service accounts', reason: 'Forbidden' },
    ],
  })
}

/**
 * Velero runs commands of backups in every pod that they select, and copies every Secret, with rights over the whole
 * cluster. Backups by the platform may run commands only in tenants' own pods, and exclude Kubernetes' namespaces.
 */
function ownBackupsPolicy(): KubeObject[] {
  const ofGroups = (list: string) => `(size(${list}) > 0 && ${list}.all(n, n.matches('${GROUP_NAMESPACE_PATTERN}')))`
  const kubernetes = `[${KUBERNETES_NAMESPACES.map((name) => `'${name}'`).join(', ')}]`
  return policyWithBinding({
    name: 'freehold-own-backups',
    rules: [{ ...rule('velero.io', ['backups', 'schedules']), operations: ['CREATE', 'UPDATE'] }],
    matchConditions: [IS_PLATFORM],
    variables: [
      {
        name: 'what',
        expression: "request.resource.resource == 'schedules' ? dyn(object).spec.template : dyn(object).spec",
      },
      { name: 'spaces', expression: 'variables.what.?includedNamespaces.orValue([])' },
    ],
    validations: [
      {
        expression: `variables.what.?hooks.?resources.orValue([]).all(h, ${ofGroups('h.?includedNamespaces.orValue([])')})`,
        message: 'backups of the platform run commands only in namespaces of resource groups, each named',
        reason: 'Forbidden',
      },
      {
        expression: `${ofGroups('variables.spaces')} || ${kubernetes}.all(n, n in variables.what.?excludedNamespaces.orValue([]))`,
        message: `backups of the platform leave out ${KUBERNETES_NAMESPACES.join(', ')}`,
        reason: 'Forbidden',
      },
    ],
  })
}

/** cert-manager annotates each Secret that it maintains with the name of its certificate. */
const IS_CERTIFICATE_SECRET = `request.operation == 'DELETE' && oldObject.metadata.name.startsWith('${FUNCTION_ROUTE_PREFIX}') && oldObject.metadata.?annotations[?'cert-manager.io/certificate-name'].orValue('') == oldObject.metadata.name`

/**
 * The platform's own namespace contains the signing keys and the secrets of service accounts. The controllers may
 * create and delete only Secrets of managed identities there, and read none. In addition they create, once, the Secret
 * for digests of function keys, and delete Secrets that cert-manager kept for custom domains of functions: RBAC cannot
 * restrict that by name.
 */
export function ownSecretsPolicy(): KubeObject[] {
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
    // Writes of Secrets elsewhere are not evaluated and do not depend on this policy. The API server itself sets the
    // label.
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': SYSTEM_NAMESPACE } },
    validations: [
      {
        expression: `request.userInfo.username != '${accountName(CONTROLLERS_ACCOUNT)}' || (request.operation == 'DELETE' ? oldObject : object).metadata.?labels[?'${OWNER_KIND_LABEL}'].orValue('') == 'ManagedIdentity' || (request.operation == 'CREATE' && object.metadata.name == '${KEY_DIGEST_SECRET}') || (${IS_CERTIFICATE_SECRET})`,
        message: `the controllers write only Secrets of managed identities in ${SYSTEM_NAMESPACE}, make ${KEY_DIGEST_SECRET}, and delete certificates of function namespaces`,
        reason: 'Forbidden',
      },
    ],
  })
}

/**
 * The agents' port learns from stored functions which pod ports to open for the activator. The activator parses calls
 * of strangers, and so must not write this information itself.
 */
export function activatorPolicy(): KubeObject[] {
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
