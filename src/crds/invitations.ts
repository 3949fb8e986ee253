import { z } from 'zod'
import { defineKind, type ObjectOf, resourceStatus, statusColumns } from './define.ts'
import {
  DateTime,
  Email,
  integerBetween,
  matching,
  Off,
  PersonName,
  PlainText,
  Scope,
  ShownProse,
  StoredDisplayName,
  Uuid,
} from './fields.ts'

/** States of an invitation (interface section 3). */
export const INVITATION_STATES = ['Pending', 'AwaitingLogin', 'Accepted', 'Revoked', 'Expired'] as const

const Sha256 = matching(64, /^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits in lower case')

/** Asks a person by mail to accept a role. */
export const MemberInvitation = defineKind({
  group: 'iam',
  kind: 'MemberInvitation',
  restNaming: { collection: 'invitations' },
  shortNames: ['minv'],
  placement: 'boundary',
  name: 'uuid',
  area: 'invitations',
  description:
    'An invitation of a person to a role. Only the hash of the token in its link is kept: the link is in the mail alone.',
  spec: z.strictObject({
    email: Email.describe('Address that the invitation is sent to, and that the accepting person must have; immutable'),
    roleDefinitionName: StoredDisplayName.describe('The display name of the role that accepting gives; immutable'),
    scope: Scope,
    scopeIncarnation: PlainText.max(64)
      .optional()
      .describe('Incarnation of the object at the scope, so that a recreated one inherits no invitation; immutable'),
    tenantId: PlainText.max(64)
      .optional()
      .describe(
        'The tenant of the boundary when the invitation was made, which accepting joins; it lapses with a move; immutable',
      ),
    invitedBy: Uuid.describe('Id of the principal who invited; immutable'),
    invitedByName: PlainText.max(256)
      .optional()
      .describe('Name of the inviter in the mail; "An administrator" when absent'),
    hasAccount: z
      .boolean()
      .describe('Whether the address had an account when the invitation was last sent; otherwise one is created'),
    accountId: Uuid.optional().describe(
      'Id of the account to create, chosen in advance so that a retry finds it; immutable',
    ),
    message: ShownProse.max(1000).optional().describe('Message of the inviter, shown in the mail'),
    firstName: PersonName.optional().describe('Given name of the invited person'),
    lastName: PersonName.optional().describe('Family name of the invited person'),
    expiresAt: DateTime.describe('When the link expires, and the state becomes Expired'),
    tokenHash: Sha256.describe('SHA-256 of the token in the link, in hex; a new one with each resend'),
    state: z
      .enum(INVITATION_STATES)
      .default('Pending')
      .describe('Pending; AwaitingLogin once an account was created; Accepted with the role; Revoked; Expired'),
    resendCount: integerBetween(0, 10000).default(0).describe('How often it was sent again'),
    lastSentAt: DateTime.optional().describe('When it was last sent'),
    acceptedAt: DateTime.optional().describe('When it was accepted; absent until then'),
    acceptedBy: Uuid.optional().describe('Id of the person who accepted'),
    assignmentId: Uuid.optional().describe('The RoleAssignment that accepting created'),
    expiryAnswered: Off.describe('Whether the invited person was told once that it expired; later calls get the state'),
  }),
  status: resourceStatus,
  immutable: ['email', 'roleDefinitionName', 'scope', 'scopeIncarnation', 'tenantId', 'invitedBy', 'accountId'],
  columns: [
    { name: 'Email', path: '.spec.email' },
    { name: 'Role', path: '.spec.roleDefinitionName' },
    { name: 'State', path: '.spec.state' },
    { name: 'Expires', path: '.spec.expiresAt' },
    { name: 'Scope', path: '.spec.scope', priority: 1 },
  ],
})
export type MemberInvitation = ObjectOf<typeof MemberInvitation>

/** A link by which a person may choose a new password, once. */
export const PasswordReset = defineKind({
  group: 'iam',
  kind: 'PasswordReset',
  restNaming: { collection: 'password-reset' },
  shortNames: ['preset'],
  placement: 'platform',
  name: 'uuid',
  area: 'invitations',
  description: 'A requested password reset. Only the hash of the token in its link is kept.',
  spec: z.strictObject({
    userId: Uuid.describe('Id of the person whose password it is; immutable'),
    email: Email.describe('Address that the link was sent to; immutable'),
    tokenHash: Sha256.describe('SHA-256 of the token in the link, in hex; immutable'),
    expiresAt: DateTime.describe('When the link expires; the object is deleted a day later; immutable'),
    usedAt: DateTime.optional().describe(
      'When the link was used, after which the object is deleted; unused when absent',
    ),
  }),
  status: resourceStatus,
  immutable: ['userId', 'email', 'tokenHash', 'expiresAt'],
  columns: [
    { name: 'User', path: '.spec.userId' },
    ...statusColumns,
    { name: 'Expires', path: '.spec.expiresAt' },
    { name: 'Used', path: '.spec.usedAt', type: 'date' },
  ],
})
export type PasswordReset = ObjectOf<typeof PasswordReset>
