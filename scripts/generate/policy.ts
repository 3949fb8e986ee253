import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import type { AnyKind } from '../../src/crds/define.ts'

/** Names that the policies know callers by. */
export const CONTROLLERS_ACCOUNT = 'freehold-controllers'
export const FACADE_ACCOUNT = 'freehold-facade'
export const ACTIVATOR_ACCOUNT = 'freehold-activator'

export const accountName = (account: string) => `system:serviceaccount:${SYSTEM_NAMESPACE}:${account}`

export const IS_PLATFORM: Variable = {
  name: 'isPlatform',
  expression: `request.userInfo.username in ['${accountName(CONTROLLERS_ACCOUNT)}', '${accountName(FACADE_ACCOUNT)}']`,
}

export const IS_KUBERNETES: Variable = {
  // The namespace controller, the garbage collector and the workload controllers; exempt, or a namespace would stay in Terminating.
  name: 'isKubernetes',
  expression: `request.userInfo.username == 'system:kube-controller-manager' || request.userInfo.username.startsWith('system:serviceaccount:kube-system:')`,
}

export const IS_ADMINISTRATOR: Variable = {
  name: 'isAdministrator',
  expression: `('system:masters' in request.userInfo.?groups.orValue([])) || authorizer.group('*').resource('*').check('*').allowed()`,
}

export const negated = ({ name, expression }: Variable) => ({
  name: name.replace(/^is/, 'not-').toLowerCase(),
  expression: `!(${expression})`,
})

/** Of what the platform and Kubernetes are exempt from, no rule is evaluated for them, as most writes are theirs. */
export const NOT_OURS = [IS_PLATFORM, IS_KUBERNETES].map(negated)

/** Who writes: ours, a cluster administrator, or the parts of Kubernetes that clean up and stamp out children. */
export const CALLER_VARIABLES: Variable[] = [
  IS_PLATFORM,
  IS_ADMINISTRATOR,
  IS_KUBERNETES,
  { name: 'isExempt', expression: 'variables.isPlatform || variables.isKubernetes || variables.isAdministrator' },
]

/** An expression of CEL with the name by which others use it. */
type Variable = { name: string; expression: string }

type Policy = {
  name: string
  rules: object[]
  operations?: never
  matchConditions?: Variable[]
  namespaceSelector?: object
  /** Each object of the kind is looked at beside the one that is written. */
  paramKind?: { apiVersion: string; kind: string }
  /** What becomes of a request that cannot be judged; it is refused. */
  failurePolicy?: 'Ignore'
  variables?: Variable[]
  validations?: { expression: string; message?: string; messageExpression?: string; reason?: string }[]
  /** What the audit log is told. A policy with nothing else refuses nothing, whatever becomes of it. */
  auditAnnotations?: { key: string; valueExpression: string }[]
}

export function policyWithBinding(policy: Policy): KubeObject[] {
  const labels = { 'app.kubernetes.io/part-of': 'freehold', 'app.kubernetes.io/component': 'admission' }
  return [
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: policy.name, labels },
      spec: {
        failurePolicy: policy.validations === undefined ? 'Ignore' : (policy.failurePolicy ?? 'Fail'),
        ...(policy.paramKind === undefined ? {} : { paramKind: policy.paramKind }),
        matchConstraints: {
          resourceRules: policy.rules,
          ...(policy.namespaceSelector === undefined ? {} : { namespaceSelector: policy.namespaceSelector }),
        },
        ...(policy.matchConditions === undefined ? {} : { matchConditions: policy.matchConditions }),
        variables: usedVariables(policy),
        ...(policy.validations === undefined ? {} : { validations: policy.validations }),
        ...(policy.auditAnnotations === undefined ? {} : { auditAnnotations: policy.auditAnnotations }),
      },
    },
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: policy.name, labels },
      spec: {
        policyName: policy.name,
        ...(policy.paramKind === undefined ? {} : { paramRef: { selector: {}, parameterNotFoundAction: 'Allow' } }),
        validationActions: ['Deny'],
      },
    },
  ]
}

/** Those that are used, in order: the API server compiles all that a policy has. */
function usedVariables({ variables = [], ...rest }: Policy): Variable[] {
  const used: Variable[] = []
  for (const variable of variables.toReversed())
    if (JSON.stringify([rest, used]).includes(`variables.${variable.name}`)) used.unshift(variable)
  return used
}

export const ruleFor = (kinds: readonly AnyKind[], operations: string[]) => ({
  apiGroups: [...new Set(kinds.map((kind) => kind.resource.group))],
  apiVersions: ['*'],
  resources: [...new Set(kinds.map((kind) => kind.resource.plural))],
  operations,
  scope: '*',
})

/** The label of the namespace that an object is in, in CEL; empty if it has none. */
export const namespaceLabel = (name: string) => `namespaceObject.metadata.?labels[?'${name}'].orValue('')`
