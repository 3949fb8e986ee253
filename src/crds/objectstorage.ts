import { z } from 'zod'
import { defineKind, type ObjectOf, type Rule, resourceStatus, statusColumns } from './define.ts'
import { DateTime, ResourceName, Tags, Uuid } from './fields.ts'
import { tagKeyRule } from './tags.ts'

export const VERSIONING = ['Off', 'Enabled', 'Suspended'] as const
export const KEY_PERMISSIONS = ['Read', 'Write', 'ReadWrite', 'Admin'] as const
export type KeyPermission = (typeof KEY_PERMISSIONS)[number]

/** 1 GiB: less could not even hold the parts of one large upload. */
export const QUOTA_MIN_BYTES = 1_073_741_824
/** 8 PiB, far below what a JSON number holds exactly. */
const QUOTA_MAX_BYTES = 9_007_199_254_740_991

const QuotaBytes = z.int().min(QUOTA_MIN_BYTES).max(QUOTA_MAX_BYTES)

export const BUCKET_NAME_PATTERN = '^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$'
export const BucketName = z.string().regex(new RegExp(BUCKET_NAME_PATTERN)).max(63)

/** A namespace for buckets, with limits over all of them. Its name is unique on the platform. */
export const ObjectStorageAccount = defineKind({
  group: 'data',
  kind: 'ObjectStorageAccount',
  plural: 'objectstorageaccounts',
  shortNames: ['osa'],
  placement: 'group',
  area: 'objectstorage',
  actions: 'objectstorageaccounts',
  description: 'An account for object storage: buckets and access keys. Its name is unique on the platform.',
  spec: z.strictObject({
    clusterId: Uuid.optional().describe("Where it lies; the boundary's default cluster when absent"),
    quotaBytes: QuotaBytes.optional().describe('Over all buckets; unlimited when absent'),
    quotaObjects: z.int().min(1).max(1_000_000_000_000).optional(),
    maxBuckets: z.int().min(1).max(1000).default(100),
    enablePublicAccess: z.boolean().default(false).describe('No bucket may be public while false'),
    defaultVersioning: z.enum(['Off', 'Enabled']).default('Off').describe('Of buckets that do not say'),
    auditEnabled: z.boolean().default(true).describe('Whether requests to its buckets can be looked up'),
    deletionProtection: z.boolean().default(false),
    tags: Tags.prefault({}),
  }),
  status: resourceStatus.extend({
    endpoint: z.string().optional(),
    publicEndpoint: z.string().optional(),
    regionName: z.string().optional(),
    forcePathStyle: z.boolean().optional(),
    bucketCount: z.int().optional(),
    /** What was used on each of the last days, oldest first. */
    history: z.array(z.object({ date: z.string(), usedBytes: z.int() })).optional(),
  }),
  immutable: ['clusterId'],
  rules: [tagKeyRule],
  columns: [
    ...statusColumns,
    { name: 'Buckets', path: '.status.bucketCount', type: 'integer' },
    { name: 'Endpoint', path: '.status.endpoint' },
    { name: 'Public', path: '.spec.enablePublicAccess', type: 'boolean', priority: 1 },
    { name: 'Phase', path: '.status.phase', priority: 1 },
    { name: 'Message', path: '.status.statusMessage', priority: 1 },
  ],
})
export type ObjectStorageAccount = ObjectOf<typeof ObjectStorageAccount>

const Days = z.int().min(1).max(36_500)

export const LifecycleRule = z.strictObject({
  id: z.string().min(1).max(255),
  prefix: z.string().max(1024).default(''),
  expireDays: Days.optional(),
  noncurrentExpireDays: Days.optional(),
  abortUploadDays: Days.optional(),
  enabled: z.boolean().default(true),
})

export const CORS_METHODS = ['GET', 'PUT', 'POST', 'DELETE', 'HEAD'] as const
export const CorsRule = z.strictObject({
  origins: z.array(z.string().min(1).max(255)).min(1).max(20),
  methods: z.array(z.enum(CORS_METHODS)).min(1).max(5),
  headers: z.array(z.string().min(1).max(255)).max(50).default([]),
  maxAgeSeconds: z.int().min(0).max(86_400).default(3600),
})

const bucketSpec = z.strictObject({
  accountName: ResourceName.describe('The ObjectStorageAccount in the same namespace'),
  bucketName: BucketName.describe('Unique in the account; at the endpoint the name of the account stands before it'),
  versioning: z.enum(VERSIONING).optional().describe("The account's default when absent"),
  objectLock: z.boolean().default(false).describe('Whether objects can be kept from deletion; needs versioning'),
  lockDays: Days.optional().describe('How long each new object is kept'),
  quotaBytes: QuotaBytes.optional(),
  publicRead: z.boolean().default(false).describe('Everybody may read objects; the account must allow it'),
  lifecycleRules: z.array(LifecycleRule).max(100).default([]),
  corsRules: z.array(CorsRule).max(100).default([]),
  forceDelete: z.boolean().default(false).describe('Whether a deletion takes the objects along; else it waits'),
  tags: Tags.prefault({}),
})
type BucketSpec = z.output<typeof bucketSpec>

