import { isDeepStrictEqual } from 'node:util'
import {
  type CORSRule,
  DeleteBucketCorsCommand,
  DeleteBucketLifecycleCommand,
  GetBucketCorsCommand,
  GetBucketLifecycleConfigurationCommand,
  type LifecycleRule,
  PutBucketCorsCommand,
  PutBucketLifecycleConfigurationCommand,
  type S3Client,
} from '@aws-sdk/client-s3'
import type { BucketSettings } from '../../contracts/objectstorage.ts'
import { attempt } from './failures.ts'

/** Sets the CORS rules (S3, CORSRule). Writes nothing if they are already set. */
export async function ensureCors(s3: S3Client, { name: Bucket, corsRules }: BucketSettings) {
  const what = `The CORS rules of bucket "${Bucket}" could not be set`
  const stored = await attempt(what, () => s3.send(new GetBucketCorsCommand({ Bucket })), ['NoSuchCORSConfiguration'])
  const wanted = corsRules.map(corsRule)
  const before = (stored?.CORSRules ?? []).map(comparableCors)
  if (isDeepStrictEqual(before, wanted.map(comparableCors))) return
  if (wanted.length === 0) {
    await attempt(what, () => s3.send(new DeleteBucketCorsCommand({ Bucket })))
    return
  }
  const CORSConfiguration = { CORSRules: wanted }
  await attempt(what, () => s3.send(new PutBucketCorsCommand({ Bucket, CORSConfiguration })))
}

function corsRule({ origins, methods, headers, maxAgeSeconds }: BucketSettings['corsRules'][number]): CORSRule {
  return {
    AllowedOrigins: [...origins],
    AllowedMethods: [...methods],
    ...(headers.length === 0 ? {} : { AllowedHeaders: [...headers] }),
    MaxAgeSeconds: maxAgeSeconds,
  }
}

/** The fields to compare, without those that a store adds. */
function comparableCors({ AllowedOrigins, AllowedMethods, AllowedHeaders = [], MaxAgeSeconds }: CORSRule): object {
  return { AllowedOrigins, AllowedMethods, AllowedHeaders, MaxAgeSeconds }
}

/** Sets the rules by which the store itself deletes objects (S3, LifecycleRule). */
export async function ensureLifecycle(s3: S3Client, settings: BucketSettings): Promise<void> {
  const { name: Bucket, lifecycleRules } = settings
  const what = `The lifecycle rules of bucket "${Bucket}" could not be set`
  const stored = await attempt(what, () => s3.send(new GetBucketLifecycleConfigurationCommand({ Bucket })), [
    'NoSuchLifecycleConfiguration',
  ])
  const wanted = lifecycleRules.map(lifecycleRule)
  if (isDeepStrictEqual((stored?.Rules ?? []).map(comparableRule), wanted.map(comparableRule))) return
  if (wanted.length === 0) {
    await attempt(what, () => s3.send(new DeleteBucketLifecycleCommand({ Bucket })))
    return
  }
  const LifecycleConfiguration = { Rules: wanted }
  await attempt(what, () => s3.send(new PutBucketLifecycleConfigurationCommand({ Bucket, LifecycleConfiguration })))
}

function lifecycleRule(rule: BucketSettings['lifecycleRules'][number]): LifecycleRule {
  const { id, prefix, expireDays, noncurrentExpireDays, abortUploadDays, enabled } = rule
  return {
    ID: id,
    Status: enabled ? 'Enabled' : 'Disabled',
    Filter: { Prefix: prefix },
    ...(expireDays === undefined ? {} : { Expiration: { Days: expireDays } }),
    ...(noncurrentExpireDays === undefined
      ? {}
      : { NoncurrentVersionExpiration: { NoncurrentDays: noncurrentExpireDays } }),
    ...(abortUploadDays === undefined
      ? {}
      : { AbortIncompleteMultipartUpload: { DaysAfterInitiation: abortUploadDays } }),
  }
}

function comparableRule(rule: LifecycleRule): object {
  return {
    id: rule.ID,
    status: rule.Status,
    prefix: rule.Filter?.Prefix ?? '',
    days: rule.Expiration?.Days,
    noncurrent: rule.NoncurrentVersionExpiration?.NoncurrentDays,
    abort: rule.AbortIncompleteMultipartUpload?.DaysAfterInitiation,
  }
}
