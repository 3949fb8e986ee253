import { type AccessKeyPair, accessKeySecretName, decodeAccessKey } from '../../../src/contracts/objectstorage.ts'
import type { AnyKind } from '../../../src/crds/define.ts'
import { AccountBucket, ObjectAccessKey, ObjectStorageAccount } from '../../../src/crds/objectstorage.ts'
import { secret } from '../../../src/kube/builtin.ts'
import type { Flow, Step } from '../flow.ts'
import type { World } from '../world.ts'

const KEY = 'uploader'
const BUCKET = 'media.one'

const make = (kind: AnyKind, name: string, spec: object): Step => ({
  user: `makes ${kind.kind} ${name}`,
  act: (world) => world.make(kind, name, spec),
  until: (world) => world.isReady(kind, name),
})
const remove = (kind: AnyKind, name: string, until?: Step['until']): Step => ({
  user: `deletes ${kind.kind} ${name}`,
  act: (world) => world.remove(kind, name),
  until: until ?? ((world) => world.isGone(kind, name)),
})
const statusOf = async (world: World, kind: AnyKind, name: string) =>
  (await world.find(kind.resource, name))?.status as
    | { state?: string; accessKeyId?: string; phase?: string }
    | undefined
const pairOf = async (world: World, name = KEY): Promise<AccessKeyPair | undefined> =>
  decodeAccessKey(await world.secret(accessKeySecretName(name)))

const account = make(ObjectStorageAccount, 'media', {})
const bucket = make(AccountBucket, BUCKET, { accountName: 'media', bucketName: 'one' })
const key = make(ObjectAccessKey, KEY, { accountName: 'media' })

/** What is at the store, and what the stored pair opens there. */
async function facts(world: World): Promise<object> {
  const { store } = world.engines
  const users = [...store.users].map(([name, { isActive, grants }]) => ({
    name: world.names.get(name) ?? name,
    isActive,
    grants,
  }))
  const keys = [KEY, 'session', 'second']
  const opens = await Promise.all(
    keys.map(async (name) => {
      const pair = await pairOf(world, name)
      const shown = (await statusOf(world, ObjectAccessKey, name))?.accessKeyId
      const answer = pair === undefined ? 'no pair' : store.attempt(pair, 'write', 'media.one', 'object')
      return [name, answer, pair?.accessKeyId === shown]
    }),
  )
  const buckets = [...store.buckets].map(([name, { settings, objects }]) => ({
    name,
    settings: { ...settings, owner: world.names.get(settings.owner ?? '') },
    objects: [...objects.keys()],
  }))
  return { users: users.sort((a, b) => a.name.localeCompare(b.name)), opens, buckets }
}

const common = { controllers: ['objectstorageaccount', 'accountbucket', 'objectaccesskey'], facts }

export const storageFlows: readonly Flow[] = [
  {
    ...common,
    title: 'an account, a bucket and a key are created at once',
    steps: [
      { user: 'makes a key', act: (world) => world.make(ObjectAccessKey, KEY, { accountName: 'media' }) },
      {
        user: 'makes a bucket',
        act: (world) => world.make(AccountBucket, BUCKET, { accountName: 'media', bucketName: 'one' }),
      },
      account,
      {
        user: 'waits for the key',
        act: () => {},
        until: async (world) =>
          (await world.isReady(ObjectAccessKey, KEY)) && (await world.isReady(AccountBucket, BUCKET)),
      },
    ],
  },
  {
    ...common,
    title: 'the Secret of an access key is lost',
    given: [account, bucket, key],
    steps: [
      {
        user: 'deletes the Secret',
        act: (world) => world.remove({ resource: secret }, accessKeySecretName(KEY)),
        until: async (world) => (await pairOf(world)) !== undefined,
      },
    ],
  },
  {
    ...common,
    title: 'an access key is set inactive, and active again',
    given: [account, bucket, key],
    steps: [false, true].map((isActive) => ({
      user: `sets it ${isActive ? 'active' : 'inactive'}`,
      act: (world) => world.change(ObjectAccessKey, KEY, { isActive }),
      until: async (world) =>
        (await statusOf(world, ObjectAccessKey, KEY))?.state === (isActive ? 'Active' : 'Inactive'),
    })),
  },
  {
    ...common,
    title: 'a session and a key are created, and expire',
    given: [account, bucket],
    steps: [
      {
        user: 'opens a session and makes a key with an end',
        async act(world) {
          const expiresAt = new Date(world.clock.now() + 3_600_000).toISOString()
          await world.make(ObjectAccessKey, 'session', { accountName: 'media', isSession: true, expiresAt })
          await world.make(ObjectAccessKey, KEY, { accountName: 'media', expiresAt })
        },
        until: async (world) =>
          (await world.isReady(ObjectAccessKey, 'session')) && (await world.isReady(ObjectAccessKey, KEY)),
      },
      {
        user: 'lets time pass',
        act: (world) => world.pass(3_700_000),
        until: async (world) =>
          (await world.isGone(ObjectAccessKey, 'session')) &&
          (await statusOf(world, ObjectAccessKey, KEY))?.state === 'Expired',
      },
    ],
  },
  {
    ...common,
    title: 'one of two keys is deleted',
    given: [account, bucket, key, make(ObjectAccessKey, 'second', { accountName: 'media', buckets: ['one'] })],
    steps: [remove(ObjectAccessKey, KEY)],
  },
  {
    ...common,
    title: 'an account and its bucket are made public, and private again',
    given: [account, bucket],
    steps: [
      { user: 'allows it', act: (world) => world.change(ObjectStorageAccount, 'media', { enablePublicAccess: true }) },
      {
        user: 'publishes the bucket',
        act: (world) => world.change(AccountBucket, BUCKET, { publicRead: true }),
        until: ({ engines: { store } }) => store.buckets.get('media.one')?.settings.publicRead === true,
      },
      {
        user: 'takes it back',
        act: (world) => world.change(ObjectStorageAccount, 'media', { enablePublicAccess: false }),
        until: ({ engines: { store } }) => store.buckets.get('media.one')?.settings.publicRead === false,
      },
    ],
  },
  {
    ...common,
    title: 'an account is deleted with its bucket, objects and keys',
    given: [
      account,
      bucket,
      key,
      {
        user: 'stores an object',
        act: async (world) => world.engines.store.attempt(await pairOf(world), 'write', 'media.one', 'object'),
      },
    ],
    steps: [
      remove(
        ObjectStorageAccount,
        'media',
        async (world) => (await statusOf(world, ObjectStorageAccount, 'media'))?.phase === 'DeletionBlocked',
      ),
      remove(
        AccountBucket,
        BUCKET,
        async (world) => (await statusOf(world, AccountBucket, BUCKET))?.phase === 'DeletionBlocked',
      ),
      {
        user: 'gives up the content',
        act: (world) => world.change(AccountBucket, BUCKET, { forceDelete: true }),
        until: (world) => world.isGone(ObjectStorageAccount, 'media'),
      },
    ],
  },
]
