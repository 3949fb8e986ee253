import { PlatformClient, PlatformUser } from '../../../src/crds/identity.ts'
import { MemberInvitation, PasswordReset } from '../../../src/crds/invitations.ts'
import { ManagedIdentity } from '../../../src/crds/managedidentities.ts'
import {
  BoundaryTrust,
  DenyAssignment,
  JitRequest,
  PlatformTenant,
  PrincipalGroup,
  RoleAssignment,
  RoleDefinition,
} from '../../../src/crds/rbac.ts'
import { cases, fixed, ID, OTHER, type RuleCase, THIRD } from './case.ts'

const SECRETS = 'secretVersion must grow by one at a time: each step makes one new secret'

const ONE_SUBJECT = 'a deny must name exactly one of principalId and isEveryone'

const RESET = {
  userId: ID,
  email: 'a@example.com',
  tokenHash: '0'.repeat(64),
  expiresAt: '2100-12-01T00:00:00Z',
}

const INVITATION = {
  email: 'a@example.com',
  roleDefinitionName: 'Reader',
  scope: `/boundaries/${ID}`,
  scopeIncarnation: ID,
  invitedBy: ID,
  hasAccount: false,
  accountId: ID,
  expiresAt: '2100-12-01T00:00:00Z',
  tokenHash: '0'.repeat(64),
}

const PERSON = { email: 'ada@example.com', firstName: 'Ada', lastName: 'Lovelace', tenantIds: [ID], isExternal: true }

const EXTERNAL_IDENTITY = {
  tenantId: ID,
  alias: 'acme',
  issuer: 'https://id.example.com',
  subject: 'ada',
  claims: { groups: ['staff'] },
}

