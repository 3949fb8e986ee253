import { IAMClient } from '@aws-sdk/client-iam'
import { S3Client } from '@aws-sdk/client-s3'
import { type AccessKeyPair, STORE_FEATURES, type StoreFeatures } from '../../contracts/objectstorage.ts'
import { accessLogReader } from './accessLog.ts'
import { bucketCalls } from './buckets.ts'
import type { Driver } from './calls.ts'
import { storeFolders } from './folders.ts'
import type { ObjectStore, StoreInfo } from './port.ts'
import { userCalls } from './users.ts'

const features = (...present: readonly (keyof StoreFeatures)[]): StoreFeatures =>
  Object.fromEntries(STORE_FEATURES.map((name) => [name, present.includes(name)])) as StoreFeatures

/** The supported stores, by their name in the configuration. */
export const DRIVERS = {
  /** https://github.com/versity/versitygw with standalone IAM: no quotas, no lifecycle rules. */
  versitygw: {
    name: 'versitygw',
    features: features('versioning', 'objectLock', 'sts', 'publicAccess'),
  },
  /** https://github.com/seaweedfs/seaweedfs; quotas are set by its operator, not through S3. */
  seaweedfs: {
    name: 'seaweedfs',
    features: features('versioning', 'objectLock', 'lifecycle', 'sts', 'publicAccess'),
  },
} as const satisfies Record<string, Driver>

export type StoreOptions = {
  driver: Driver
  version: string
  endpoint: string
  /** Address of the IAM API, by default the endpoint. */
  iamEndpoint: string | undefined
  publicEndpoint: string | undefined
  regionName: string
  /** Keys of a user with all rights. */
  credentials: AccessKeyPair
  /** Access log in JSON lines, if the store writes one. */
  accessLog: string | undefined
  /** Where the store keeps buckets as folders, if that is on this machine. */
  folder?: string | undefined
  /** Milliseconds per request; 10 s. */
  timeout?: number
}

/** IAM requests are always signed for this region (AWS, "IAM endpoints and quotas"). */
const IAM_REGION = 'us-east-1'

/**
 * Opens an S3 store. Import this file only if a store is configured: the AWS clients are large, and a process without a
 * store should not load them.
 */
export function openStore(options: StoreOptions): ObjectStore {
  const { driver, endpoint, regionName, credentials, timeout = 10_000 } = options
  // Controllers retry with backoff; a second attempt only covers a connection that was closed while idle.
  const common = {
    credentials,
    maxAttempts: 2,
    requestHandler: { requestTimeout: timeout, connectionTimeout: 3_000, throwOnRequestTimeout: true },
  }
  const s3 = new S3Client({ ...common, endpoint, region: regionName, forcePathStyle: true })
  const iam = new IAMClient({ ...common, endpoint: options.iamEndpoint ?? endpoint, region: IAM_REGION })
  const folders = options.folder === undefined ? undefined : storeFolders(options.folder)
  const clients = { s3, iam, driver, folders }
  return {
    info: infoOf(options),
    ...bucketCalls(clients),
    ...userCalls(clients),
    audit: accessLogReader(options.accessLog, credentials.accessKeyId),
    async close() {
      s3.destroy()
      iam.destroy()
    },
  }
}

function infoOf({ driver, version, endpoint, publicEndpoint, regionName, accessLog }: StoreOptions): StoreInfo {
  return {
    driver: driver.name,
    version,
    endpoint,
    publicEndpoint,
    regionName,
    forcePathStyle: true,
    features: driver.features,
    audits: accessLog !== undefined,
    // Limits of S3 itself, which both drivers keep to.
    limits: { partsPerUpload: 10_000, bytesPerPart: 5_368_709_120, keyLength: 1024 },
  }
}
