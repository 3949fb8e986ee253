import { z } from 'zod'
import { type ActionPlane, coversAnyAction, unmatchedPatternMessage } from '../core/actionPatterns.ts'
import { MAX_ACTION_LENGTH } from '../core/actions.ts'
import { defineKind, type ObjectOf, READ_VERBS, resourceStatus, statusWith, WRITE_VERBS } from './define.ts'
import {
  DateTime,
  Description,
  DisplayName,
  integerBetween,
  Off,
  PlainText,
  PrincipalType,
  Scope,
  ShownProse,
  StoredDisplayName,
  Uuid,
} from './fields.ts'

const ActionPattern = PlainText.min(1).max(MAX_ACTION_LENGTH)

/** Names or patterns that cover some action. They are too many for a CRD, so an admission policy checks them too. */
function actionPatterns(nature: ActionPlane) {
  const known = ActionPattern.refine((text) => coversAnyAction(text, nature), unmatchedPatternMessage(nature))
  return z.array(known).max(200)
}
const ActionPatterns = actionPatterns('control')
const DataActionPatterns = actionPatterns('data')

const ScopeIncarnation = PlainText.max(64)
  .optional()
  .describe(
    'Incarnation of the object at the scope, so that a recreated one inherits nothing; the current one when absent; immutable',
  )

/** A trust without one applies to every incarnation: the controller does not fill it in. */
const BoundaryIncarnation = ScopeIncarnation.unwrap()
  .optional()
  .describe('Incarnation of that boundary, so that a recreated one inherits nothing; any when absent; immutable')

const ExpiresAt = DateTime.optional().describe('When it expires and is deleted; never when absent')

/** What a role allows. Built-in ones are installed with the platform. */
export const RoleDefinition = defineKind({
  group: 'iam',
  kind: 'RoleDefinition',
  // Whether a caller may give the role is checked as the virtual verb `grant`, in the namespace of the boundary.
  forms: { 'rbac/members/admin': WRITE_VERBS },
  open: READ_VERBS,
  restNaming: { collection: 'roleDefinitions', by: 'displayName' },
  shortNames: ['rdef'],
  placement: 'cluster',
  area: 'rbac',
  description: 'A named set of actions. Grants nothing until assigned.',
  spec: z.strictObject({
    displayName: DisplayName.describe('The roleDefinitionName in assignments, matched exactly'),
    description: Description.default(''),
    actions: ActionPatterns.default([]).describe('Actions that the role gives, by name or pattern, such as `apps/*`'),
    notActions: ActionPatterns.default([]).describe('Actions to exclude from actions; other roles may still give them'),
    dataActions: DataActionPatterns.default([]).describe(
      'Actions on contents (secrets, logs, files) that the role gives, by name or pattern',
    ),
    notDataActions: DataActionPatterns.default([]).describe(
      'Actions to exclude from dataActions; other roles may still give them',
    ),
    assignableScopes: z
      .array(z.enum(['/', '/boundaries/*']))
      .min(1)
      .max(2)
      .describe('Where the role may be given: `/` at the root, `/boundaries/*` at boundaries and everything in them'),
    isBuiltIn: Off.describe('True for roles that come with the platform, which nobody can change; immutable'),
  }),
  status: resourceStatus,
  immutable: ['isBuiltIn'],
  columns: [
    { name: 'Display Name', path: '.spec.displayName' },
    { name: 'Built In', path: '.spec.isBuiltIn', type: 'boolean' },
    { name: 'Ready', path: '.status.conditions[?(@.type=="Ready")].status' },
  ],
})
export type RoleDefinition = ObjectOf<typeof RoleDefinition>

/** Gives a principal a role at a scope of the boundary that it is in; those at the root are in freehold-system. */
export const RoleAssignment = defineKind({
  group: 'iam',
  kind: 'RoleAssignment',
  forms: { 'rbac/members/read': READ_VERBS, 'boundaries/members/manage': WRITE_VERBS },
  platformForms: { 'rbac/members/read': READ_VERBS, 'rbac/members/admin': WRITE_VERBS },
  restNaming: { collection: 'roleAssignments' },
  shortNames: ['rasg'],
  placement: 'boundaryOrPlatform',
  name: 'free',
  area: 'rbac',
  description: 'Gives a principal a role at a scope.',
  spec: z.strictObject({
    principalId: Uuid.describe('Id of the person, service account or group that gets the role; immutable'),
    principalType: PrincipalType,
    roleDefinitionName: StoredDisplayName.describe('The display name of the role, matched exactly; immutable'),
    scope: Scope,
    scopeIncarnation: ScopeIncarnation,
    expiresAt: ExpiresAt,
    reason: Description.optional().describe('Why it was given, in words for people; immutable'),
    jitRequestId: Uuid.optional().describe(
      'The JitRequest whose approval created it; written by the platform; immutable',
    ),
  }),
  status: resourceStatus,
  immutable: [
    'principalId',
    'principalType',
    'roleDefinitionName',
    'scope',
    'scopeIncarnation',
    'reason',
    'jitRequestId',
  ],
  columns: [
    { name: 'Principal', path: '.spec.principalId' },
    { name: 'Role', path: '.spec.roleDefinitionName' },
    { name: 'Scope', path: '.spec.scope' },
    { name: 'Expires', path: '.spec.expiresAt' },
  ],
  selectable: ['spec.principalId', 'spec.roleDefinitionName'],
})
export type RoleAssignment = ObjectOf<typeof RoleAssignment>

