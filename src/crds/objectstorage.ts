import { z } from 'zod'
import { ACCOUNT_NAME_MIN_LENGTH } from '../contracts/objectstorage.ts'
import { defineKind, type ObjectOf, partColumns, type Rule, resourceColumns, statusWith } from './define.ts'
import {
  DateTime,
  integerBetween,
  matching,
  Off,
  On,
  PlainText,
  ResourceName,
  ShownLine,
  Tags,
  Uuid,
} from './fields.ts'
import { denyDeleteWhileHeld, HeldBy } from './holders.ts'
import { tagKeyRule } from './tags.ts'
import { DeletionProtection, OwnClusterId } from './workloadFields.ts'

export const VERSIONING = ['Off', 'Enabled', 'Suspended'] as const
export const KEY_PERMISSIONS = ['Read', 'Write', 'ReadWrite', 'Admin'] as const
export type KeyPermission = (typeof KEY_PERMISSIONS)[number]

/** 1 GiB: less could not even hold the parts of one large upload. */
export const MIN_QUOTA_BYTES = 1_073_741_824
/** 8 PiB, the largest integer that a JSON number holds exactly. */
const QUOTA_MAX_BYTES = 9_007_199_254_740_991

const QuotaBytes = integerBetween(MIN_QUOTA_BYTES, QUOTA_MAX_BYTES)

export const BUCKET_NAME_PATTERN = '^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$'
export const BucketName = matching(
  63,
  new RegExp(BUCKET_NAME_PATTERN),
  'must be 3 to 63 lower-case letters, digits and hyphens that begin and end with a letter or digit',
)

/** A namespace for buckets, with limits over all of them. Its name is unique on the platform. */
export const ObjectStorageAccount = defineKind({
  group: 'data',
  kind: 'ObjectStorageAccount',
  uniqueName: 'StorageAccount',
  nameMin: ACCOUNT_NAME_MIN_LENGTH,
  shortNames: ['osa'],
  placement: 'group',
  area: 'objectstorage',
  actions: 'objectstorageaccounts',
  forms: { 'objectbuckets/write': ['createbuckets'], 'objectaccesskeys/write': ['createkeys'] },
  description: 'An account for object storage: buckets and access keys. Its name is unique on the platform.',
  spec: z.strictObject({
    clusterId: OwnClusterId,
    quotaBytes: QuotaBytes.optional().describe(
      'Maximum bytes in all buckets, at least 1 GiB; needs a store with quotas; unlimited when absent',
    ),
    quotaObjects: integerBetween(1, 1_000_000_000_000)
      .optional()
      .describe('Maximum number of objects in all buckets; needs a store with quotas; unlimited when absent'),
    maxBuckets: integerBetween(1, 1000).default(100).describe('Maximum number of buckets; lowering it removes none'),
    enablePublicAccess: Off.describe('Whether buckets may be public; false closes public ones'),
    defaultVersioning: z
      .enum(['Off', 'Enabled'])
      .default('Off')
      .describe('Default of buckets: Enabled keeps previous versions of objects, Off does not'),
    auditEnabled: On.describe("Whether requests to its buckets can be queried; the store's log is kept either way"),
    deletionProtection: DeletionProtection,
    tags: Tags.prefault({}),
  }),
  status: statusWith({
    endpoint: z.string().describe('URL of the S3 interface for workloads of the platform'),
    publicEndpoint: z.string().describe('URL of the S3 interface for everybody else; absent without one'),
    regionName: z.string().describe('Region that S3 clients sign their requests for'),
    forcePathStyle: z.boolean().describe('Whether S3 clients must name the bucket in the path, not in the host'),
    bucketCount: z.int().describe('Number of buckets in the account'),
    heldBy: HeldBy.describe('Buckets that block its deletion, as `accountbuckets/<name>`; at most 50'),
    bucketNames: z
      .array(
        z.object({
          storeName: z.string().describe('Name of the bucket at the endpoint'),
          bucketName: z.string().describe('Its name in the account'),
          since: DateTime.describe('When it was created'),
          until: DateTime.optional().describe('When its deletion was noticed; absent while it exists'),
        }),
      )
      .describe(
        'Current and former names of the buckets of the account at the endpoint, for the audit; at most 200 former ones',
      ),
    history: z
      .array(
        z.object({
          date: z.string().describe('The day, UTC, as yyyy-mm-dd'),
          usedBytes: z.int().describe('Bytes in all buckets when the day was recorded, versions included'),
        }),
      )
      .describe('Usage on each of the last 30 days, oldest first'),
  }),
  admission: [denyDeleteWhileHeld('still has buckets', 'delete them first')],
  immutable: ['clusterId'],
  rules: [tagKeyRule],
  columns: resourceColumns(
    { name: 'Buckets', path: '.status.bucketCount', type: 'integer' },
    { name: 'Endpoint', path: '.status.endpoint' },
    { name: 'Public', path: '.spec.enablePublicAccess', type: 'boolean', priority: 1 },
  ),
})
export type ObjectStorageAccount = ObjectOf<typeof ObjectStorageAccount>

