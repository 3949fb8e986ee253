import { Boundary } from '../../src/crds/boundaries.ts'
import { PlatformCluster } from '../../src/crds/clusters.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { MemberInvitation, PasswordReset } from '../../src/crds/invitations.ts'
import { ManagedIdentity } from '../../src/crds/managedidentities.ts'
import { NameClaim } from '../../src/crds/nameclaims.ts'
import { AccountBucket, ObjectAccessKey, ObjectStorageAccount } from '../../src/crds/objectstorage.ts'
import { ComputePlan } from '../../src/crds/plans.ts'
import { BoundaryTrust, DenyAssignment, JitRequest, RoleAssignment, RoleDefinition } from '../../src/crds/rbac.ts'
import { RelationalCluster, RelationalSnapshot } from '../../src/crds/relational.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { SqlInstance } from '../../src/crds/sql.ts'
import { IdpBinding, SsoConnection } from '../../src/crds/sso.ts'
import { SecretVault, VaultEntry } from '../../src/crds/vaults.ts'
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
const OWN_USER = "ownerName must not be one of the engine's own: postgres, streaming_replica and what begins with pg_"
const CODE = 'parameters must not hold what runs code or belongs to the platform, such as archive_command or ssl'
const TAKE_OVER =
  'takesOver goes with restoreFrom in the same group: only what holds the same data can take a name over'
const EULA = "acceptEula must be true: SQL Server runs only for those who accept Microsoft's licence terms"
const EDITION =
  "edition must be one of the engine's: Express, Developer, Evaluation, Standard, Enterprise for MsSql, Community for MariaDb"
const ENGINE_VERSION = "engineVersion must be one of the engine's: 2019, 2022 for MsSql, 10.11, 11.4, 11.8 for MariaDb"
const MEMORY = 'memoryLimit must be at least 2Gi for MsSql, which does not start with less'
const OLDER = 'engineVersion cannot go back: an older engine does not read the newer files'
const LICENSE = 'licenseVersion grows by one at a time: each step is one product key'
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
const RESTORE = { clusterName: 'orders', snapshotId: '0ad1b2c3-4d5e-4f60-8a7b-9c0d1e2f3a4b' }
const THIRD = '9d2e7f80-3b4c-4d5e-8f60-718293a4b5c6'
const ONE_SUBJECT = 'a deny names exactly one of principalId and isEveryone'
const holder = { kind: 'VectorCluster', namespace: 'search-0123456789', name: 'products', incarnation: ID }

