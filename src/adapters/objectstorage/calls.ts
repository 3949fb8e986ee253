import type { IAMClient } from '@aws-sdk/client-iam'
import type { S3Client } from '@aws-sdk/client-s3'
import type { StoreFeatures } from '../../contracts/objectstorage.ts'
import type { StoreFolders } from './folders.ts'
import type { StoreCall } from './port.ts'

/**
 * How the drivers of this file differ: all of them speak S3, and IAM for users and keys. Grants stand in the policies of
 * buckets, because the policy of a user may be as short as 2,048 bytes, which is some twenty buckets.
 */
export type Driver = {
  name: string
  features: StoreFeatures
}

export type Clients = {
  s3: S3Client
  iam: IAMClient
  driver: Driver
  /** Of a store on this machine that keeps buckets as folders. */
  folders: StoreFolders | undefined
}

export type Options = { abortSignal?: AbortSignal }

export const optionsOf = ({ signal }: StoreCall): Options => (signal === undefined ? {} : { abortSignal: signal })
