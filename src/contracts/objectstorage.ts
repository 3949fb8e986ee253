import { uuidV5 } from '../core/ids.ts'
import { INCARNATION_ANNOTATION } from '../core/labels.ts'
import { childName, sha256 } from '../core/names.ts'
import type { ObjectMeta } from '../core/object.ts'
import { type SecretData, secretData, secretText } from '../core/secretData.ts'

/** What facade and controllers of object storage share: names at the store, the Secret of a key, and limits. */

/** Maximum keys of one owner: of an account itself, and of one managed identity. */
export const OWNER_KEYS_MAX = 4
/** Maximum open sessions of one account. */
export const ACCOUNT_SESSIONS_MAX = 100
/** The shortest name that a store allows for a bucket, and so for an account, whose name begins it. */
export const ACCOUNT_NAME_MIN_LENGTH = 3

/**
 * Returns the key that the platform makes for a resource that refers to an account. It depends on the incarnation, so
 * that a namesake gets a key of its own.
 *
 * @param consumer metadata of the object that refers to the account
 */
export function consumerKeyName({ namespace = '', name, annotations }: ObjectMeta, account: string): string {
  const incarnation = annotations?.[INCARNATION_ANNOTATION] ?? ''
  return uuidV5(['access-key-of', namespace, name, incarnation, account].join('/'))
}

/** Whether the platform made the key for a resource, and so counts it for nobody. Only the platform writes owners. */
export function isConsumerKey({ metadata }: { metadata: ObjectMeta }): boolean {
  return metadata.ownerReferences?.some(({ controller }) => controller === true) === true
}

const STORE_NAME_MAX_LENGTH = 63

/**
 * Returns the name of a bucket at the endpoint, different for each pair: `<account>.<name>`, as neither contains a dot;
 * if that is too long, 46 characters without a dot and 16 hex digits of its SHA-256.
 * For the name of an existing bucket see `storeNameOf`.
 */
export function storeBucketName(account: string, bucket: string): string {
  const whole = `${account}.${bucket}`
  if (whole.length <= STORE_NAME_MAX_LENGTH) return whole
  return `${whole.replace('.', '-').slice(0, 46)}-${sha256(whole).slice(0, 16)}`
}

/** The former naming, in which `a` and `b-c` collide with `a-b` and `c`. Existing buckets keep such a name. */
export function formerStoreBucketName(account: string, bucket: string): string {
  const whole = `${account}-${bucket}`
  if (whole.length <= STORE_NAME_MAX_LENGTH) return whole
  return `${whole.slice(0, 50)}-${sha256(whole).slice(0, 12)}`
}

/** Returns the name that a bucket has at the endpoint, or will get. */
export function storeNameOf(bucket: {
  spec: { accountName: string; bucketName: string }
  status?: { storeName?: string | undefined } | undefined
}): string {
  return bucket.status?.storeName ?? storeBucketName(bucket.spec.accountName, bucket.spec.bucketName)
}

/** Name of the store user of one access key. The incarnation is random: no two keys ever share a user. */
export function storeUserName(incarnation: string): string {
  return `key-${incarnation}`
}

const STORE_USER_NAME = new RegExp(`^${storeUserName('[0-9a-f-]{36}')}$`)

/** Whether some platform made this store user for an access key. */
export const isStoreUserName = (name: string): boolean => STORE_USER_NAME.test(name)

/** The Secret with the two halves of an access key, beside its object. */
export function accessKeySecretName(name: string): string {
  return childName('oak', name, 'key')
}

/** Entries of that Secret, named like the environment variables of S3 clients. */
const ACCESS_KEY_ID = 'AWS_ACCESS_KEY_ID'
const SECRET_ACCESS_KEY = 'AWS_SECRET_ACCESS_KEY'

export type AccessKeyPair = { accessKeyId: string; secretAccessKey: string }

export function encodeAccessKey({ accessKeyId, secretAccessKey }: AccessKeyPair): SecretData {
  return secretData({ [ACCESS_KEY_ID]: accessKeyId, [SECRET_ACCESS_KEY]: secretAccessKey })
}

/** Undefined if either half is missing: half a key opens nothing. */
export function decodeAccessKey(data: SecretData | undefined): AccessKeyPair | undefined {
  const [accessKeyId, secretAccessKey] = [secretText(data, ACCESS_KEY_ID), secretText(data, SECRET_ACCESS_KEY)]
  return accessKeyId && secretAccessKey ? { accessKeyId, secretAccessKey } : undefined
}