const [EARLY, LATE] = ['2029-12-31T23:00:00Z', '2030-01-01T00:00:00Z']
const ENDS = 'expiresOn must be later than notBefore'
const HISTORY = {
  life: 1,
  lastVersion: 1,
  versions: [{ version: 1, createdAt: '2026-01-01T00:00:00Z' }],
  softDelete: true,
  purgeProtection: false,
}

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
  ...cases(SqlInstance, { engine: 'MariaDb' }, [
    ['a MariaDB with nothing else', undefined, {}],
    ['a SQL Server whose terms are accepted', undefined, { engine: 'MsSql', acceptEula: true }],
    ['a SQL Server whose terms are not', undefined, { engine: 'MsSql' }, EULA],
    ['an edition of the other engine', undefined, { edition: 'Express' }, EDITION],
    ['a version of the other engine', undefined, { engineVersion: '2022' }, ENGINE_VERSION],
    ['too little memory for SQL Server', undefined, { engine: 'MsSql', acceptEula: true, memoryLimit: '1Gi' }, MEMORY],
    ['little memory for MariaDB', undefined, { memoryLimit: '1Gi' }],
    [
      'a request over its limit',
      undefined,
      { cpuRequest: '2', cpuLimit: '1' },
      'cpuLimit must not be less than cpuRequest',
    ],
    [
      'and of memory',
      undefined,
      { memoryRequest: '2Gi', memoryLimit: '1Gi' },
      'memoryLimit must not be less than memoryRequest',
    ],
    ['a tag of ours', undefined, { tags: { 'freehold.dev/x': 'y' } }, TAGS],
    ['networks that are none', undefined, { allowedCidrs: '10.0.0.1/8' }, CIDRS],
    ['more storage', { storageSize: '10Gi' }, { storageSize: '20Gi' }],
    ['less storage', { storageSize: '20Gi' }, { storageSize: '10Gi' }, SHRINK],
    ['a newer version', { engineVersion: '10.11' }, { engineVersion: '11.4' }],
    ['an older version', { engineVersion: '11.4' }, { engineVersion: '10.11' }, OLDER],
    ['no version any more', { engineVersion: '11.4' }, {}, OLDER],
    ['the next product key', { licenseVersion: 1 }, { licenseVersion: 2 }],
    ['two product keys at once', { licenseVersion: 1 }, { licenseVersion: 3 }, LICENSE],
    ['another engine', {}, { engine: 'MsSql', acceptEula: true }, fixed('engine')],
    ['another cluster', { clusterId: ID }, { clusterId: OTHER }, fixed('clusterId')],
    ['another storage class', { storageClass: 'fast' }, {}, fixed('storageClass')],
    ['another collation', {}, { collation: 'Latin1_General_BIN' }, fixed('collation')],
    ['another time zone', {}, { timeZone: 'Europe/Berlin' }, fixed('timeZone')],
    ['another database', {}, { databaseName: 'shop' }, fixed('databaseName')],
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
  ...cases(SecretVault, {}, [
    ['admits an empty spec', undefined, {}],
    ['refuses a tag key of ours', undefined, { tags: { 'freehold.dev/x': '1' } }, TAGS],
    ['admits to turn soft delete on', { softDeleteEnabled: false }, {}],
    [
      'refuses to turn soft delete off',
      {},
      { softDeleteEnabled: false },
      'soft delete cannot be turned off again: secrets would be lost that people count on recovering',
    ],
    [
      'refuses to turn purge protection off',
      { enablePurgeProtection: true },
      {},
      'purge protection cannot be turned off again',
    ],
    [
      'refuses purge protection without soft delete',
      undefined,
      { softDeleteEnabled: false, enablePurgeProtection: true },
      'purge protection needs soft delete: without it a deletion would remove a secret at once',
    ],
    ['refuses another retention', {}, { softDeleteRetentionDays: 31 }, fixed('softDeleteRetentionDays')],
    ['refuses another cluster', { clusterId: ID }, { clusterId: OTHER }, fixed('clusterId')],
  ]),
  ...cases(VaultEntry, { vaultName: 'shop', secretName: 'DbPassword' }, [
    ['admits a plain secret', undefined, { tags: { team: 'x' } }],
    ['refuses a tag key of ours', undefined, { tags: { 'freehold.dev/x': '1' } }, TAGS],
    ['refuses another vault', {}, { vaultName: 'other' }, fixed('vaultName')],
    ['refuses another name', {}, { secretName: 'Other' }, fixed('secretName')],
    ['admits an end after the beginning', undefined, { notBefore: EARLY, expiresOn: LATE }],
    ['refuses an end before the beginning', undefined, { notBefore: LATE, expiresOn: EARLY }, ENDS],
    ['refuses an end at the beginning', undefined, { notBefore: LATE, expiresOn: '2030-01-01T01:00:00+01:00' }, ENDS],
    ['admits a deletion', { history: HISTORY }, { history: HISTORY, state: 'Deleted' }],
    ['admits a recovery', { history: HISTORY, state: 'Deleted' }, { history: HISTORY }],
    ['admits a purge of a deleted one', { history: HISTORY, state: 'Deleted' }, { history: HISTORY, state: 'Purged' }],
    [
      'refuses a purge under protection',
      { history: { ...HISTORY, purgeProtection: true }, state: 'Deleted' },
      { history: { ...HISTORY, purgeProtection: true }, state: 'Purged' },
      'the vault is under purge protection: a deleted secret goes when its time is over',
    ],
    [
      'refuses a purge of a live one',
      { history: HISTORY },
      { history: HISTORY, state: 'Purged' },
      'only a deleted secret is purged: make it Deleted first',
    ],
    [
      'refuses to delete a purged one',
      { history: HISTORY, state: 'Purged' },
      { history: HISTORY, state: 'Deleted' },
      'a purged secret has nothing left to delete',
    ],
    [
      'refuses to be mounted as a Secret of values',
      undefined,
      { mountAs: { secretName: 'vent-x' } },
      'mountAs.secretName does not begin with vent-: such Secrets hold wrapped keys and values',
    ],
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
  ...cases(RelationalCluster, {}, [
    ['admits an empty spec', undefined, {}],
    [
      'admits what grows and goes up',
      { storageSize: '5Gi', engineVersion: '15' },
      { storageSize: '10Gi', engineVersion: '17' },
    ],
    [
      'admits parameters of the engine',
      undefined,
      { parameters: { work_mem: '16MB', 'pg_stat_statements.max': '500' } },
    ],
    ['refuses a tag key of ours', undefined, { tags: { 'freehold.dev/x': '1' } }, TAGS],
    [
      'refuses a cpu limit below the request',
      undefined,
      { cpuRequest: '2', cpuLimit: '1500m' },
      'cpuLimit must not be less than cpuRequest',
    ],
    [
      'refuses a memory limit below the request',
      undefined,
      { memoryRequest: '2Gi', memoryLimit: '1Gi' },
      'memoryLimit must not be less than memoryRequest',
    ],
    ['refuses less storage', { storageSize: '10Gi' }, { storageSize: '5Gi' }, SHRINK],
    [
      'refuses less storage for the log',
      { walStorageSize: '2Gi' },
      { walStorageSize: '1Gi' },
      SHRINK.replace('storageSize', 'walStorageSize'),
    ],
    [
      'refuses to give up the volume of the log',
      { walStorageSize: '2Gi' },
      {},
      'walStorageSize stays once it is set: the log cannot move back to the data volume',
    ],
    [
      'refuses an older engine',
      { engineVersion: '17' },
      { engineVersion: '16' },
      'engineVersion cannot go back: an older engine does not read the newer files',
    ],
    [
      "refuses the engine's own database",
      undefined,
      { databaseName: 'postgres' },
      "databaseName must not be one of the engine's own: postgres, template0, template1",
    ],
    ["refuses the engine's own user", undefined, { ownerName: 'pg_monitor' }, OWN_USER],
    ['refuses the user of replication', undefined, { ownerName: 'streaming_replica' }, OWN_USER],
    [
      'refuses a parameter that is no name',
      undefined,
      { parameters: { 'work mem': '1' } },
      'a name in parameters has 1 to 63 lower-case letters, digits, underscores and dots',
    ],
    ['refuses a parameter that runs a command', undefined, { parameters: { archive_command: 'sh' } }, CODE],
    ['refuses a parameter that loads code', undefined, { parameters: { shared_preload_libraries: 'x' } }, CODE],
    ['refuses a parameter that belongs to the platform', undefined, { parameters: { ssl_ca_file: '/x' } }, CODE],
    [
      'refuses as many synchronous replicas as instances',
      undefined,
      { replicas: 2, synchronousReplicas: 2 },
      'synchronousReplicas must be less than replicas: the primary is not a replica',
    ],
    ['refuses networks that are none', undefined, { allowedCidrs: '10.0.0.1/8' }, CIDRS],
    ['refuses to take a name over without the data', undefined, { takesOver: 'orders' }, TAKE_OVER],
    [
      'refuses to take a name over with the data of another group',
      undefined,
      { takesOver: 'orders', restoreFrom: { ...RESTORE, resourceGroup: 'shop' } },
      TAKE_OVER,
    ],
    ['admits to take a name over with its data', undefined, { takesOver: 'orders', restoreFrom: RESTORE }],
    ...['clusterId', 'storageClass', 'imageName', 'databaseName', 'ownerName'].map(
      (field): [string, object, object, string] => [
        `refuses another ${field}`,
        { [field]: field === 'clusterId' ? ID : 'one' },
        { [field]: field === 'clusterId' ? OTHER : 'two' },
        fixed(field),
      ],
    ),
    [
      'refuses another origin',
      { restoreFrom: RESTORE },
      { restoreFrom: { ...RESTORE, snapshotId: OTHER } },
      fixed('restoreFrom'),
    ],
    [
      'refuses another name to take over',
      { takesOver: 'a', restoreFrom: RESTORE },
      { takesOver: 'b', restoreFrom: RESTORE },
      fixed('takesOver'),
    ],
  ]),
  ...cases(RelationalSnapshot, { clusterName: 'orders', name: 'before' }, [
    [
      'admits another description and retention',
      { retentionDays: 3 },
      { retentionDays: 7, description: 'Kept longer' },
    ],
    ['refuses another database', {}, { clusterName: 'other' }, fixed('clusterName')],
    ['refuses another name', {}, { name: 'after' }, fixed('name')],
    ['refuses another method', {}, { method: 'Volume' }, fixed('method')],
    ['refuses another kind', {}, { kind: 'Final' }, fixed('kind')],
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
