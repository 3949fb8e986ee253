import { expect } from 'chai'
import type { BucketSettings } from '../../contracts/objectstorage.ts'
import { bucketCalls } from './buckets.ts'
import type { Clients } from './calls.ts'
import type { StoreFolders } from './folders.ts'
import { withPublic } from './policies.ts'
import type { Removal, StoreError } from './port.ts'

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

describe('bucketCalls.ensureBucket', () => {
  for (const refused of [
    'PutBucketVersioningCommand',
    'GetObjectLockConfigurationCommand',
    'PutObjectLockConfigurationCommand',
    'GetBucketCorsCommand',
    'GetBucketLifecycleConfigurationCommand',
  ]) {
    it(`removes public access although the store refuses ${refused}`, async () => {
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

describe('bucketCalls.removeBucket', () => {
  const WHOLE: Removal = { empty: true, owner: 'a-life', objectLock: false }

  /** A store whose bucket lists fail; it has local folders if given. */
  function failing(change: Partial<StoreFolders> = {}, owner = 'a-life') {
    const removed: string[] = []
    const folders: StoreFolders = {
      isLeaving: async () => false,
      has: async () => true,
      remove: async (name) => void removed.push(name),
      ...change,
    }
    const fails = (httpStatusCode: number, name: string) =>
      Object.assign(new Error(name), { name, $metadata: { httpStatusCode } })
    const send = async ({ constructor: { name } }: object) => {
      if (name === 'GetBucketTaggingCommand') return { TagSet: [{ Key: 'freehold-owner', Value: owner }] }
      if (name.startsWith('List')) throw fails(500, 'InternalError')
      if (name === 'DeleteBucketCommand') throw fails(409, 'BucketNotEmpty')
      return {}
    }
    const remove = (how: Removal, isHere = true) =>
      bucketCalls({ s3: { send }, folders: isHere ? folders : undefined } as unknown as Clients)
        .removeBucket('media.one', how)
        .catch((error: StoreError) => error.reason)
    return { remove, removed }
  }

  for (const [sentence, how, change, owner, state, removed] of [
    ['removes the folders of a bucket with all of its objects', WHOLE, {}, 'a-life', 'Gone', ['media.one']],
    [
      'reports Unlisted and keeps the bucket if it may not empty it',
      { ...WHOLE, empty: false },
      {},
      'a-life',
      'Unlisted',
      [],
    ],
    ['leaves a bucket with object lock to the store', { ...WHOLE, objectLock: true }, {}, 'a-life', 'Failed', []],
    ['keeps a bucket of another owner', WHOLE, {}, 'another', 'Gone', []],
    ['leaves a bucket without a local folder to the store', WHOLE, { has: async () => false }, 'a-life', 'Failed', []],
    [
      'completes a removal that had begun, whatever owner the store reports',
      { ...WHOLE, empty: false },
      { isLeaving: async () => true },
      'another',
      'Gone',
      ['media.one'],
    ],
  ] as const)
    it(sentence, async () => {
      const store = failing(change, owner)
      expect(await store.remove(how)).to.equal(state)
      expect(store.removed).to.deep.equal(removed)
    })

  it('leaves the bucket to a store on another machine', async () => {
    const store = failing()
    expect(await store.remove(WHOLE, false)).to.equal('Failed')
    expect(await store.remove({ ...WHOLE, empty: false }, false)).to.equal('Unlisted')
  })
})
