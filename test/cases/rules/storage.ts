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
/** Without a version, because nobody could delete the object otherwise. */
const PROTECTED = { ...HISTORY, versions: [], purgeProtection: true }

export const STORAGE_RULES: readonly RuleCase[] = [
  ...cases(SecretVault, {}, [
    ['admits an empty spec', undefined, {}],
    ['refuses a tag key of ours', undefined, { tags: { 'freehold.dev/x': '1' } }, TAGS],
    ['admits to turn soft delete on', { softDeleteEnabled: false }, {}],
    [
      'refuses to turn soft delete off',
      {},
      { softDeleteEnabled: false },
      'soft delete cannot be turned off: secrets that people expect to recover would be lost',
    ],
    [
      'refuses to turn purge protection off',
      { enablePurgeProtection: true },
      {},
      'purge protection cannot be turned off',
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
    ['admits a value of a Secret', { history: HISTORY }, { history: HISTORY, valueFrom: SOURCE }],
    [
      'refuses a value for a deleted one',
      { history: HISTORY, state: 'Deleted' },
      { history: HISTORY, state: 'Deleted', valueFrom: SOURCE },
      'a deleted secret takes no value: set its state to Active first',
    ],
    [
      'admits the deletion of one whose value is still to be taken',
      { history: HISTORY, valueFrom: SOURCE },
      { history: HISTORY, state: 'Deleted', valueFrom: SOURCE },
    ],
    ['admits a recovery', { history: HISTORY, state: 'Deleted' }, { history: HISTORY }],
    ['admits a purge of a deleted one', { history: HISTORY, state: 'Deleted' }, { history: HISTORY, state: 'Purged' }],
    [
      'refuses a purge under protection',
      { history: PROTECTED, state: 'Deleted' },
      { history: PROTECTED, state: 'Purged' },
      'the vault is under purge protection: a deleted secret is purged only when its time is over',
    ],
    [
      'refuses a purge of a live one',
      { history: HISTORY },
      { history: HISTORY, state: 'Purged' },
      'only a deleted secret can be purged: set its state to Deleted first',
    ],
    [
      'refuses to delete a purged one',
      { history: HISTORY, state: 'Purged' },
      { history: HISTORY, state: 'Deleted' },
      'a purged secret cannot be deleted again',
    ],
    [
      'refuses to be mounted as a Secret of values',
      undefined,
      { mountAs: { secretName: 'vent-x' } },
      'mountAs.secretName must not begin with vent-: such Secrets hold wrapped keys and values',
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
    ...['/', '/in', 'a//', '.', '..', './', '../in', 'users/../', 'users/./x', 'users/..'].map(
      (prefix): [string, undefined, object, string] => [
        `refuses a prefix that a store reads as another path: ${prefix}`,
        undefined,
        { buckets: ['photos'], prefix },
        'prefix must not begin with / or contain //, and none of its parts may be . or .. alone',
      ],
    ),
    ['admits a prefix with dots in names', undefined, { buckets: ['photos'], prefix: 'in/.hidden/a..b/...' }],
    [
      'refuses a prefix that is a pattern',
      undefined,
      { buckets: ['photos'], prefix: 'in/*' },
      'prefix must not contain *, ? or $',
    ],
    ['admits a session with an end', undefined, { isSession: true, expiresAt: '2100-12-01T00:00:00Z' }],
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
      { expiresAt: '2100-12-01T00:00:00Z' },
      { isSession: true, expiresAt: '2100-12-01T00:00:00Z' },
      fixed('isSession'),
    ],
    [
      'refuses a longer life',
      { expiresAt: '2100-12-01T00:00:00Z' },
      { expiresAt: '2101-12-01T00:00:00Z' },
      fixed('expiresAt'),
    ],
  ]),
]
