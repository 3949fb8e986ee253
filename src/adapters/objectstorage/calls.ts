import type { IAMClient } from '@aws-sdk/client-iam'
import type { S3Client } from '@aws-sdk/client-s3'
import type { StoreFeatures } from '../../contracts/objectstorage.ts'
import type { StoreFolders } from './folders.ts'
import type { StoreCall } from './port.ts'

/**
 * How the drivers differ. All speak S3, and IAM for users and keys. Grants are in bucket policies, because a user
 * policy may be limited to 2,048 bytes, which is some twenty buckets.
 */
export type Driver = {
  name: string
  features: StoreFeatures
}

export type Clients = {
  s3: S3Client
  iam: IAMClient
  driver: Driver
  /** Set if the store runs on this machine and keeps buckets as folders. */
  folders: StoreFolders | undefined
}

export type Options = { abortSignal?: AbortSignal }

export const optionsOf = ({ signal }: StoreCall): Options => (signal === undefined ? {} : { abortSignal: signal })
