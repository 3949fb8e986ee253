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
    ['admits further actions', {}, { actions: ['*/read'] }],
    ['refuses to become built in', {}, { isBuiltIn: true }, fixed('isBuiltIn')],
  ]),
  ...cases(RoleAssignment, { principalId: ID, principalType: 'User', roleDefinitionName: 'Reader', scope: '/' }, [
    ['admits an end', {}, { expiresAt: '2030-01-01T00:00:00Z' }],
    ['refuses another principal', {}, { principalId: OTHER }, fixed('principalId')],
    ['refuses another type of principal', {}, { principalType: 'Group' }, fixed('principalType')],
    ['refuses another role', {}, { roleDefinitionName: 'Owner' }, fixed('roleDefinitionName')],
    ['refuses another scope', {}, { scope: `/boundaries/${ID}` }, fixed('scope')],
    ['refuses another incarnation', {}, { scopeIncarnation: ID }, fixed('scopeIncarnation')],
    ['refuses another reason', {}, { reason: 'because' }, fixed('reason')],
    ['refuses another request', {}, { jitRequestId: ID }, fixed('jitRequestId')],
  ]),
  ...cases(DenyAssignment, { principalId: ID, principalType: 'User', actions: ['jobs/write'], scope: '/' }, [
    ['admits an end', {}, { expiresAt: '2030-01-01T00:00:00Z' }],
    ['refuses another principal', {}, { principalId: OTHER }, fixed('principalId')],
    ['refuses another type of principal', {}, { principalType: 'Group' }, fixed('principalType')],
    ['refuses a principal beside everyone', undefined, { isEveryone: true }, ONE_SUBJECT],
    ['refuses to become one on everyone', {}, { isEveryone: true }, ONE_SUBJECT],
    ['refuses another scope', {}, { scope: `/boundaries/${ID}` }, fixed('scope')],
    ['refuses another incarnation', {}, { scopeIncarnation: ID }, fixed('scopeIncarnation')],
    ['refuses to deny nothing', undefined, { actions: [] }, 'a deny must take away at least one action'],
  ]),
  ...cases(
    JitRequest,
    { principalId: ID, principalType: 'User', roleDefinitionName: 'Reader', scope: '/', justification: 'a fault' },
    [
      ['admits a decision', {}, { decision: 'Denied', decidedAt: '2030-01-01T00:00:00Z', decidedBy: OTHER }],
      ['refuses another principal', {}, { principalId: OTHER }, fixed('principalId')],
      ['refuses another type of principal', {}, { principalType: 'Group' }, fixed('principalType')],
      ['refuses another role', {}, { roleDefinitionName: 'Owner' }, fixed('roleDefinitionName')],
      ['refuses another scope', {}, { scope: `/boundaries/${ID}` }, fixed('scope')],
      ['refuses another incarnation', {}, { scopeIncarnation: ID }, fixed('scopeIncarnation')],
      ['refuses another justification', {}, { justification: 'because' }, fixed('justification')],
      ['refuses another duration', {}, { durationMinutes: 120 }, fixed('durationMinutes')],
    ],
  ),
  ...cases(BoundaryTrust, { boundaryId: ID, trustedBoundaryId: OTHER, actions: ['jobs/read'] }, [
    ['admits further actions', {}, { actions: ['jobs/read', 'apps/read'] }],
    ['refuses another boundary', {}, { boundaryId: THIRD }, fixed('boundaryId')],
    ['refuses another trusted boundary', {}, { trustedBoundaryId: THIRD }, fixed('trustedBoundaryId')],
    ['refuses another incarnation', {}, { boundaryIncarnation: ID }, fixed('boundaryIncarnation')],
    ['refuses another trusted one', {}, { trustedBoundaryIncarnation: ID }, fixed('trustedBoundaryIncarnation')],
    ['refuses a trust in itself', undefined, { trustedBoundaryId: ID }, 'a boundary cannot trust itself'],
  ]),
  ...cases(PrincipalGroup, { displayName: 'Operators' }, [
    ['admits a group with members', undefined, { description: 'On call', memberIds: [ID, OTHER] }],
  ]),
  ...cases(PlatformTenant, { displayName: 'Acme' }, [['admits a name', undefined, {}]]),
  ...cases(PlatformUser, { userName: 'ada' }, [
    ['admits a person of an identity provider', undefined, { ...PERSON, externalIdentity: EXTERNAL_IDENTITY }],
  ]),
  ...cases(PlatformClient, { displayName: 'Deployer', secretName: 'deployer' }, [
    ['admits a disabled account', undefined, { isEnabled: false }],
  ]),
  ...cases(ManagedIdentity, { resourceName: 'shop', resourceType: 'apps', resourceUid: ID }, [
    ['admits the next secret', { secretVersion: 1 }, { secretVersion: 2 }],
    ['refuses to skip a secret', { secretVersion: 1 }, { secretVersion: 3 }, SECRETS],
    ['refuses to go back to an older secret', { secretVersion: 2 }, { secretVersion: 1 }, SECRETS],
    ['admits to be mounted with a new secret', { secretVersion: 1 }, { secretVersion: 2, mounted: true }],
    [
      'refuses to be mounted with a secret that nobody may read',
      { secretVersion: 1 },
      { secretVersion: 1, mounted: true },
      'mounted needs new credentials, because nobody may read the old ones: secretVersion must grow with it',
    ],
    ['refuses another resource', {}, { resourceName: 'mail' }, fixed('resourceName')],
    ['refuses another collection', {}, { resourceType: 'jobs' }, fixed('resourceType')],
    ['refuses another uid', {}, { resourceUid: OTHER }, fixed('resourceUid')],
  ]),
  ...cases(MemberInvitation, INVITATION, [
    ['admits an invitation', undefined, {}],
    ['admits its next state', {}, { state: 'Accepted', acceptedBy: ID }],
    [
      'refuses to become another invitation',
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
    ['admits a reset', undefined, {}],
    ['admits its use', {}, { usedAt: '2026-01-01T00:00:00Z' }],
    [
      'refuses to become another reset',
      {},
      { userId: OTHER, email: 'b@example.com', tokenHash: '1'.repeat(64), expiresAt: '2101-01-01T00:00:00Z' },
      ...PasswordReset.immutable.map(fixed),
    ],
  ]),
]
