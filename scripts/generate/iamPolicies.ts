import { parseTemplateDocument } from '../../src/contracts/blueprints/document.ts'
import {
  type ActionPlane,
  knownPatterns,
  OPEN_PATTERN,
  PLANE_OF_LIST,
  unmatchedPatternMessage,
} from '../../src/core/actionPatterns.ts'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { WEBHOOK_CONFIGURATION, WEBHOOK_NAME, WEBHOOK_SERVICE } from '../../src/core/webhook.ts'
import { BlueprintTemplate } from '../../src/crds/blueprints.ts'
import { DEFAULT_BLUEPRINTS } from '../../src/crds/defaultBlueprints.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import {
  BoundaryTrust,
  DenyAssignment,
  JitRequest,
  PrincipalGroup,
  RoleAssignment,
  RoleDefinition,
} from '../../src/crds/rbac.ts'
import { GRANT_REFUSALS } from '../../src/iam/granting.ts'
import { LENDABLE, NOT_LENDABLE } from '../../src/iam/lendable.ts'
import { BUILT_IN_ROLES } from '../../src/iam/roles.ts'
import { CALLER_VARIABLES, IS_ADMINISTRATOR, NOT_OURS, negated, policyWithBinding, ruleFor } from './policy.ts'

/** Kinds that tenants may write within their assignments, admitted by the rules of REST; all other kinds are closed. */
const OPEN_IAM_KINDS: readonly AnyKind[] = [
  RoleAssignment,
  DenyAssignment,
  PrincipalGroup,
  RoleDefinition,
  JitRequest,
  BoundaryTrust,
]
const pluralsOf = (kinds: readonly AnyKind[]) => kinds.map(({ resource }) => `'${resource.plural}'`).join(', ')

/** Kinds that carry secrets or belong to the machinery, and such parts of others: only administrators write them. */
export function closedIamPolicy(kinds: readonly AnyKind[]): KubeObject[] {
  const iam = kinds.filter((kind) => kind.group === 'iam')
  const isAtRoot = `request.namespace == '${SYSTEM_NAMESPACE}'`
  const among = (list: readonly AnyKind[]) => `(request.resource.resource in [${pluralsOf(list)}])`
  return policyWithBinding({
    name: 'freehold-iam-writers',
    rules: [ruleFor(iam, ['CREATE', 'UPDATE', 'DELETE'])],
    matchConditions: NOT_OURS,
    variables: CALLER_VARIABLES,
    validations: [
      {
        expression: `variables.isAdministrator || ${among(OPEN_IAM_KINDS)}`,
        messageExpression: `request.kind.kind + ' objects are written through the REST API; ask an administrator of the cluster for anything else'`,
        reason: 'Forbidden',
      },
      {
        expression: `variables.isAdministrator || !(${isAtRoot} && ${among([PrincipalGroup, DenyAssignment])})`,
        messageExpression: `request.kind.kind + ' objects of the platform are written by administrators of the cluster'`,
        reason: 'Forbidden',
      },
    ],
  })
}

/**
 * Nobody can grant a role that they do not hold. The policy asks the authorizers, with the virtual verb `grant` on the
 * role in the namespace of the boundary. The webhook decides about scopes below the boundary, and about who receives
 * the role.
 */
export function grantPolicy(): KubeObject[] {
  const { group } = RoleDefinition.resource
  const mayGrant = 'variables.isAdministrator || !variables.isAtPlace || variables.grant.allowed()'
  const check = `authorizer.group('${group}').resource('${RoleDefinition.plural}').namespace(request.namespace).name(object.spec.roleDefinitionName).check('grant')`
  return policyWithBinding({
    name: 'freehold-iam-grants',
    rules: [ruleFor([RoleAssignment], ['CREATE'])],
    matchConditions: NOT_OURS,
    variables: [
      ...CALLER_VARIABLES,
      { name: 'isAtPlace', expression: "object.spec.scope.matches('^/(boundaries/[^/]+)?$')" },
      { name: 'grant', expression: check },
    ],
    // A message expression cannot ask authorizers, so there is a validation for each of their answers.
    validations: [
      ...[GRANT_REFUSALS.unknown(ROLE), GRANT_REFUSALS.rootOnly(ROLE, SCOPE), GRANT_REFUSALS.notYoursAtRoot(ROLE)].map(
        (words) => ({
          expression: `${mayGrant} || !variables.grant.reason().startsWith(${celMessage(words)})`,
          messageExpression: celMessage(words),
          reason: 'Forbidden',
        }),
      ),
      {
        expression: mayGrant,
        messageExpression: celMessage(GRANT_REFUSALS.exceeding(ROLE, SCOPE)),
        reason: 'Forbidden',
      },
    ],
  })
}

/**
 * Patterns that match nothing are refused even to administrators: a deny with a typing error would protect nothing, and
 * nobody would notice.
 */
export function patternPolicy(): KubeObject[] {
  const kinds = [RoleDefinition, DenyAssignment]
  const lists = Object.entries(PLANE_OF_LIST)
  const wrong = (list: string) => `wrong_${list}`
  const covers = (nature: ActionPlane) =>
    `p in variables.${nature}${nature === 'control' ? ` || p.matches(${celMessage(OPEN_PATTERN)})` : ''}`
  const inList = (nature: ActionPlane) => `[${knownPatterns(nature).map(celMessage).join(', ')}]`
  return policyWithBinding({
    name: 'freehold-action-patterns',
    rules: [ruleFor(kinds, ['CREATE', 'UPDATE'])],
    variables: [
      { name: 'control', expression: inList('control') },
      { name: 'data', expression: inList('data') },
      ...lists.map(([list, nature]) => ({
        name: wrong(list),
        expression: `object.spec.?${list}.orValue([]).filter(p, !(${covers(nature)}))`,
      })),
    ],
    validations: lists.map(([list, nature]) => ({
      expression: `size(variables.${wrong(list)}) == 0`,
      messageExpression: `'${list} "' + variables.${wrong(list)}[0] + '" ${unmatchedPatternMessage(nature)}'`,
      reason: 'Invalid',
    })),
  })
}

