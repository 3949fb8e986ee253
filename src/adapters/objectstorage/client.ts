import { IAMClient } from '@aws-sdk/client-iam'
import { S3Client } from '@aws-sdk/client-s3'
import { type AccessKeyPair, STORE_FEATURES, type StoreFeatures } from '../../contracts/objectstorage.ts'
import { fileAudit } from './accessLog.ts'
import { bucketCalls } from './buckets.ts'
import type { Driver } from './calls.ts'
import { storeFolders } from './folders.ts'
import type { ObjectStore, StoreInfo } from './port.ts'
import { userCalls } from './users.ts'

const features = (...present: readonly (keyof StoreFeatures)[]): StoreFeatures =>
  Object.fromEntries(STORE_FEATURES.map((name) => [name, present.includes(name)])) as StoreFeatures

/** Stores that have been tried, by the name in the configuration. */
export const DRIVERS = {
  /** https://github.com/versity/versitygw with its standalone IAM: neither quotas nor lifecycle rules. */
  versitygw: {
    name: 'versitygw',
    features: features('versioning', 'objectLock', 'sts', 'publicAccess'),
  },
  /** https://github.com/seaweedfs/seaweedfs; quotas are the operator's, not S3's. */
  seaweedfs: {
    name: 'seaweedfs',
    features: features('versioning', 'objectLock', 'lifecycle', 'sts', 'publicAccess'),
  },
} as const satisfies Record<string, Driver>

export type StoreOptions = {
  driver: Driver
  version: string
  endpoint: string
  /** Where the store takes IAM requests; the endpoint where it says nothing. */
  iamEndpoint: string | undefined
  publicEndpoint: string | undefined
  regionName: string
  /** Of a user who may do everything. */
  credentials: AccessKeyPair
  /** A file with a line of JSON for each request, where the store tells of them. */
  accessLog: string | undefined
  /** Where the store keeps buckets as folders, if that is on this machine. */
  folder?: string | undefined
  /** Milliseconds for one request; 10 s. */
  timeout?: number
}

/** IAM is signed for this region wherever it stands (AWS, "IAM endpoints and quotas"). */
const IAM_REGION = 'us-east-1'

/**
 * An S3 store over its own interface. Import this file when there is a store to open: the AWS clients behind it are
 * large, and a process without a store should not pay for them.
 */
export function openStore(options: StoreOptions): ObjectStore {
  const { driver, endpoint, regionName, credentials, timeout = 10_000 } = options
  // Retries are the controllers' own, with the object's backoff; two tries bridge a connection that was closed.
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
    audit: fileAudit(options.accessLog, credentials.accessKeyId),
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
    // S3's own numbers, which both keep.
    audits: accessLog !== undefined,
    limits: { partsPerUpload: 10_000, bytesPerPart: 5_368_709_120, keyLength: 1024 },
  }
}
