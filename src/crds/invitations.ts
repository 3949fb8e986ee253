import { z } from 'zod'
import { defineKind, type ObjectOf, resourceStatus, statusColumns } from './define.ts'
import { DateTime, DisplayName, Scope, Uuid } from './fields.ts'

/** Where an invitation is in its life (interface section 3). */
export const INVITATION_STATES = ['Pending', 'AwaitingLogin', 'Accepted', 'Revoked', 'Expired'] as const

const Email = z.string().min(3).max(254)
const Sha256 = z
  .string()
  .max(64)
  .regex(/^[0-9a-f]{64}$/)
const PersonName = z.string().max(64)

/** Asks a person by mail to take a role. */
export const MemberInvitation = defineKind({
  group: 'iam',
  kind: 'MemberInvitation',
  plural: 'memberinvitations',
  shortNames: ['minv'],
  placement: 'boundary',
  name: 'uuid',
  area: 'invitations',
  aggregate: false,
  description:
    'An invitation of a person to a role. Only the hash of the token in its link is kept: the link is in the mail alone.',
  spec: z.strictObject({
    email: Email,
    roleDefinitionName: DisplayName.describe('The display name of the role'),
    scope: Scope,
    scopeIncarnation: z
      .string()
      .max(64)
      .optional()
      .describe('Of the object at the scope, so that a thing made anew inherits no invitation'),
    invitedBy: Uuid.describe('The principal who invited'),
    invitedByName: z.string().max(256).optional(),
    hasAccount: z.boolean().describe('Whether the address had an account when it was invited; else one is made'),
    accountId: Uuid.optional().describe('The id of the account that is made, chosen now so that a second try meets it'),
    message: z.string().max(1000).optional(),
    firstName: PersonName.optional(),
    lastName: PersonName.optional(),
    expiresAt: DateTime,
    tokenHash: Sha256.describe('SHA-256 of the token; another one with each resend'),
    state: z.enum(INVITATION_STATES).default('Pending'),
    resendCount: z.int().min(0).max(10000).default(0),
    lastSentAt: DateTime.optional(),
    acceptedAt: DateTime.optional(),
    acceptedBy: Uuid.optional(),
    assignmentId: Uuid.optional().describe('The RoleAssignment that accepting made'),
    expiryAnswered: z
      .boolean()
      .default(false)
      .describe('Whether the invited person was told of the expiry once; later calls are told of the state'),
  }),
  status: resourceStatus,
  immutable: ['email', 'roleDefinitionName', 'scope', 'scopeIncarnation', 'invitedBy', 'hasAccount', 'accountId'],
  columns: [
    { name: 'Email', path: '.spec.email' },
    { name: 'Role', path: '.spec.roleDefinitionName' },
    { name: 'State', path: '.spec.state' },
    { name: 'Expires', path: '.spec.expiresAt', type: 'date' },
    { name: 'Scope', path: '.spec.scope', priority: 1 },
  ],
})
export type MemberInvitation = ObjectOf<typeof MemberInvitation>

/** A link by which a person may choose a new password, once. */
export const PasswordReset = defineKind({
  group: 'iam',
  kind: 'PasswordReset',
  plural: 'passwordresets',
  shortNames: ['preset'],
  placement: 'platform',
  name: 'uuid',
  area: 'invitations',
  aggregate: false,
  description: 'A password reset that was asked for. Only the hash of the token in its link is kept.',
  spec: z.strictObject({
    userId: Uuid,
    email: Email.describe('Where the link was sent'),
    tokenHash: Sha256,
    expiresAt: DateTime,
    usedAt: DateTime.optional(),
  }),
  status: resourceStatus,
  immutable: ['userId', 'email', 'tokenHash', 'expiresAt'],
  columns: [
    { name: 'User', path: '.spec.userId' },
    ...statusColumns,
    { name: 'Expires', path: '.spec.expiresAt', type: 'date' },
    { name: 'Used', path: '.spec.usedAt', type: 'date' },
  ],
})
export type PasswordReset = ObjectOf<typeof PasswordReset>