/**
 * Names of built-in roles are reserved, even for administrators: another role with such a name would grant nothing, and
 * nobody would notice. Existing objects stay editable.
 */
export function roleNamePolicy(): KubeObject[] {
  const names = BUILT_IN_ROLES.map(({ name, displayName }) => `${celMessage(name)}: ${celMessage(displayName)}`)
  const isOwn = 'variables.builtIn[object.metadata.name] == object.spec.displayName'
  const isFree = '!variables.builtIn.exists(n, variables.builtIn[n] == object.spec.displayName)'
  const isKept = "request.operation == 'UPDATE' && oldObject.spec.displayName == object.spec.displayName"
  return policyWithBinding({
    name: 'freehold-role-names',
    rules: [ruleFor([RoleDefinition], ['CREATE', 'UPDATE'])],
    variables: [{ name: 'builtIn', expression: `{${names.join(', ')}}` }],
    validations: [
      {
        expression: `(${isKept}) || (object.metadata.name in variables.builtIn ? ${isOwn} : ${isFree})`,
        messageExpression: `object.metadata.name in variables.builtIn ? 'There is already a role object "' + object.metadata.name + '". It is built in: choose another metadata.name' : 'There is already a role "' + object.spec.displayName + '". It is built in: choose another displayName'`,
        reason: 'Invalid',
      },
    ],
  })
}

export const SEEDED = 'is as this release of the platform defines it: make one of your own under another name'

/**
 * The release defines built-in roles and the platform's own templates, and the leader writes them at startup. An
 * administrator's edit would be shown or even deployed until then, and be reverted silently. Deleted ones come back in
 * the same way.
 */
export function seededPolicy(): KubeObject[] {
  const named = (names: readonly string[]) => `(request.name in [${names.map(celMessage).join(', ')}])`
  const slugs = DEFAULT_BLUEPRINTS.map((content) => (parseTemplateDocument(content).value as { slug: string }).slug)
  const isRole = `request.resource.resource == '${RoleDefinition.plural}' && ${named(BUILT_IN_ROLES.map(({ name }) => name))}`
  const isTemplate = `request.resource.resource == '${BlueprintTemplate.plural}' && request.namespace == '${SYSTEM_NAMESPACE}' && ${named(slugs)}`
  return policyWithBinding({
    name: 'freehold-seeded',
    rules: [ruleFor([RoleDefinition, BlueprintTemplate], ['UPDATE'])],
    matchConditions: NOT_OURS,
    validations: [
      {
        expression: `object.spec == oldObject.spec || !((${isRole}) || (${isTemplate}))`,
        messageExpression: `'the ' + request.kind.kind + ' "' + request.name + '" ${SEEDED}'`,
        reason: 'Forbidden',
      },
    ],
  })
}

/**
 * A trust contains exact actions only, even if an administrator writes it: patterns would have no effect, contrary to
 * what they suggest.
 */
export function trustPolicy(): KubeObject[] {
  return policyWithBinding({
    name: 'freehold-trust-actions',
    rules: [ruleFor([BoundaryTrust], ['CREATE', 'UPDATE'])],
    variables: [
      { name: 'lendable', expression: `[${[...LENDABLE].sort().map(celMessage).join(', ')}]` },
      { name: 'wrong', expression: 'object.spec.actions.filter(a, !(a in variables.lendable))' },
    ],
    validations: [
      {
        expression: 'size(variables.wrong) == 0',
        messageExpression: `'actions "' + variables.wrong[0] + '" ${NOT_LENDABLE}'`,
        reason: 'Invalid',
      },
    ],
  })
}

/** Where messages of refusals name parts of the object. */
const ROLE = '{role}'
const SCOPE = '{scope}'

function celMessage(words: string): string {
  const fields: Record<string, string> = {
    [ROLE]: 'object.spec.roleDefinitionName',
    [SCOPE]: 'object.spec.scope',
  }
  const parts = words.split(/(\{role\}|\{scope\})/)
  return parts.map((part) => fields[part] ?? `'${part.replaceAll("'", "\\'")}'`).join(' + ')
}

/** The webhook by which the API server asks the facade about every write of access control by a tenant. */
export function iamWebhook(): KubeObject {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: {
      name: WEBHOOK_CONFIGURATION,
      labels: { 'app.kubernetes.io/part-of': 'freehold', 'app.kubernetes.io/component': 'admission' },
    },
    webhooks: [
      {
        name: WEBHOOK_NAME,
        admissionReviewVersions: ['v1'],
        // A turn lasts until the write shows, so dry runs take none.
        sideEffects: 'NoneOnDryRun',
        // Closed while no facade answers, and until one has written its authority and path in here.
        failurePolicy: 'Fail',
        matchPolicy: 'Equivalent',
        timeoutSeconds: 5,
        clientConfig: { service: { ...WEBHOOK_SERVICE, port: 443 } },
        rules: [ruleFor(OPEN_IAM_KINDS, ['CREATE', 'UPDATE', 'DELETE'])],
        // Callers who repair the platform must not depend on it: they are exempt.
        matchConditions: [...NOT_OURS, negated(IS_ADMINISTRATOR)],
      },
    ],
  } as KubeObject
}
