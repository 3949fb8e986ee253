import { AccountBucket, ObjectAccessKey, ObjectStorageAccount } from '../../../src/crds/objectstorage.ts'
import { SecretVault, VaultEntry } from '../../../src/crds/vaults.ts'
import { cases, fixed, ID, OTHER, type RuleCase, TAGS } from './case.ts'

const [EARLY, LATE] = ['2029-12-31T23:00:00Z', '2030-01-01T00:00:00Z']

const ENDS = 'expiresOn must be later than notBefore'

const SOURCE = { secretName: 'source', key: 'value' }

const HISTORY = {
  life: 1,
  lastVersion: 1,
  versions: [{ version: 1, createdAt: '2026-01-01T00:00:00Z' }],
  softDelete: true,
  purgeProtection: false,
}
/** Without a version, so that the test can delete the object afterwards. */
const PROTECTED = { ...HISTORY, versions: [], purgeProtection: true }

export const STORAGE_RULES: readonly RuleCase[] = [
  ...cases(SecretVault, {}, [
    ['an empty spec', undefined, {}],
    ['a tag key of the platform', undefined, { tags: { 'freehold.dev/x': '1' } }, TAGS],
    ['soft delete turned on', { softDeleteEnabled: false }, {}],
    [
      'soft delete turned off',
      {},
      { softDeleteEnabled: false },
      'soft delete cannot be turned off: secrets that people expect to recover would be lost',
    ],
    ['purge protection turned off', { enablePurgeProtection: true }, {}, 'purge protection cannot be turned off'],
    [
      'purge protection without soft delete',
      undefined,
      { softDeleteEnabled: false, enablePurgeProtection: true },
      'purge protection needs soft delete: without it a deletion would remove a secret at once',
    ],
    ['another retention', {}, { softDeleteRetentionDays: 31 }, fixed('softDeleteRetentionDays')],
    ['another cluster', { clusterId: ID }, { clusterId: OTHER }, fixed('clusterId')],
  ]),
  ...cases(VaultEntry, { vaultName: 'shop', secretName: 'DbPassword' }, [
    ['a plain secret', undefined, { tags: { team: 'x' } }],
    ['a tag key of the platform', undefined, { tags: { 'freehold.dev/x': '1' } }, TAGS],
    ['another vault', {}, { vaultName: 'other' }, fixed('vaultName')],
    ['another name', {}, { secretName: 'Other' }, fixed('secretName')],
    ['expiresOn after notBefore', undefined, { notBefore: EARLY, expiresOn: LATE }],
    ['expiresOn before notBefore', undefined, { notBefore: LATE, expiresOn: EARLY }, ENDS],
    ['expiresOn at notBefore', undefined, { notBefore: LATE, expiresOn: '2030-01-01T01:00:00+01:00' }, ENDS],
    ['a deletion', { history: HISTORY }, { history: HISTORY, state: 'Deleted' }],
    ['a value of a Secret', { history: HISTORY }, { history: HISTORY, valueFrom: SOURCE }],
    [
      'a value for a deleted secret',
      { history: HISTORY, state: 'Deleted' },
      { history: HISTORY, state: 'Deleted', valueFrom: SOURCE },
      'a deleted secret takes no value: set its state to Active first',
    ],
    [
      'the deletion of a secret with a pending valueFrom',
      { history: HISTORY, valueFrom: SOURCE },
      { history: HISTORY, state: 'Deleted', valueFrom: SOURCE },
    ],
    ['a recovery', { history: HISTORY, state: 'Deleted' }, { history: HISTORY }],
    ['a purge of a deleted secret', { history: HISTORY, state: 'Deleted' }, { history: HISTORY, state: 'Purged' }],
    [
      'a purge under purge protection',
      { history: PROTECTED, state: 'Deleted' },
      { history: PROTECTED, state: 'Purged' },
      'the vault is under purge protection: a deleted secret is purged only when its time is over',
    ],
    [
      'a purge of an active secret',
      { history: HISTORY },
      { history: HISTORY, state: 'Purged' },
      'only a deleted secret can be purged: set its state to Deleted first',
    ],
    [
      'the deletion of a purged secret',
      { history: HISTORY, state: 'Purged' },
      { history: HISTORY, state: 'Deleted' },
      'a purged secret cannot be deleted again',
    ],
    ...['vent-x', 'relcowner-shop', 'papppull-shop', 'registry-12345678'].map(
      (secretName): [string, undefined, object, string] => [
        `a mountAs with the name ${secretName}`,
        undefined,
        { mountAs: { secretName } },
        'mountAs.secretName must not begin like the names of the platform, such as vent- or relcowner-',
      ],
    ),
    ['a mountAs with the name of an application', undefined, { mountAs: { secretName: 'vcenter-password' } }],
  ]),
  ...cases(ObjectStorageAccount, {}, [
    ['a plain account', undefined, { tags: { team: 'search' } }],
    ['a tag key of the platform', undefined, { tags: { 'freehold.dev/x': '1' } }, TAGS],
    ['other limits', { maxBuckets: 1 }, { maxBuckets: 2 }],
    ['another cluster', { clusterId: ID }, { clusterId: OTHER }, fixed('clusterId')],
  ]),
  ...cases(AccountBucket, { accountName: 'shop', bucketName: 'photos' }, [
    ['a lock with days', undefined, { objectLock: true, lockDays: 1, versioning: 'Enabled' }],
    ['a tag key of Kubernetes', undefined, { tags: { 'kubernetes.io/x': '1' } }, TAGS],
    [
      'a lock without versions',
      undefined,
      { objectLock: true, versioning: 'Suspended' },
      'objectLock needs versioning Enabled: a lock holds versions of objects',
    ],
    ['days without a lock', undefined, { lockDays: 1 }, 'lockDays needs objectLock'],
    ['other corsRules', {}, { corsRules: [{ origins: ['*'], methods: ['GET'] }] }],
    ['another account', {}, { accountName: 'other' }, fixed('accountName')],
    ['another name', {}, { bucketName: 'films' }, fixed('bucketName')],
    ['an added lock', {}, { objectLock: true }, fixed('objectLock')],
  ]),
  ...cases(ObjectAccessKey, { accountName: 'shop' }, [
    ['a prefix with one bucket', undefined, { buckets: ['photos'], prefix: 'in/' }],
    ['a prefix without buckets', undefined, { prefix: 'in/' }, 'prefix needs exactly one bucket'],
    ...['/', '/in', 'a//', '.', '..', './', '../in', 'users/../', 'users/./x', 'users/..'].map(
      (prefix): [string, undefined, object, string] => [
        `the prefix ${prefix}`,
        undefined,
        { buckets: ['photos'], prefix },
        'prefix must not begin with / or contain //, and none of its parts may be . or .. alone',
      ],
    ),
    ['a prefix with dots in names', undefined, { buckets: ['photos'], prefix: 'in/.hidden/a..b/...' }],
    [
      'a prefix that is a pattern',
      undefined,
      { buckets: ['photos'], prefix: 'in/*' },
      'prefix must not contain *, ? or $',
    ],
    ['a session with expiresAt', undefined, { isSession: true, expiresAt: '2100-12-01T00:00:00Z' }],
    ['a session without expiresAt', undefined, { isSession: true }, 'a session needs expiresAt'],
    ['an inactive key', {}, { isActive: false }],
    ['another account', {}, { accountName: 'other' }, fixed('accountName')],
    ['another owner', {}, { managedIdentityId: ID }, fixed('managedIdentityId')],
    ['another permission', {}, { permission: 'Admin' }, fixed('permission')],
    ['other buckets', { buckets: ['photos'] }, { buckets: ['films'] }, fixed('buckets')],
    [
      'another prefix',
      { buckets: ['photos'], prefix: 'in/' },
      { buckets: ['photos'], prefix: 'out/' },
      fixed('prefix'),
    ],
    [
      'an added isSession',
      { expiresAt: '2100-12-01T00:00:00Z' },
      { isSession: true, expiresAt: '2100-12-01T00:00:00Z' },
      fixed('isSession'),
    ],
    [
      'a later expiresAt',
      { expiresAt: '2100-12-01T00:00:00Z' },
      { expiresAt: '2101-12-01T00:00:00Z' },
      fixed('expiresAt'),
    ],
  ]),
]