export const STORE_FEATURES = ['versioning', 'objectLock', 'quota', 'lifecycle', 'sts', 'publicAccess'] as const
export type StoreFeature = (typeof STORE_FEATURES)[number]
export type StoreFeatures = Readonly<Record<StoreFeature, boolean>>

/** The permission of a key (records: object storage). */
export type StorePermission = 'Read' | 'Write' | 'ReadWrite' | 'Admin'

/** What one key may do with one bucket of the store. */
export type StoreGrant = { readonly bucket: string; readonly permission: StorePermission; readonly prefix?: string }

export type BucketSettings = {
  /** Name at the store. */
  readonly name: string
  /** Incarnation of the bucket's object. A bucket of another owner is never taken over. */
  readonly owner: string
  readonly versioning: 'Off' | 'Enabled' | 'Suspended'
  readonly objectLock: boolean
  readonly lockDays: number | undefined
  /** Unlimited if undefined. */
  readonly quotaBytes: number | undefined
  readonly publicRead: boolean
  readonly lifecycleRules: readonly {
    id: string
    prefix: string
    expireDays?: number | undefined
    noncurrentExpireDays?: number | undefined
    abortUploadDays?: number | undefined
    enabled: boolean
  }[]
  readonly corsRules: readonly {
    origins: readonly string[]
    methods: readonly string[]
    headers: readonly string[]
    maxAgeSeconds: number
  }[]
}

export type KeyState = 'Active' | 'Inactive' | 'Expired'

/**
 * Returns the state at this moment: a key that expired a second ago is not Active, whatever its status says.
 *
 * @param now milliseconds
 */
export function keyState(
  { spec }: { spec: { expiresAt?: string | undefined; isActive: boolean } },
  now: number,
): KeyState {
  if (spec.expiresAt !== undefined && Date.parse(spec.expiresAt) <= now) return 'Expired'
  return spec.isActive ? 'Active' : 'Inactive'
}

/** A field that needs a feature that the store lacks. */
export type UnsupportedField = { field: string; feature: StoreFeature }

type FeatureRequest = readonly [isWanted: boolean, field: string, feature: StoreFeature]

function findUnsupported(requests: readonly FeatureRequest[], features: StoreFeatures): UnsupportedField | undefined {
  const found = requests.find(([isWanted, , feature]) => isWanted && !features[feature])
  return found === undefined ? undefined : { field: found[1], feature: found[2] }
}

export function unsupportedAccountFields(
  spec: {
    quotaBytes?: number | undefined
    quotaObjects?: number | undefined
    enablePublicAccess?: boolean | undefined
    defaultVersioning?: string | undefined
  },
  features: StoreFeatures,
): UnsupportedField | undefined {
  const requests: FeatureRequest[] = [
    [spec.quotaBytes !== undefined, 'quotaBytes', 'quota'],
    [spec.quotaObjects !== undefined, 'quotaObjects', 'quota'],
    [spec.enablePublicAccess === true, 'enablePublicAccess', 'publicAccess'],
    [spec.defaultVersioning === 'Enabled', 'defaultVersioning', 'versioning'],
  ]
  return findUnsupported(requests, features)
}

export function unsupportedBucketFields(
  spec: {
    versioning?: string | undefined
    objectLock?: boolean | undefined
    quotaBytes?: number | undefined
    publicRead?: boolean | undefined
    lifecycleRules?: readonly unknown[] | undefined
  },
  features: StoreFeatures,
): UnsupportedField | undefined {
  const requests: FeatureRequest[] = [
    [spec.versioning !== undefined && spec.versioning !== 'Off', 'versioning', 'versioning'],
    [spec.objectLock === true, 'objectLock', 'objectLock'],
    [spec.quotaBytes !== undefined, 'quotaBytes', 'quota'],
    [spec.publicRead === true, 'publicRead', 'publicAccess'],
    [(spec.lifecycleRules ?? []).length > 0, 'lifecycleRules', 'lifecycle'],
  ]
  return findUnsupported(requests, features)
}

/** A Seaweed of the SeaweedFS operator, and the port of its S3 gateway. */
export type SeaweedRef = {
  readonly namespace: string
  readonly name: string
  /** Undefined if the configuration names an endpoint of its own. */
  readonly port: number | undefined
}

/** The operator's default for `spec.s3.port`. */
export const SEAWEED_PORT = 8333

/** Returns the Service that the operator puts before the gateways of a Seaweed (its README, "S3 API"). */
export function seaweedEndpoint({ namespace, name }: Pick<SeaweedRef, 'namespace' | 'name'>): string {
  return `http://${name}-s3.${namespace}.svc:${SEAWEED_PORT}`
}