const bucketRules: Rule<BucketSpec>[] = [
  tagKeyRule,
  {
    cel: '!self.objectLock || !has(self.versioning) || self.versioning == "Enabled"',
    message: 'objectLock needs versioning Enabled: a lock holds versions of objects',
    code: 'BAD_REQUEST',
    field: 'versioning',
    test: (next) => !next.objectLock || next.versioning === undefined || next.versioning === 'Enabled',
  },
  {
    cel: '!has(self.lockDays) || self.objectLock',
    message: 'lockDays needs objectLock',
    code: 'BAD_REQUEST',
    field: 'lockDays',
    test: (next) => next.lockDays === undefined || next.objectLock,
  },
]

/** A bucket of an account. */
export const AccountBucket = defineKind({
  group: 'data',
  kind: 'AccountBucket',
  plural: 'accountbuckets',
  shortNames: ['abkt'],
  placement: 'group',
  // What REST makes is named like the bucket at the endpoint, which may be longer than the name of a resource.
  name: 'free',
  area: 'objectstorage',
  actions: 'objectbuckets',
  isPart: true,
  description: 'A bucket of an object storage account in the same namespace.',
  spec: bucketSpec,
  status: resourceStatus.extend({
    storeName: z.string().optional(),
    objectCount: z.int().optional(),
    usedBytes: z.int().optional(),
    usageAt: z.string().optional(),
  }),
  immutable: ['accountName', 'bucketName', 'objectLock'],
  rules: bucketRules,
  columns: [
    ...statusColumns,
    { name: 'Account', path: '.spec.accountName' },
    { name: 'Bucket', path: '.spec.bucketName' },
    { name: 'Objects', path: '.status.objectCount', type: 'integer' },
    { name: 'Bytes', path: '.status.usedBytes', type: 'integer' },
    { name: 'Store Name', path: '.status.storeName', priority: 1 },
    { name: 'Message', path: '.status.statusMessage', priority: 1 },
  ],
  selectable: ['spec.accountName'],
})
export type AccountBucket = ObjectOf<typeof AccountBucket>

const keySpec = z.strictObject({
  accountName: ResourceName.describe('The ObjectStorageAccount in the same namespace'),
  managedIdentityId: Uuid.optional().describe('The identity that owns the key; the account itself when absent'),
  description: z.string().max(128).optional(),
  permission: z.enum(KEY_PERMISSIONS).default('ReadWrite'),
  buckets: z
    .array(BucketName)
    .min(1)
    .max(100)
    .optional()
    .describe('Buckets of the account by name; all, later ones too, when absent'),
  prefix: z.string().min(1).max(512).optional().describe('Only objects whose keys begin so; needs one bucket'),
  isActive: z.boolean().default(true).describe('Whether the store accepts the key'),
  isSession: z.boolean().default(false).describe('A session: it is removed when it expires'),
  expiresAt: DateTime.optional().describe('From then on the key is refused'),
})
type KeySpec = z.output<typeof keySpec>

const keyRules: Rule<KeySpec>[] = [
  {
    cel: '!has(self.prefix) || (has(self.buckets) && self.buckets.size() == 1)',
    message: 'prefix needs exactly one bucket',
    code: 'BAD_REQUEST',
    field: 'prefix',
    test: (next) => next.prefix === undefined || next.buckets?.length === 1,
  },
  {
    // It would go into patterns of the store's policies, where these stand for other characters.
    cel: "!has(self.prefix) || !self.prefix.matches('[*?$]')",
    message: 'prefix holds no *, ? or $',
    code: 'BAD_REQUEST',
    field: 'prefix',
    test: (next) => next.prefix === undefined || !/[*?$]/.test(next.prefix),
  },
  {
    cel: '!self.isSession || has(self.expiresAt)',
    message: 'a session needs expiresAt',
    code: 'BAD_REQUEST',
    field: 'expiresAt',
    test: (next) => !next.isSession || next.expiresAt !== undefined,
  },
]

/** An access key of an account or of a managed identity. Its secret half is in a Secret only. */
export const ObjectAccessKey = defineKind({
  group: 'data',
  kind: 'ObjectAccessKey',
  plural: 'objectaccesskeys',
  shortNames: ['oak'],
  placement: 'group',
  area: 'objectstorage',
  actions: 'objectaccesskeys',
  isPart: true,
  description: 'An access key to the buckets of an object storage account. Both halves are in the Secret of status.',
  spec: keySpec,
  status: resourceStatus.extend({
    accessKeyId: z.string().optional(),
    secretName: z.string().optional(),
    state: z.enum(['Active', 'Inactive', 'Expired']).optional(),
    lastUsedAt: z.string().optional(),
  }),
  immutable: ['accountName', 'managedIdentityId', 'permission', 'buckets', 'prefix', 'isSession', 'expiresAt'],
  rules: keyRules,
  columns: [
    ...statusColumns,
    { name: 'Account', path: '.spec.accountName' },
    { name: 'Permission', path: '.spec.permission' },
    { name: 'State', path: '.status.state' },
    { name: 'Key', path: '.status.accessKeyId' },
    { name: 'Expires', path: '.spec.expiresAt', priority: 1 },
    { name: 'Message', path: '.status.statusMessage', priority: 1 },
  ],
  selectable: ['spec.accountName'],
})
export type ObjectAccessKey = ObjectOf<typeof ObjectAccessKey>