/** People, service accounts and further groups that roles can be given to together. */
export const PrincipalGroup = defineKind({
  group: 'iam',
  kind: 'PrincipalGroup',
  forms: { 'rbac/members/read': READ_VERBS, 'rbac/members/write': WRITE_VERBS },
  platformForms: { 'rbac/members/read': READ_VERBS },
  restNaming: { collection: 'groups' },
  shortNames: ['pgrp'],
  placement: 'boundaryOrPlatform',
  name: 'uuid',
  area: 'rbac',
  description: 'A group of principals of one boundary. Its name is a uuid, the principalId of the group.',
  spec: z.strictObject({
    displayName: DisplayName,
    description: Description.default(''),
    memberIds: z.array(Uuid).max(1000).default([]).describe('Ids of the people, service accounts and groups in it'),
  }),
  status: resourceStatus,
  columns: [{ name: 'Display Name', path: '.spec.displayName' }],
})
export type PrincipalGroup = ObjectOf<typeof PrincipalGroup>

/** Denies actions to a principal, or to everyone, at a scope and below; overrides every grant. */
export const DenyAssignment = defineKind({
  group: 'iam',
  kind: 'DenyAssignment',
  forms: { 'rbac/members/read': READ_VERBS, 'rbac/members/write': WRITE_VERBS },
  platformForms: { 'rbac/members/read': READ_VERBS },
  restNaming: { collection: 'denyAssignments' },
  shortNames: ['dasg'],
  placement: 'boundaryOrPlatform',
  name: 'free',
  area: 'rbac',
  description: 'Denies actions to a principal, or to everyone, at a scope. It overrides every grant.',
  spec: z.strictObject({
    principalId: Uuid.optional().describe(
      'Id of the person, service account or group that it applies to; absent with isEveryone; immutable',
    ),
    principalType: PrincipalType.optional().describe(
      'User (when absent) is a person, Group a PrincipalGroup, ServicePrincipal a service account; immutable',
    ),
    isEveryone: Off.describe('True applies it to everybody who is not excluded'),
    excludedPrincipalIds: z
      .array(Uuid)
      .max(200)
      .default([])
      .describe('Ids of people, service accounts and groups that it does not apply to'),
    actions: ActionPatterns.default([]).describe('Actions that it denies, by name or pattern, such as `apps/*`'),
    dataActions: DataActionPatterns.default([]).describe(
      'Actions on contents (secrets, logs, files) that it denies, by name or pattern',
    ),
    scope: Scope,
    scopeIncarnation: ScopeIncarnation,
    reason: Description.optional().describe('Why they are denied, in words for people'),
    expiresAt: ExpiresAt,
  }),
  status: resourceStatus,
  immutable: ['principalId', 'principalType', 'scope', 'scopeIncarnation'],
  rules: [
    {
      cel: 'has(self.principalId) != self.isEveryone',
      message: 'a deny must name exactly one of principalId and isEveryone',
      field: 'principalId',
      test: ({ principalId, isEveryone }) => (principalId !== undefined) !== isEveryone,
    },
    {
      cel: 'size(self.actions) + size(self.dataActions) > 0',
      message: 'a deny must take away at least one action',
      field: 'actions',
      test: ({ actions, dataActions }) => actions.length + dataActions.length > 0,
    },
  ],
  columns: [
    { name: 'Principal', path: '.spec.principalId' },
    { name: 'Everyone', path: '.spec.isEveryone', type: 'boolean' },
    { name: 'Scope', path: '.spec.scope' },
    { name: 'Expires', path: '.spec.expiresAt' },
  ],
})
export type DenyAssignment = ObjectOf<typeof DenyAssignment>

