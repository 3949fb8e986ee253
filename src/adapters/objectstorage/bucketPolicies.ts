import { isDeepStrictEqual } from 'node:util'
import {
  DeleteBucketPolicyCommand,
  GetBucketPolicyCommand,
  PutBucketPolicyCommand,
  type S3Client,
} from '@aws-sdk/client-s3'
import { KeyedMutex } from '../../core/keyedMutex.ts'
import { attempt } from './failures.ts'
import type { PolicyDocument } from './policies.ts'
import { isStoreError } from './port.ts'

/** Per process, because only the process with the lease writes. */
const POLICY_LOCKS = new KeyedMutex()

/**
 * Changes the policy of a bucket, one change at a time. Writes nothing if the policy stays the same or the bucket is
 * missing.
 *
 * @throws StoreError Full if the store has no room for a longer policy
 */
export async function changePolicy(
  s3: S3Client,
  bucket: string,
  change: (stored: PolicyDocument | undefined) => PolicyDocument | undefined,
): Promise<void> {
  const what = `The policy of bucket "${bucket}" could not be written`
  await POLICY_LOCKS.take(bucket, async () => {
    const stored = await readPolicy(s3, bucket)
    if (stored === 'no bucket') return
    const wanted = change(stored)
    if (isDeepStrictEqual(stored, wanted)) return
    try {
      if (wanted === undefined) {
        await attempt(what, () => s3.send(new DeleteBucketPolicyCommand({ Bucket: bucket })))
      } else {
        const Policy = JSON.stringify(wanted)
        await attempt(what, () => s3.send(new PutBucketPolicyCommand({ Bucket: bucket, Policy })))
      }
    } catch (error) {
      // Deleted in the meantime.
      if (!isStoreError(error, 'NotFound')) throw error
    }
  })
}

async function readPolicy(s3: S3Client, bucket: string): Promise<PolicyDocument | undefined | 'no bucket'> {
  try {
    const answer = await attempt(
      `The policy of bucket "${bucket}" could not be read`,
      () => s3.send(new GetBucketPolicyCommand({ Bucket: bucket })),
      ['NoSuchBucketPolicy'],
    )
    const text = answer?.Policy ?? ''
    return text === '' ? undefined : (JSON.parse(text) as PolicyDocument)
  } catch (error) {
    if (isStoreError(error, 'NotFound')) return 'no bucket'
    throw error
  }
}
