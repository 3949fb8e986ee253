import { Boundary } from '../../src/crds/boundaries.ts'
import { PlatformCluster } from '../../src/crds/clusters.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { MemberInvitation, PasswordReset } from '../../src/crds/invitations.ts'
import { ManagedIdentity } from '../../src/crds/managedidentities.ts'
import { NameClaim } from '../../src/crds/nameclaims.ts'
import { AccountBucket, ObjectAccessKey, ObjectStorageAccount } from '../../src/crds/objectstorage.ts'
import { ComputePlan } from '../../src/crds/plans.ts'
import { BoundaryTrust, DenyAssignment, JitRequest, RoleAssignment, RoleDefinition } from '../../src/crds/rbac.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { IdpBinding, SsoConnection } from '../../src/crds/sso.ts'
import { VectorCluster } from '../../src/crds/vector.ts'

/**
 * Specs that rules admit or refuse. The unit tests run the rules of the facade on them, the end-to-end tests send the
 * same specs to the API server: both must give the same messages.
 */
export type RuleCase = {
  name: string
  kind: AnyKind
  previous?: object
  next: object
  /** Messages of the rules that refuse; none when the write is admitted. */
  refused: readonly string[]
}

const TAGS =
  'a tag key has 1 to 128 letters, digits, spaces or _.:/=+@- and does not begin with freehold.dev/ or kubernetes.io/ nor hold .k8s.io/'
const CIDRS =
  'allowedCidrs is a comma-separated list of at most 50 canonical networks, such as 203.0.113.0/24,2001:db8::/32'
const SHRINK = 'storageSize may grow but not shrink: volumes cannot give space back'
const BACK = 'vectorVersion cannot go back: an older engine does not read the newer storage format'
const STEP = 'vectorVersion goes up one minor version at a time, as the storage format is migrated step by step'
const KEYS = 'apiKeyVersion grows by one at a time: each step makes one new key'
const SECRETS = 'secretVersion grows by one at a time: each step makes one new secret'
const fixed = (field: string) => `${field} cannot be changed after creation`

function cases<K extends AnyKind>(
  kind: K,
  base: object,
  list: [name: string, previous: object | undefined, next: object, ...refused: string[]][],
): RuleCase[] {
  const full = (spec: object) => kind.spec.parse({ ...base, ...spec }) as object
  return list.map(([name, previous, next, ...refused]) => ({
    name: `${kind.kind}: ${name}`,
    kind,
    ...(previous === undefined ? {} : { previous: full(previous) }),
    next: full(next),
    refused,
  }))
}

const ID = '7b0c5d6e-1f2a-4b3c-8d4e-5f6a7b8c9d0e'
const OTHER = '8c1d6e7f-2a3b-4c4d-9e5f-6a7b8c9d0e1f'
const THIRD = '9d2e7f80-3b4c-4d5e-8f60-718293a4b5c6'
const ONE_SUBJECT = 'a deny names exactly one of principalId and isEveryone'
const holder = { kind: 'VectorCluster', namespace: 'search-0123456789', name: 'products', incarnation: ID }

const RESET = {
  userId: ID,
  email: 'a@example.com',
  tokenHash: '0'.repeat(64),
  expiresAt: '2026-12-01T00:00:00Z',
}
const INVITATION = {
  email: 'a@example.com',
  roleDefinitionName: 'Reader',
  scope: `/boundaries/${ID}`,
  scopeIncarnation: ID,
  invitedBy: ID,
  hasAccount: false,
  accountId: ID,
  expiresAt: '2026-12-01T00:00:00Z',
  tokenHash: '0'.repeat(64),
}

const BINDING = { tenantId: ID, issuer: 'https://login.example.com', claimValue: 'staff' }
const BINDING_TARGET = 'a binding names either groupId, or roleDefinitionName and scope'
const ROLE = { roleDefinitionName: 'Reader', scope: `/boundaries/${ID}` }
const OIDC = {
  alias: 'acme',
  displayName: 'Acme',
  metadataUrl: 'https://login.example.com/.well-known/openid-configuration',
  clientId: 'freehold',
  clientSecretName: 'sso-acme',
}
const SSO_ADDRESSES =
  'an identity provider names metadataUrl, or all of issuer, authorizationUrl, tokenUrl and jwksUrl (Saml: issuer, authorizationUrl and signingCertificate)'
const SSO_CLIENT = 'an identity provider of the protocol Oidc needs a client id and a client secret'
const ENDPOINTS = {
  issuer: 'https://login.example.com',
  authorizationUrl: 'https://login.example.com/auth',
  tokenUrl: 'https://login.example.com/token',
  jwksUrl: 'https://login.example.com/keys',
}