const Days = integerBetween(1, 36_500)

export const LifecycleRule = z.strictObject({
  id: PlainText.min(1).max(255).describe('Name of the rule, unique in the bucket'),
  prefix: PlainText.max(1024)
    .optional()
    .describe('Applies to objects whose keys begin with it; all when absent or empty'),
  expireDays: Days.optional().describe('Days after which an object is deleted; never when absent'),
  noncurrentExpireDays: Days.optional().describe('Days after which a noncurrent version is deleted; never when absent'),
  abortUploadDays: Days.optional().describe(
    'Days after which an incomplete multipart upload is aborted; never when absent',
  ),
  enabled: z.boolean().optional().describe('Whether the store applies the rule; true when absent'),
})

/** Fills in the defaults of absent fields: the schema of a list's items has none, see `completeProvider`. */
export function completeLifecycleRule<Rule extends z.output<typeof LifecycleRule>>(rule: Rule) {
  return { ...rule, prefix: rule.prefix ?? '', enabled: rule.enabled ?? true }
}

export const CORS_METHODS = ['GET', 'PUT', 'POST', 'DELETE', 'HEAD'] as const
export const CorsRule = z.strictObject({
  origins: z
    .array(
      matching(
        255,
        /^(\*|null|[a-z][a-z0-9+.-]*:\/\/[A-Za-z0-9.*-]*[A-Za-z0-9*](:[0-9]{1,5})?)$/,
        'must be an origin, such as https://app.example.com or https://*.example.com, or * for all',
      ),
    )
    .min(1)
    .max(20)
    .describe('Origins whose pages may send requests, such as https://app.example.com, or * for all'),
  methods: z.array(z.enum(CORS_METHODS)).min(1).max(5).describe('HTTP methods that they may use'),
  headers: z
    .array(
      matching(
        255,
        /^[A-Za-z0-9!#$%&'+.^_`|~-]*(\*|[A-Za-z0-9!#$%&'+.^_`|~-])$/,
        'must be the name of a header, or * for all',
      ),
    )
    .max(50)
    .optional()
    .describe('Request headers that they may send beside the CORS-safelisted ones; none when absent'),
  maxAgeSeconds: integerBetween(0, 86_400)
    .optional()
    .describe('Seconds for which a browser caches the answer to a preflight request; 3600 when absent'),
})

export function completeCorsRule(rule: z.output<typeof CorsRule>) {
  return { ...rule, headers: rule.headers ?? [], maxAgeSeconds: rule.maxAgeSeconds ?? 3600 }
}

const AccountName = ResourceName.describe('The ObjectStorageAccount in the same namespace; immutable')

const bucketSpec = z.strictObject({
  accountName: AccountName,
  bucketName: BucketName.describe(
    'Name, unique in the account; at the endpoint it is prefixed with the account; immutable',
  ),
  versioning: z
    .enum(VERSIONING)
    .optional()
    .describe(
      "Enabled keeps previous versions; Suspended keeps no further ones; Off never had any, and suspends where it was on; the account's default when absent",
    ),
  objectLock: Off.describe('True allows locks that keep objects from deletion, and turns versioning on; immutable'),
  lockDays: Days.optional().describe(
    'Days for which each new object is locked; when absent, only objects with a lock of their own are',
  ),
  quotaBytes: QuotaBytes.optional().describe(
    'Maximum bytes in the bucket, at least 1 GiB; needs a store with quotas; unlimited when absent',
  ),
  publicRead: Off.describe('True lets everybody read objects, where the account allows it'),
  lifecycleRules: z
    .array(LifecycleRule)
    .max(100)
    .default([])
    .describe('Rules by which the store deletes objects by age; needs a store with lifecycles'),
  corsRules: z.array(CorsRule).max(100).default([]).describe('What pages of other origins may do in a browser (CORS)'),
  forceDelete: Off.describe(
    'True lets a deletion also delete the objects; otherwise it waits until the bucket is empty',
  ),
  tags: Tags.prefault({}),
})
type BucketSpec = z.output<typeof bucketSpec>

const bucketRules: Rule<BucketSpec>[] = [
  tagKeyRule,
  {
    cel: '!self.objectLock || !has(self.versioning) || self.versioning == "Enabled"',
    message: 'objectLock needs versioning Enabled: a lock holds versions of objects',
    field: 'versioning',
    test: (next) => !next.objectLock || next.versioning === undefined || next.versioning === 'Enabled',
  },
  {
    cel: '!has(self.lockDays) || self.objectLock',
    message: 'lockDays needs objectLock',
    field: 'lockDays',
    test: (next) => next.lockDays === undefined || next.objectLock,
  },
]

/** A bucket of an account. */
export const AccountBucket = defineKind({
  group: 'data',
  kind: 'AccountBucket',
  restNaming: { collection: 'buckets', by: 'bucketName' },
  shortNames: ['abkt'],
  placement: 'group',
  // Objects from REST are named like the bucket at the endpoint, which may be longer than the name of a resource.
  name: 'free',
  area: 'objectstorage',
  actions: 'objectbuckets',
  isPart: true,
  partOf: { collection: 'objectstorageaccounts', field: 'accountName', verb: 'createbuckets' },
  description: 'A bucket of an object storage account in the same namespace.',
  spec: bucketSpec,
  status: statusWith({
    storeName: z.string().describe('Name of the bucket at the endpoint'),
    versioning: z.enum(VERSIONING).describe('Versioning of the bucket at the store'),
    objectCount: z.int().describe('Number of objects, without noncurrent versions'),
    usedBytes: z.int().describe('Bytes in the bucket, versions included'),
    usageAt: DateTime.describe('When these figures were measured; only written when they change'),
  }),
  immutable: ['accountName', 'bucketName', 'objectLock'],
  rules: bucketRules,
  columns: partColumns(
    { name: 'Account', path: '.spec.accountName' },
    { name: 'Bucket', path: '.spec.bucketName' },
    { name: 'Objects', path: '.status.objectCount', type: 'integer' },
    { name: 'Bytes', path: '.status.usedBytes', type: 'integer' },
    { name: 'Store Name', path: '.status.storeName', priority: 1 },
  ),
  selectable: ['spec.accountName'],
})
export type AccountBucket = ObjectOf<typeof AccountBucket>

const keySpec = z.strictObject({
  accountName: AccountName,
  managedIdentityId: Uuid.optional().describe(
    'Id of the managed identity that owns the key, which is deleted with it; the account when absent; immutable',
  ),
  description: ShownLine.max(128).optional().describe('Purpose, as a text for people'),
  permission: z
    .enum(KEY_PERMISSIONS)
    .default('ReadWrite')
    .describe(
      'Read lists and reads; Write puts and deletes; ReadWrite does both; Admin also handles versions, locks and settings; immutable',
    ),
  buckets: z
    .array(BucketName)
    .min(1)
    .max(100)
    .optional()
    .describe('Buckets of the account by name; all, future ones included, when absent; immutable'),
  prefix: PlainText.min(1)
    .max(512)
    .optional()
    .describe(
      'Limits the key to objects whose keys begin with it; needs exactly one bucket; all when absent; immutable',
    ),
  isActive: On.describe('Whether the store accepts the key; may be switched off and on'),
  isSession: Off.describe('True for a session, which needs expiresAt and is deleted at that time; immutable'),
  expiresAt: DateTime.optional().describe('When the key expires; never when absent; immutable'),
})
type KeySpec = z.output<typeof keySpec>

const keyRules: Rule<KeySpec>[] = [
  {
    cel: '!has(self.prefix) || (has(self.buckets) && self.buckets.size() == 1)',
    message: 'prefix needs exactly one bucket',
    field: 'prefix',
    test: (next) => next.prefix === undefined || next.buckets?.length === 1,
  },
  {
    // The prefix becomes part of patterns in the store's policies, where these characters are wildcards.
    cel: "!has(self.prefix) || !self.prefix.matches('[*?$]')",
    message: 'prefix must not contain *, ? or $',
    field: 'prefix',
    test: (next) => next.prefix === undefined || !/[*?$]/.test(next.prefix),
  },
  {
    // Stores treat the prefix as a path, and `..` would lead out of what the key is limited to.
    cel: "!has(self.prefix) || !self.prefix.matches('(^|/)[.][.]?(/|$)|^/|//')",
    message: 'prefix must not begin with / or contain //, and none of its parts may be . or .. alone',
    field: 'prefix',
    test: (next) => next.prefix === undefined || !/(^|\/)\.\.?(\/|$)|^\/|\/\//.test(next.prefix),
  },
  {
    cel: '!self.isSession || has(self.expiresAt)',
    message: 'a session needs expiresAt',
    field: 'expiresAt',
    test: (next) => !next.isSession || next.expiresAt !== undefined,
  },
]

/** An access key of an account or of a managed identity. Its secret half is only in a Secret. */
export const ObjectAccessKey = defineKind({
  group: 'data',
  kind: 'ObjectAccessKey',
  restNaming: { collection: 'accesskeys', by: 'id' },
  shortNames: ['oak'],
  placement: 'group',
  area: 'objectstorage',
  actions: 'objectaccesskeys',
  isPart: true,
  partOf: { collection: 'objectstorageaccounts', field: 'accountName', verb: 'createkeys' },
  description: 'An access key to the buckets of an object storage account. Both halves are in the Secret of status.',
  spec: keySpec,
  status: statusWith({
    accessKeyId: z.string().describe('The half of the key that is not secret'),
    secretName: z.string().describe('The Secret with both halves, under AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY'),
    state: z
      .enum(['Active', 'Inactive', 'Expired'])
      .describe('Active while the store accepts it; Inactive by isActive; Expired for good'),
    lastUsedAt: DateTime.describe('When it was last used, to the hour, if the store reports it'),
  }),
  immutable: ['accountName', 'managedIdentityId', 'permission', 'buckets', 'prefix', 'isSession', 'expiresAt'],
  rules: keyRules,
  columns: partColumns(
    { name: 'Account', path: '.spec.accountName' },
    { name: 'Permission', path: '.spec.permission' },
    { name: 'State', path: '.status.state' },
    { name: 'Key', path: '.status.accessKeyId' },
    { name: 'Expires', path: '.spec.expiresAt', priority: 1 },
  ),
  selectable: ['spec.accountName'],
})
export type ObjectAccessKey = ObjectOf<typeof ObjectAccessKey>