/** A request for a role for a limited time. Grants nothing: its approval writes a RoleAssignment that expires. */
export const JitRequest = defineKind({
  group: 'iam',
  kind: 'JitRequest',
  // Everybody who sees the boundary may request a role, and withdraw it; admission checks whose request it is.
  forms: { 'rbac/members/read': READ_VERBS, 'boundaries/read': ['create', 'delete'] },
  restNaming: { collection: 'jitRequests' },
  shortNames: ['jit'],
  placement: 'boundary',
  name: 'uuid',
  area: 'rbac',
  description: 'A request for a role for a limited time. Grants nothing itself: its approval writes a RoleAssignment.',
  spec: z.strictObject({
    principalId: Uuid.describe('Id of the person or service account that requests the role; immutable'),
    principalType: PrincipalType,
    roleDefinitionName: StoredDisplayName.describe('The display name of the requested role; immutable'),
    scope: Scope,
    scopeIncarnation: ScopeIncarnation,
    justification: ShownProse.min(1).max(512).describe('Why the role is needed, for whoever decides; immutable'),
    durationMinutes: integerBetween(15, 480)
      .default(60)
      .describe('Minutes for which the role is held once the request is approved; immutable'),
    decision: z
      .enum(['Approved', 'Denied', 'Cancelled', 'Ended'])
      .optional()
      .describe('Approved or Denied by the approver; Cancelled before that or Ended after it; undecided when absent'),
    decidedAt: DateTime.optional().describe('When it was decided, which is when an approved role begins'),
    decidedBy: Uuid.optional().describe('Id of the principal who decided'),
    decisionReason: Description.optional().describe('Why, in words for people'),
  }),
  status: statusWith({
    state: z
      .enum(['Pending', 'Active', 'Denied', 'Cancelled', 'Expired', 'Ended'])
      .describe(
        'Pending, for 24 hours at most, then Expired; Active while the role is held, then Ended; Denied; Cancelled',
      ),
    grantedAt: DateTime.describe('When the assignment was written, which happens once'),
    activeUntil: DateTime.describe('When the role ends; absent until it is given'),
  }),
  immutable: [
    'principalId',
    'principalType',
    'roleDefinitionName',
    'scope',
    'scopeIncarnation',
    'justification',
    'durationMinutes',
  ],
  columns: [
    { name: 'Principal', path: '.spec.principalId' },
    { name: 'Role', path: '.spec.roleDefinitionName' },
    { name: 'Scope', path: '.spec.scope' },
    { name: 'State', path: '.status.state' },
    { name: 'Until', path: '.status.activeUntil' },
  ],
})
export type JitRequest = ObjectOf<typeof JitRequest>

/** Whoever holds one of the actions in the trusted boundary also holds it in the granting one. */
export const BoundaryTrust = defineKind({
  group: 'iam',
  kind: 'BoundaryTrust',
  platformForms: { 'rbac/boundaryTrusts/admin': [...READ_VERBS, ...WRITE_VERBS] },
  restNaming: { collection: 'boundary-trusts' },
  shortNames: ['btrust'],
  placement: 'platform',
  name: 'free',
  area: 'rbac',
  description: 'Lends reading actions of one boundary to those who hold them in another.',
  spec: z.strictObject({
    boundaryId: Uuid.describe('Id of the boundary that grants; immutable'),
    boundaryIncarnation: BoundaryIncarnation,
    trustedBoundaryId: Uuid.describe('Id of the boundary whose members get the actions; immutable'),
    trustedBoundaryIncarnation: BoundaryIncarnation,
    actions: z
      .array(ActionPattern)
      .min(1)
      .max(100)
      .describe('Names of the actions that are lent: those of a Reader, and registry/pull'),
    bidirectional: Off.describe('True also lends the same actions in the other direction'),
    expiresAt: ExpiresAt,
  }),
  status: statusWith({
    incarnations: z
      .record(z.string(), z.string())
      .describe('Incarnations of the two boundaries while it was in force, by id; the trust ends with either of them'),
  }),
  immutable: ['boundaryId', 'boundaryIncarnation', 'trustedBoundaryId', 'trustedBoundaryIncarnation'],
  rules: [
    {
      cel: 'self.boundaryId != self.trustedBoundaryId',
      message: 'a boundary cannot trust itself',
      field: 'trustedBoundaryId',
      test: ({ boundaryId, trustedBoundaryId }) => boundaryId !== trustedBoundaryId,
    },
  ],
  columns: [
    { name: 'Boundary', path: '.spec.boundaryId' },
    { name: 'Trusted', path: '.spec.trustedBoundaryId' },
    { name: 'Expires', path: '.spec.expiresAt' },
  ],
})
export type BoundaryTrust = ObjectOf<typeof BoundaryTrust>

/** An organization whose people and boundaries belong together. */
export const PlatformTenant = defineKind({
  group: 'iam',
  kind: 'PlatformTenant',
  restNaming: { collection: 'tenants' },
  shortNames: ['ptn'],
  placement: 'cluster',
  name: 'uuid',
  area: 'rbac',
  description: 'An organization whose people and boundaries belong together. Its name is a uuid, the tenantId.',
  spec: z.strictObject({ displayName: DisplayName }),
  status: z.object({}),
  columns: [{ name: 'Display Name', path: '.spec.displayName' }],
})
export type PlatformTenant = ObjectOf<typeof PlatformTenant>

/** The tenant of boundaries whose creator belongs to none; installed with the platform if there is no other. */
export const DEFAULT_TENANT_ID = '0d0c4e9a-5b2f-5c1e-8f34-7a1b6d2c9e50'