export const RULE_CASES: readonly RuleCase[] = [
  ...cases(Boundary, { displayName: 'Acme' }, [
    ['admits a plain boundary', undefined, { tags: { 'team.name/a b': 'search' } }],
    ['refuses a tag key of ours', undefined, { tags: { 'freehold.dev/x': '1' } }, TAGS],
    ['refuses a tag key of Kubernetes', undefined, { tags: { 'kubernetes.io/x': '1' } }, TAGS],
    ['refuses a tag key that holds .k8s.io/', undefined, { tags: { 'app.k8s.io/x': '1' } }, TAGS],
    ['refuses a tag key with a comma', undefined, { tags: { 'a,b': '1' } }, TAGS],
    [
      'refuses another first owner',
      { initialOwner: { principalId: ID, principalType: 'User' } },
      { initialOwner: { principalId: OTHER, principalType: 'User' } },
      fixed('initialOwner'),
    ],
    [
      'refuses a first owner that comes later',
      {},
      { initialOwner: { principalId: ID, principalType: 'User' } },
      fixed('initialOwner'),
    ],
  ]),
  ...cases(ResourceGroup, {}, [
    ['admits an empty spec', undefined, {}],
    ['refuses a tag key of ours', undefined, { tags: { 'freehold.dev/x': '1' } }, TAGS],
  ]),
  ...cases(
    ComputePlan,
    { displayName: 'Small', cpuRequest: '1', cpuLimit: '2', memoryRequest: '1Gi', memoryLimit: '1Gi' },
    [
      ['admits a new price of the same family', { family: 'Vector' }, { family: 'Vector', cpuLimit: '3' }],
      ['refuses to become a plan of another family', { family: 'Vector' }, { family: 'Sql' }, fixed('family')],
    ],
  ),
  ...cases(PlatformCluster, { displayName: 'Here', domain: 'apps.example.com' }, [
    ['admits another display name', { isPlatform: true }, { isPlatform: true, displayName: 'There' }],
    ['refuses to stop being the platform cluster', { isPlatform: true }, { isPlatform: false }, fixed('isPlatform')],
  ]),
  ...cases(NameClaim, { type: 'Host', value: 'a.example.com', holder }, [
    ['admits an unchanged claim', {}, {}],
    ['refuses another type', {}, { type: 'Vault' }, fixed('type')],
    ['refuses another value', {}, { value: 'b.example.com' }, fixed('value')],
    ['refuses another holder', {}, { holder: { ...holder, name: 'orders' } }, fixed('holder')],
  ]),
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
    ['refuses to deny nothing', undefined, { actions: [] }, 'a deny takes away at least one action'],
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
    ['refuses a trust in itself', undefined, { trustedBoundaryId: ID }, 'a boundary needs no trust in itself'],
  ]),
  ...cases(IdpBinding, BINDING, [
    ['admits a group', undefined, { groupId: ID }],
    ['admits a role at a scope', undefined, ROLE],
    ['refuses both', undefined, { groupId: ID, ...ROLE }, BINDING_TARGET],
    ['refuses neither', undefined, {}, BINDING_TARGET],
    ['refuses a role without a scope', undefined, { roleDefinitionName: 'Reader' }, BINDING_TARGET],
    ['refuses a group with a scope', undefined, { groupId: ID, scope: '/' }, BINDING_TARGET],
    ['refuses another tenant', { groupId: ID }, { groupId: ID, tenantId: OTHER }, fixed('tenantId')],
    ['refuses another issuer', { groupId: ID }, { groupId: ID, issuer: 'https://b.example' }, fixed('issuer')],
    ['refuses another claim', { groupId: ID }, { groupId: ID, claim: 'roles' }, fixed('claim')],
    ['refuses another value', { groupId: ID }, { groupId: ID, claimValue: 'x' }, fixed('claimValue')],
    ['refuses another group', { groupId: ID }, { groupId: OTHER }, fixed('groupId')],
    ['refuses another role', ROLE, { ...ROLE, roleDefinitionName: 'Owner' }, fixed('roleDefinitionName')],
    ['refuses another scope', ROLE, { ...ROLE, scope: `/boundaries/${OTHER}` }, fixed('scope')],
    ['refuses another incarnation', ROLE, { ...ROLE, scopeIncarnation: ID }, fixed('scopeIncarnation')],
  ]),
  ...cases(SsoConnection, {}, [
    ['admits an empty spec', undefined, {}],
    ['admits domains and a provider', undefined, { domains: ['a.example', 'b.example'], identityProviders: [OIDC] }],
    ['refuses a domain twice', undefined, { domains: ['a.example', 'a.example'] }, 'domains are named once'],
    [
      'refuses an alias twice',
      undefined,
      { identityProviders: [OIDC, { ...OIDC, displayName: 'Acme two' }] },
      'identity providers have an alias each',
    ],
    [
      'admits a provider by its endpoints',
      undefined,
      { identityProviders: [{ ...OIDC, metadataUrl: undefined, ...ENDPOINTS }] },
    ],
    [
      'refuses a provider without keys',
      undefined,
      { identityProviders: [{ ...OIDC, metadataUrl: undefined, ...ENDPOINTS, jwksUrl: undefined }] },
      SSO_ADDRESSES,
    ],
    [
      'refuses a SAML provider without a certificate',
      undefined,
      { identityProviders: [{ alias: 'acme', displayName: 'Acme', protocol: 'Saml', ...ENDPOINTS }] },
      SSO_ADDRESSES,
    ],
    [
      'admits a SAML provider without a client',
      undefined,
      { identityProviders: [{ alias: 'acme', displayName: 'Acme', protocol: 'Saml', metadataUrl: OIDC.metadataUrl }] },
    ],
    [
      'refuses an OIDC provider without a secret',
      undefined,
      { identityProviders: [{ ...OIDC, clientSecretName: undefined }] },
      SSO_CLIENT,
    ],
    [
      'refuses another protocol',
      { identityProviders: [OIDC] },
      { identityProviders: [{ ...OIDC, protocol: 'Saml' }] },
      'protocol of an identity provider cannot be changed after creation',
    ],
    [
      'admits another protocol under another alias',
      { identityProviders: [OIDC] },
      { identityProviders: [{ ...OIDC, alias: 'other', protocol: 'Saml' }] },
    ],
  ]),
  ...cases(ManagedIdentity, { resourceName: 'shop', resourceType: 'apps', resourceUid: ID }, [
    ['admits the next secret', { secretVersion: 1 }, { secretVersion: 2 }],
    ['refuses to skip a secret', { secretVersion: 1 }, { secretVersion: 3 }, SECRETS],
    ['refuses to go back to an older secret', { secretVersion: 2 }, { secretVersion: 1 }, SECRETS],
    ['refuses another resource', {}, { resourceName: 'mail' }, fixed('resourceName')],
    ['refuses another collection', {}, { resourceType: 'jobs' }, fixed('resourceType')],
    ['refuses another uid', {}, { resourceUid: OTHER }, fixed('resourceUid')],
  ]),
  ...cases(VectorCluster, {}, [
    ['admits an empty spec', undefined, {}],
    ['refuses a tag key of ours', undefined, { tags: { 'freehold.dev/x': '1' } }, TAGS],
    [
      'refuses a CPU limit below the request',
      undefined,
      { cpuRequest: '2', cpuLimit: '1500m' },
      'cpuLimit must not be less than cpuRequest',
    ],
    ['admits equal CPU in other words', undefined, { cpuRequest: '2', cpuLimit: '2000m' }],
    [
      'refuses a memory limit below the request',
      undefined,
      { memoryRequest: '1Gi', memoryLimit: '1000Mi' },
      'memoryLimit must not be less than memoryRequest',
    ],
    ['admits more storage', { storageSize: '10Gi' }, { storageSize: '11Gi' }],
    ['refuses less storage', { storageSize: '10Gi' }, { storageSize: '10G' }, SHRINK],
    ['admits the next minor version', { vectorVersion: '1.14.1' }, { vectorVersion: '1.15.5' }],
    ['refuses to skip a minor version', { vectorVersion: '1.14.1' }, { vectorVersion: '1.16.3' }, STEP],
    ['refuses to go back', { vectorVersion: '1.15.5' }, { vectorVersion: '1.14.1' }, BACK],
    ['admits the next key', { apiKeyVersion: 1 }, { apiKeyVersion: 2 }],
    ['refuses to skip a key', { apiKeyVersion: 1 }, { apiKeyVersion: 3 }, KEYS],
    ['refuses to go back to an older key', { apiKeyVersion: 2 }, { apiKeyVersion: 1 }, KEYS],
    [
      'admits canonical networks of both families',
      undefined,
      { allowedCidrs: '203.0.113.0/24,2001:db8::/32,0.0.0.0/0,::/0,192.0.2.7/32' },
    ],
    ['admits an empty list of networks', undefined, { allowedCidrs: '' }],
    ['refuses a network with host bits', undefined, { allowedCidrs: '10.0.0.1/8' }, CIDRS],
    ['refuses an address without a prefix', undefined, { allowedCidrs: '10.0.0.1' }, CIDRS],
    ['refuses a space in the list', undefined, { allowedCidrs: '10.0.0.0/8, 192.0.2.0/24' }, CIDRS],
    [
      'refuses 51 networks',
      undefined,
      { allowedCidrs: Array.from({ length: 51 }, (_, i) => `10.${i}.0.0/16`).join(',') },
      CIDRS,
    ],
    ['refuses another storage class', { storageClass: 'fast' }, { storageClass: 'slow' }, fixed('storageClass')],
    ['refuses another image', { imageName: 'a/b:1' }, { imageName: 'a/b:2' }, fixed('imageName')],
    ['refuses another cluster', { clusterId: ID }, { clusterId: OTHER }, fixed('clusterId')],
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
      { userId: OTHER, email: 'b@example.com', tokenHash: '1'.repeat(64), expiresAt: '2027-01-01T00:00:00Z' },
      ...PasswordReset.immutable.map(fixed),
    ],
  ]),
  ...cases(ObjectStorageAccount, {}, [
    ['admits a plain account', undefined, { tags: { team: 'search' } }],
    ['refuses a tag key of ours', undefined, { tags: { 'freehold.dev/x': '1' } }, TAGS],
    ['admits other limits', { maxBuckets: 1 }, { maxBuckets: 2 }],
    ['refuses another cluster', { clusterId: ID }, { clusterId: OTHER }, fixed('clusterId')],
  ]),
  ...cases(AccountBucket, { accountName: 'shop', bucketName: 'photos' }, [
    ['admits a lock with its days', undefined, { objectLock: true, lockDays: 1, versioning: 'Enabled' }],
    ['refuses a tag key of Kubernetes', undefined, { tags: { 'kubernetes.io/x': '1' } }, TAGS],
    [
      'refuses a lock without versions',
      undefined,
      { objectLock: true, versioning: 'Suspended' },
      'objectLock needs versioning Enabled: a lock holds versions of objects',
    ],
    ['refuses days without a lock', undefined, { lockDays: 1 }, 'lockDays needs objectLock'],
    ['admits other rules', {}, { corsRules: [{ origins: ['*'], methods: ['GET'] }] }],
    ['refuses another account', {}, { accountName: 'other' }, fixed('accountName')],
    ['refuses another name', {}, { bucketName: 'films' }, fixed('bucketName')],
    ['refuses a lock afterwards', {}, { objectLock: true }, fixed('objectLock')],
  ]),
  ...cases(ObjectAccessKey, { accountName: 'shop' }, [
    ['admits a prefix in one bucket', undefined, { buckets: ['photos'], prefix: 'in/' }],
    ['refuses a prefix in every bucket', undefined, { prefix: 'in/' }, 'prefix needs exactly one bucket'],
    [
      'refuses a prefix that is a pattern',
      undefined,
      { buckets: ['photos'], prefix: 'in/*' },
      'prefix holds no *, ? or $',
    ],
    ['admits a session with an end', undefined, { isSession: true, expiresAt: '2026-12-01T00:00:00Z' }],
    ['refuses a session without end', undefined, { isSession: true }, 'a session needs expiresAt'],
    ['admits setting it inactive', {}, { isActive: false }],
    ['refuses another account', {}, { accountName: 'other' }, fixed('accountName')],
    ['refuses another owner', {}, { managedIdentityId: ID }, fixed('managedIdentityId')],
    ['refuses another permission', {}, { permission: 'Admin' }, fixed('permission')],
    ['refuses other buckets', { buckets: ['photos'] }, { buckets: ['films'] }, fixed('buckets')],
    [
      'refuses another prefix',
      { buckets: ['photos'], prefix: 'in/' },
      { buckets: ['photos'], prefix: 'out/' },
      fixed('prefix'),
    ],
    [
      'refuses to make a session of it',
      { expiresAt: '2026-12-01T00:00:00Z' },
      { isSession: true, expiresAt: '2026-12-01T00:00:00Z' },
      fixed('isSession'),
    ],
    [
      'refuses a longer life',
      { expiresAt: '2026-12-01T00:00:00Z' },
      { expiresAt: '2027-12-01T00:00:00Z' },
      fixed('expiresAt'),
    ],
  ]),
]
