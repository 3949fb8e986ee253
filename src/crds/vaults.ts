import { z } from 'zod'
import { ENTRY_STATES, VERSIONS_KEPT } from '../contracts/vaults/history.ts'
import { SECRET_NAME_PATTERN, vaultOfEntry } from '../contracts/vaults/names.ts'
import { RESERVED_NAME_PATTERN } from '../core/childStems.ts'
import { defineKind, type ObjectOf, partColumns, READ_VERBS, type Rule, resourceColumns, statusWith } from './define.ts'
import {
  DateTime,
  integerBetween,
  mapOf,
  matching,
  ObjectName,
  Off,
  On,
  PlainText,
  ResourceName,
  Tags,
} from './fields.ts'
import { secretAdmission } from './referenceAdmission.ts'
import { tagKeyRule } from './tags.ts'
import { OwnClusterId } from './workloadFields.ts'

const vaultSpec = z.strictObject({
  clusterId: OwnClusterId,
  softDeleteEnabled: On.describe('Whether deleted secrets can be recovered; cannot be turned off'),
  softDeleteRetentionDays: integerBetween(7, 90)
    .default(30)
    .describe('Days until a deleted secret is purged; immutable'),
  enablePurgeProtection: Off.describe(
    'Whether deleted secrets cannot be purged before their time; cannot be turned off',
  ),
  tags: Tags.prefault({}),
})
type VaultSpec = z.output<typeof vaultSpec>

const vaultRules: Rule<VaultSpec>[] = [
  tagKeyRule,
  {
    cel: '!oldSelf.softDeleteEnabled || self.softDeleteEnabled',
    message: 'soft delete cannot be turned off: secrets that people expect to recover would be lost',
    code: 'SOFT_DELETE_REQUIRED',
    field: 'softDeleteEnabled',
    test: (next, previous) => !previous.softDeleteEnabled || next.softDeleteEnabled,
  },
  {
    cel: '!oldSelf.enablePurgeProtection || self.enablePurgeProtection',
    message: 'purge protection cannot be turned off',
    code: 'PURGE_PROTECTED',
    field: 'enablePurgeProtection',
    test: (next, previous) => !previous.enablePurgeProtection || next.enablePurgeProtection,
  },
  {
    cel: 'self.softDeleteEnabled || !self.enablePurgeProtection',
    message: 'purge protection needs soft delete: without it a deletion would remove a secret at once',
    field: 'enablePurgeProtection',
    test: (next) => next.softDeleteEnabled || !next.enablePurgeProtection,
  },
]

/** A vault of secrets under a name that is unique on the platform. */
export const SecretVault = defineKind({
  group: 'data',
  kind: 'SecretVault',
  uniqueName: 'Vault',
  shortNames: ['svault'],
  placement: 'group',
  area: 'vaults',
  actions: 'secretvault',
  description: 'A vault of secrets. Its name is unique on the platform.',
  spec: vaultSpec,
  status: statusWith({
    secretCount: z.int().describe('Secrets that are live'),
    deletedCount: z.int().describe('Secrets that are deleted but not yet purged'),
    keyId: z.string().describe('Id of the platform key that wraps data keys now'),
    pendingRewraps: z.int().describe('Secrets whose data key is still wrapped by an older platform key'),
  }),
  immutable: ['clusterId', 'softDeleteRetentionDays'],
  rules: vaultRules,
  admission: [
    {
      on: 'DELETE',
      cel: '!oldObject.spec.enablePurgeProtection || (oldObject.?status.?secretCount.orValue(0) + oldObject.?status.?deletedCount.orValue(0)) == 0',
      message: 'a vault under purge protection can be deleted only when it holds no secrets, live or deleted',
    },
  ],
  columns: resourceColumns(
    { name: 'Secrets', path: '.status.secretCount', type: 'integer' },
    { name: 'Deleted', path: '.status.deletedCount', type: 'integer' },
    { name: 'Soft Delete', path: '.spec.softDeleteEnabled', type: 'boolean' },
    { name: 'Purge Protection', path: '.spec.enablePurgeProtection', type: 'boolean' },
    { name: 'Key', path: '.status.keyId', priority: 1 },
    { name: 'Pending Rewraps', path: '.status.pendingRewraps', type: 'integer', priority: 1 },
  ),
})
export type SecretVault = ObjectOf<typeof SecretVault>

const attributes = {
  contentType: PlainText.max(255).optional().describe('What the value is, such as text/plain; for readers only'),
  enabled: On.describe('Whether the value may be read'),
  notBefore: DateTime.optional().describe('When the value becomes readable; at once when absent'),
  expiresOn: DateTime.optional().describe('When the value expires; never when absent'),
}

const SecretKey = matching(253, /^[A-Za-z0-9._-]+$/, 'must be letters, digits, dots, hyphens and underscores')

