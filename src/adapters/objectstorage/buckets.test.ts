import { expect } from 'chai'
import type { BucketSettings } from '../../contracts/objectstorage.ts'
import { bucketCalls } from './buckets.ts'
import type { Clients } from './calls.ts'
import { withPublic } from './policies.ts'

const SETTINGS: BucketSettings = {
  ...{
    name: 'media.one',
    owner: 'a-life',
    versioning: 'Enabled',
    objectLock: true,
    lockDays: 7,
    quotaBytes: undefined,
  },
  ...{ publicRead: false, lifecycleRules: [], corsRules: [] },
}

describe('a bucket at a store', () => {
  for (const refused of [
    'PutBucketVersioningCommand',
    'GetObjectLockConfigurationCommand',
    'PutObjectLockConfigurationCommand',
    'GetBucketCorsCommand',
    'GetBucketLifecycleConfigurationCommand',
  ]) {
    it(`is closed to the public although the store refuses ${refused}`, async () => {
      let policy = JSON.stringify(withPublic(undefined, 'media.one', true))
      const answers: Record<string, () => object> = {
        GetBucketTaggingCommand: () => ({ TagSet: [{ Key: 'freehold-owner', Value: 'a-life' }] }),
        GetBucketPolicyCommand: () => ({ Policy: policy }),
        DeleteBucketPolicyCommand: () => {
          policy = ''
          return {}
        },
      }
      const send = async ({ constructor: { name } }: object) => {
        if (name === refused) throw Object.assign(new Error('refused'), { $metadata: { httpStatusCode: 400 } })
        return answers[name]?.() ?? {}
      }
      const clients = { s3: { send }, driver: { features: { lifecycle: true } } } as unknown as Clients
      const answer = await bucketCalls(clients)
        .ensureBucket(SETTINGS)
        .catch((error: Error) => error)
      expect(answer).to.be.an('error')
      expect(policy).to.equal('')
    })
  }
})
