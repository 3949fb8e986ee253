import { z } from 'zod'
import { OptionalText, PositiveIntegerSetting, Url } from './fields.ts'

export const objectStoreSettings = {
  objectStoreDriver: z
    .enum(['none', 'versitygw', 'seaweedfs'])
    .default('none')
    .describe('S3 store of object storage; with none, accounts wait with EngineMissing'),
  objectStoreEndpoint: Url.optional().describe('URL at which workloads reach the store'),
  objectStoreSeaweed: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\/[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/, 'expected namespace/name')
    .optional()
    .describe(
      'With the driver seaweedfs: the Seaweed object of the SeaweedFS operator, as namespace/name. It determines the endpoint if none is set, and accounts wait until it is ready',
    ),
  objectStoreUsersEndpoint: Url.optional().describe("URL of the store's IAM API; its endpoint when absent"),
  objectStorePublicEndpoint: Url.optional().describe('Public URL of the store, if it differs'),
  objectStoreRegion: z
    .string()
    .min(1)
    .max(63)
    .default('us-east-1')
    .describe('Region that requests to the store are signed for'),
  objectStoreVersion: z.string().max(63).default('').describe('Version of the store that runtime-info shows'),
  objectStoreAccessKeyId: z.string().min(1).optional().describe('Access key id of an administrator of the store'),
  objectStoreSecretAccessKey: z.string().min(1).optional().describe('Secret key of that user'),
  objectStoreAccessLog: OptionalText.describe(
    'Path of the access log that audit reads: a file with a line of JSON per request, or a folder of them, one per bucket; no audit when absent',
  ),
  objectStoreFolder: z
    .string()
    .regex(/^\//, 'expected an absolute path')
    .optional()
    .describe(
      'Local folder with the folders objects, versions and metadata of versitygw, where buckets that are deleted with their contents are removed',
    ),
  objectStoreUsageSeconds: PositiveIntegerSetting.default(300).describe(
    'Interval between measurements of the usage of a bucket',
  ),
}