const history = z
  .strictObject({
    life: z.int().min(1).describe('Number of the life: a purge ends a life, and the next value begins another'),
    lastVersion: z
      .int()
      .min(0)
      .describe('Highest version ever given; numbers are never reused, not even after a purge'),
    versions: z
      .array(
        z.strictObject({
          version: z.int().min(1).describe('Number of the version, ascending from 1'),
          ...attributes,
          createdAt: DateTime.describe('When the version was written'),
          createdBy: PlainText.max(128).optional().describe('Who wrote the version; absent for one of valueFrom'),
          bytes: z.int().min(0).optional().describe('Bytes of its value; absent for versions of earlier releases'),
        }),
      )
      .max(VERSIONS_KEPT)
      .describe('The newest 100 versions of this life, oldest first'),
    softDelete: z.boolean().describe("The vault's softDeleteEnabled, copied for the rules of this object"),
    purgeProtection: z.boolean().describe("The vault's enablePurgeProtection, copied for the rules of this object"),
    isManaged: Off.describe('Whether the platform itself writes the secret, and nobody else may'),
    createdAt: DateTime.optional().describe('When this life got its first version'),
    updatedAt: DateTime.optional().describe('When a version was written or the state changed'),
    updatedBy: PlainText.max(128).optional().describe('Who last did this through REST'),
    deletedAt: DateTime.optional().describe('When it was deleted; absent if it is not'),
    purgedAt: DateTime.optional().describe('When it was purged; absent if it is not'),
    source: z
      .strictObject({
        secretName: PlainText.max(253).describe('Name of that Secret'),
        key: PlainText.max(253).describe('Its entry with the value'),
        uid: PlainText.max(64).describe('metadata.uid of that Secret'),
        resourceVersion: PlainText.max(64).describe('metadata.resourceVersion of that Secret'),
        version: z.int().min(1).describe('The version that has its value'),
      })
      .optional()
      .describe('The Secret of valueFrom as it was when its value was last taken'),
  })
  .describe('Record of versions and states; written by the platform only')

const entrySpec = z.strictObject({
  vaultName: ResourceName.describe('The SecretVault in the same namespace; immutable'),
  secretName: z
    .string()
    .regex(
      new RegExp(SECRET_NAME_PATTERN),
      'must be 1 to 127 letters, digits and hyphens that begin with a letter or digit',
    )
    .max(127)
    .describe('Name of the secret in the vault, without regard to case; immutable'),
  ...attributes,
  tags: mapOf(PlainText.max(256), 15)
    .prefault({})
    .describe('Key-value pairs to find secrets by, at most 15; nothing else depends on them'),
  state: z
    .enum(ENTRY_STATES)
    .default('Active')
    .describe('Active can be read; Deleted can be recovered to Active; Purged removes the values for good'),
  valueFrom: z
    .strictObject({
      secretName: ObjectName.describe('Name of the Secret, an Opaque one without another owner'),
      key: SecretKey.describe('Its entry with the value, at most 64 KiB'),
    })
    .optional()
    .describe('A Secret of this namespace. Its entry becomes a version, and a further one whenever it changes'),
  mountAs: z
    .strictObject({
      secretName: ObjectName.describe('Name of the Secret to create'),
      key: SecretKey.default('value').describe('Its entry for the value'),
    })
    .optional()
    .describe('A Secret of this namespace that is kept at the current value, for workloads to mount'),
  history: history.optional(),
})
type EntrySpec = z.output<typeof entrySpec>

const RESERVED_NAME = new RegExp(RESERVED_NAME_PATTERN)
const protectsPurge = (spec: EntrySpec) => spec.history?.purgeProtection === true

const entryRules: Rule<EntrySpec>[] = [
  tagKeyRule,
  {
    cel: '!has(self.notBefore) || !has(self.expiresOn) || self.expiresOn > self.notBefore',
    message: 'expiresOn must be later than notBefore',
    field: 'expiresOn',
    test: ({ notBefore, expiresOn }) =>
      notBefore === undefined || expiresOn === undefined || Date.parse(expiresOn) > Date.parse(notBefore),
  },
  {
    cel: "self.state != 'Purged' || !has(self.history) || !self.history.purgeProtection",
    message: 'the vault is under purge protection: a deleted secret is purged only when its time is over',
    code: 'PURGE_PROTECTED',
    field: 'state',
    test: (next) => next.state !== 'Purged' || !protectsPurge(next),
  },
  {
    cel: "oldSelf.state != 'Active' || self.state != 'Purged' || !has(self.history) || !self.history.softDelete",
    message: 'only a deleted secret can be purged: set its state to Deleted first',
    code: 'INVALID_STATE',
    field: 'state',
    test: (next, previous) =>
      previous.state !== 'Active' || next.state !== 'Purged' || next.history?.softDelete !== true,
  },
  {
    cel: "oldSelf.state != 'Purged' || self.state != 'Deleted'",
    message: 'a purged secret cannot be deleted again',
    code: 'INVALID_STATE',
    field: 'state',
    test: (next, previous) => previous.state !== 'Purged' || next.state !== 'Deleted',
  },
  {
    cel: "self.state == 'Active' || !has(self.valueFrom) || has(oldSelf.valueFrom)",
    message: 'a deleted secret takes no value: set its state to Active first',
    code: 'SECRET_DELETED',
    field: 'valueFrom',
    test: (next, previous) =>
      next.state === 'Active' || next.valueFrom === undefined || previous.valueFrom !== undefined,
  },
  {
    cel: `!has(self.mountAs) || !self.mountAs.secretName.matches('${RESERVED_NAME_PATTERN}')`,
    message: 'mountAs.secretName must not begin like the names of the platform, such as vent- or relcowner-',
    field: 'mountAs',
    test: ({ mountAs }) => mountAs === undefined || !RESERVED_NAME.test(mountAs.secretName),
  },
]

