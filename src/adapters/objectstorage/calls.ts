import type { IAMClient } from '@aws-sdk/client-iam'
import type { S3Client } from '@aws-sdk/client-s3'
import type { StoreFeatures } from '../../contracts/objectstorage.ts'
import type { StoreCall } from './port.ts'

/**
 * How the drivers of this file differ: all of them speak S3, and IAM for users and keys. Grants stand in the policies of
 * buckets, because the policy of a user may be as short as 2,048 bytes, which is some twenty buckets.
 */
export type Driver = {
  name: string
  features: StoreFeatures
}

/** `Paused` if the search goes on with the next call, `Stuck` if nothing was found. */
export type HiddenState = 'Removed' | 'Paused' | 'Locked' | 'Stuck'

export type HiddenObjects = {
  /** Objects whose keys a list cannot say. */
  remove(bucket: string, options: Options): Promise<HiddenState>
  /** Folders without an object, which some stores keep of a write that they refused. */
  removeFolders(bucket: string, options: Options): Promise<HiddenState>
}

export type Clients = { s3: S3Client; hidden: HiddenObjects; iam: IAMClient; driver: Driver }

export type Options = { abortSignal?: AbortSignal }

export const optionsOf = ({ signal }: StoreCall): Options => (signal === undefined ? {} : { abortSignal: signal })
