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

describe('a bucket that goes', () => {
  const WHOLE: Removal = { empty: true, owner: 'a-life', objectLock: false }

  /** A store of which a bucket's lists fail, on this machine if it has folders. */
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
        .catch((error: StoreError) => error.code)
    return { remove, removed }
  }

  for (const [sentence, how, change, owner, state, removed] of [
    ['goes by its folders with all that is in it', WHOLE, {}, 'a-life', 'Gone', ['media.one']],
    ['stays without force, and is told to be unlisted', { ...WHOLE, empty: false }, {}, 'a-life', 'Unlisted', []],
    ['is the store’s to empty if it may hold locks', { ...WHOLE, objectLock: true }, {}, 'a-life', 'Failed', []],
    ['of somebody else stays', WHOLE, {}, 'another', 'Gone', []],
    ['is the store’s to empty if its folder is not here', WHOLE, { has: async () => false }, 'a-life', 'Failed', []],
    [
      'goes on where it had begun, whoever the store says its owner is',
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

  it('is the store’s to empty if that is not on this machine', async () => {
    const store = failing()
    expect(await store.remove(WHOLE, false)).to.equal('Failed')
    expect(await store.remove({ ...WHOLE, empty: false }, false)).to.equal('Unlisted')
  })
})