/** One secret of a vault: its attributes and versions. Values are stored encrypted in Secrets, never here. */
export const VaultEntry = defineKind({
  group: 'data',
  kind: 'VaultEntry',
  restNaming: { collection: 'secrets', by: 'secretName' },
  shortNames: ['vent'],
  placement: 'group',
  name: 'free',
  area: 'vaults',
  // Writing secrets is a data action, so no role of Kubernetes' own gets it by aggregation.
  aggregate: false,
  partOf: { collection: 'secretvaults', nameOf: vaultOfEntry },
  forms: {
    'secretvault/read': READ_VERBS,
    'secretvault/writeSecrets': ['create', 'update', 'patch'],
    'secretvault/readSecrets': ['readsecrets'],
  },
  description:
    'A secret of a vault, named `<vault>-<first 20 hex of sha256 of its name in lower case>`. Never holds its value.',
  spec: entrySpec,
  status: statusWith({
    version: z.int().describe('Number of the current version; absent without one'),
    versionCount: z.int().describe('Number of stored versions, at most 100'),
    validityChangedAt: DateTime.describe(
      'When a notBefore or expiresOn of it was last reached; absent before the first',
    ),
    purgeAt: DateTime.describe('When the deleted secret is purged; absent unless it is deleted'),
    keyId: z.string().describe('Id of the platform key that wraps the data key'),
    purgedLife: z.int().describe('The last life whose keys and values are deleted'),
    prunedThrough: z.int().describe('The values of this version and of all earlier ones are deleted'),
    mountedVersion: z.int().describe('Version that the Secret of mountAs holds; absent without it'),
    mountedSecret: z.string().describe('Name of the Secret of mountAs while it exists'),
  }),
  immutable: ['vaultName', 'secretName'],
  protectedFields: { history: 'administrators', mountAs: 'readsecrets' },
  rules: entryRules,
  admission: [
    {
      // Rights are checked on the vault that the name contains. The controller compares the hash.
      on: 'CREATE',
      cel: `object.metadata.name.startsWith(object.spec.vaultName + '-') && object.metadata.name.substring(size(object.spec.vaultName) + 1).matches('^[0-9a-f]{20}$')`,
      message:
        'the name of a VaultEntry must be <vaultName>-<first 20 hex digits of the SHA-256 of secretName in lower case>',
    },
    {
      on: 'WRITE',
      cel: "variables.isExempt || request.operation == 'CREATE' || !oldObject.spec.?history.?isManaged.orValue(false) || object.spec == oldObject.spec",
      message: 'the platform itself writes this secret',
    },
    // Otherwise the controller's right to every Secret here could be misused.
    secretAdmission('valueFrom'),
    {
      on: 'DELETE',
      cel: 'variables.isPlatform || !oldObject.spec.?history.?purgeProtection.orValue(false) || size(oldObject.spec.?history.?versions.orValue([])) == 0',
      message:
        'the vault is under purge protection: a secret goes only when it was deleted, by its state, and its time is over',
    },
  ],
  columns: partColumns(
    { name: 'Vault', path: '.spec.vaultName' },
    { name: 'Secret', path: '.spec.secretName' },
    { name: 'State', path: '.spec.state' },
    { name: 'Version', path: '.status.version', type: 'integer' },
    { name: 'Enabled', path: '.spec.enabled', type: 'boolean' },
    { name: 'Expires', path: '.spec.expiresOn' },
    { name: 'Key', path: '.status.keyId', priority: 1 },
    { name: 'Purge At', path: '.status.purgeAt', priority: 1 },
  ),
  selectable: ['spec.vaultName', 'spec.state'],
})
export type VaultEntry = ObjectOf<typeof VaultEntry>