export const ACCESS_RULES: readonly RuleCase[] = [
  ...cases(RoleDefinition, { displayName: 'Auditor', assignableScopes: ['/'] }, [
    ['further actions', {}, { actions: ['*/read'] }],
    ['a change to a built-in role', {}, { isBuiltIn: true }, fixed('isBuiltIn')],
  ]),
  ...cases(RoleAssignment, { principalId: ID, principalType: 'User', roleDefinitionName: 'Reader', scope: '/' }, [
    ['an expiry', {}, { expiresAt: '2030-01-01T00:00:00Z' }],
    ['another principal', {}, { principalId: OTHER }, fixed('principalId')],
    ['another type of principal', {}, { principalType: 'Group' }, fixed('principalType')],
    ['another role', {}, { roleDefinitionName: 'Owner' }, fixed('roleDefinitionName')],
    ['another scope', {}, { scope: `/boundaries/${ID}` }, fixed('scope')],
    ['another incarnation', {}, { scopeIncarnation: ID }, fixed('scopeIncarnation')],
    ['another reason', {}, { reason: 'because' }, fixed('reason')],
    ['another request', {}, { jitRequestId: ID }, fixed('jitRequestId')],
  ]),
  ...cases(DenyAssignment, { principalId: ID, principalType: 'User', actions: ['jobs/write'], scope: '/' }, [
    ['an expiry', {}, { expiresAt: '2030-01-01T00:00:00Z' }],
    ['another principal', {}, { principalId: OTHER }, fixed('principalId')],
    ['another type of principal', {}, { principalType: 'Group' }, fixed('principalType')],
    ['a principal with isEveryone', undefined, { isEveryone: true }, ONE_SUBJECT],
    ['a change to isEveryone', {}, { isEveryone: true }, ONE_SUBJECT],
    ['another scope', {}, { scope: `/boundaries/${ID}` }, fixed('scope')],
    ['another incarnation', {}, { scopeIncarnation: ID }, fixed('scopeIncarnation')],
    ['an empty list of actions', undefined, { actions: [] }, 'a deny must take away at least one action'],
  ]),
  ...cases(
    JitRequest,
    { principalId: ID, principalType: 'User', roleDefinitionName: 'Reader', scope: '/', justification: 'a fault' },
    [
      ['a decision', {}, { decision: 'Denied', decidedAt: '2030-01-01T00:00:00Z', decidedBy: OTHER }],
      ['another principal', {}, { principalId: OTHER }, fixed('principalId')],
      ['another type of principal', {}, { principalType: 'Group' }, fixed('principalType')],
      ['another role', {}, { roleDefinitionName: 'Owner' }, fixed('roleDefinitionName')],
      ['another scope', {}, { scope: `/boundaries/${ID}` }, fixed('scope')],
      ['another incarnation', {}, { scopeIncarnation: ID }, fixed('scopeIncarnation')],
      ['another justification', {}, { justification: 'because' }, fixed('justification')],
      ['another duration', {}, { durationMinutes: 120 }, fixed('durationMinutes')],
    ],
  ),
  ...cases(BoundaryTrust, { boundaryId: ID, trustedBoundaryId: OTHER, actions: ['jobs/read'] }, [
    ['further actions', {}, { actions: ['jobs/read', 'apps/read'] }],
    ['another boundary', {}, { boundaryId: THIRD }, fixed('boundaryId')],
    ['another trusted boundary', {}, { trustedBoundaryId: THIRD }, fixed('trustedBoundaryId')],
    ['another incarnation', {}, { boundaryIncarnation: ID }, fixed('boundaryIncarnation')],
    ['another trustedBoundaryIncarnation', {}, { trustedBoundaryIncarnation: ID }, fixed('trustedBoundaryIncarnation')],
    ['a trust in itself', undefined, { trustedBoundaryId: ID }, 'a boundary cannot trust itself'],
  ]),
  ...cases(PrincipalGroup, { displayName: 'Operators' }, [
    ['a group with members', undefined, { description: 'On call', memberIds: [ID, OTHER] }],
  ]),
  ...cases(PlatformTenant, { displayName: 'Acme' }, [['a name', undefined, {}]]),
  ...cases(PlatformUser, { userName: 'ada' }, [
    ['a person of an identity provider', undefined, { ...PERSON, externalIdentity: EXTERNAL_IDENTITY }],
  ]),
  ...cases(PlatformClient, { displayName: 'Deployer', secretName: 'deployer' }, [
    ['a disabled account', undefined, { isEnabled: false }],
  ]),
  ...cases(ManagedIdentity, { resourceName: 'shop', resourceType: 'apps', resourceUid: ID }, [
    ['the next secret', { secretVersion: 1 }, { secretVersion: 2 }],
    ['a skipped secretVersion', { secretVersion: 1 }, { secretVersion: 3 }, SECRETS],
    ['an earlier secretVersion', { secretVersion: 2 }, { secretVersion: 1 }, SECRETS],
    ['mounted with a new secret', { secretVersion: 1 }, { secretVersion: 2, mounted: true }],
    [
      'mounted without a new secret',
      { secretVersion: 1 },
      { secretVersion: 1, mounted: true },
      'mounted needs new credentials, because nobody may read the old ones: secretVersion must grow with it',
    ],
    ['another resource', {}, { resourceName: 'mail' }, fixed('resourceName')],
    ['another collection', {}, { resourceType: 'jobs' }, fixed('resourceType')],
    ['another uid', {}, { resourceUid: OTHER }, fixed('resourceUid')],
  ]),
  ...cases(MemberInvitation, INVITATION, [
    ['an invitation', undefined, {}],
    ['the next state', {}, { state: 'Accepted', acceptedBy: ID }],
    [
      'a change of its fields',
      {},
      {
        email: 'b@example.com',
        roleDefinitionName: 'Owner',
        scope: '/',
        scopeIncarnation: OTHER,
        tenantId: OTHER,
        invitedBy: OTHER,
        hasAccount: true,
        accountId: OTHER,
      },
      ...MemberInvitation.immutable.map(fixed),
    ],
  ]),
  ...cases(PasswordReset, RESET, [
    ['a reset', undefined, {}],
    ['a time of use', {}, { usedAt: '2026-01-01T00:00:00Z' }],
    [
      'a change of its fields',
      {},
      { userId: OTHER, email: 'b@example.com', tokenHash: '1'.repeat(64), expiresAt: '2101-01-01T00:00:00Z' },
      ...PasswordReset.immutable.map(fixed),
    ],
  ]),
]
