import { z } from 'zod'
import { OptionalText, Positive, Url } from './fields.ts'

export const objectStoreSettings = {
  objectStoreDriver: z
    .enum(['none', 'versitygw', 'seaweedfs'])
    .default('none')
    .describe('The S3 store behind object storage; none: accounts wait with EngineMissing'),
  objectStoreEndpoint: Url.optional().describe('Where workloads reach the store'),
  objectStoreSeaweed: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\/[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/, 'expected namespace/name')
    .optional()
    .describe(
      'With the driver seaweedfs: the Seaweed of the SeaweedFS operator that is the store, as namespace/name. The endpoint follows from it if none is set, and accounts wait until it serves',
    ),
  objectStoreUsersEndpoint: Url.optional().describe('Where the store takes IAM requests; its endpoint when absent'),
  objectStorePublicEndpoint: Url.optional().describe('Where everybody reaches the store, where that is another place'),
  objectStoreRegion: z
    .string()
    .min(1)
    .max(63)
    .default('us-east-1')
    .describe('Region that requests to the store are signed for'),
  objectStoreVersion: z.string().max(63).default('').describe('What runtime-info shows'),
  objectStoreAccessKeyId: z.string().min(1).optional().describe('Of a user of the store who may do everything'),
  objectStoreSecretAccessKey: z.string().min(1).optional().describe('The secret key of that user'),
  objectStoreAccessLog: OptionalText.describe(
    'Path of the access log, a line of JSON for each request to the store, or a folder with those of each bucket, which audit look-ups read; no audit when absent',
  ),
  objectStoreFolder: z
    .string()
    .regex(/^\//, 'expected an absolute path')
    .optional()
    .describe(
      'Folder on this machine with the folders objects, versions and metadata of versitygw: buckets that go with what is in them are removed there',
    ),
  objectStoreUsageSeconds: Positive.default(300).describe('Between two looks at what a bucket holds'),
}
