import { z } from 'zod'
import { defineKind, type ObjectOf } from './define.ts'
import { DateTime, Description, DisplayName, PrincipalType, Scope, Uuid } from './fields.ts'

/** An action name, or a pattern whose first or last segment is `*`. */
const ActionPattern = z
  .string()
  .max(128)
  .regex(/^(\*|(\*\/)?[a-zA-Z]+(\/[a-zA-Z]+)*(\/\*)?)$/)
const ActionPatterns = z.array(ActionPattern).max(200)

/** What a role allows. Built-in ones are installed with the platform. */
export const RoleDefinition = defineKind({
  group: 'iam',
  kind: 'RoleDefinition',
  plural: 'roledefinitions',
  shortNames: ['rdef'],
  placement: 'cluster',
  area: 'rbac',
  aggregate: false,
  description: 'A named set of actions. Grants nothing until assigned.',
  spec: z.strictObject({
    displayName: DisplayName.describe('The roleDefinitionName; matched exactly'),
    description: Description.default(''),
    actions: ActionPatterns.default([]),
    notActions: ActionPatterns.default([]),
    dataActions: ActionPatterns.default([]),
    notDataActions: ActionPatterns.default([]),
    assignableScopes: z
      .array(z.enum(['/', '/boundaries/*']))
      .min(1)
      .max(2),
    isBuiltIn: z.boolean().default(false),
  }),
  status: z.object({}),
  immutable: ['isBuiltIn'],
  columns: [
    { name: 'Display Name', path: '.spec.displayName' },
    { name: 'Built In', path: '.spec.isBuiltIn', type: 'boolean' },
  ],
})
export type RoleDefinition = ObjectOf<typeof RoleDefinition>

/** Gives a principal a role at a scope of the boundary it stands in; root scopes stand in freehold-system. */
export const RoleAssignment = defineKind({
  group: 'iam',
  kind: 'RoleAssignment',
  plural: 'roleassignments',
  forms: { 'rbac/members/read': ['get', 'list', 'watch'] },
  shortNames: ['rasg'],
  placement: 'boundaryOrPlatform',
  name: 'free',
  area: 'rbac',
  aggregate: false,
  description: 'Gives a principal a role at a scope.',
  spec: z.strictObject({
    principalId: Uuid,
    principalType: PrincipalType,
    roleDefinitionName: DisplayName.describe('The display name of the role'),
    scope: Scope,
    scopeIncarnation: z
      .string()
      .max(64)
      .optional()
      .describe('Of the object at the scope, so that a thing made anew inherits nothing'),
    expiresAt: DateTime.optional(),
    reason: Description.optional(),
  }),
  status: z.object({}),
  immutable: ['principalId', 'principalType', 'roleDefinitionName', 'scope', 'scopeIncarnation', 'reason'],
  columns: [
    { name: 'Principal', path: '.spec.principalId' },
    { name: 'Role', path: '.spec.roleDefinitionName' },
    { name: 'Scope', path: '.spec.scope' },
    { name: 'Expires', path: '.spec.expiresAt', type: 'date' },
  ],
  selectable: ['spec.principalId', 'spec.roleDefinitionName'],
})
export type RoleAssignment = ObjectOf<typeof RoleAssignment>

/** People, service accounts and further groups that roles can be given to together. */
export const PrincipalGroup = defineKind({
  group: 'iam',
  kind: 'PrincipalGroup',
  plural: 'principalgroups',
  forms: { 'rbac/members/read': ['get', 'list', 'watch'] },
  shortNames: ['pgrp'],
  placement: 'boundaryOrPlatform',
  name: 'uuid',
  area: 'rbac',
  aggregate: false,
  description: 'A group of principals of one boundary. Its name is a uuid, the principalId of the group.',
  spec: z.strictObject({
    displayName: DisplayName,
    description: Description.default(''),
    memberIds: z.array(Uuid).max(1000).default([]).describe('Users, service accounts and groups'),
  }),
  status: z.object({}),
  columns: [{ name: 'Display Name', path: '.spec.displayName' }],
})
export type PrincipalGroup = ObjectOf<typeof PrincipalGroup>
