import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { isStoreError, type ObjectStore, type Removal } from '../../src/adapters/objectstorage/port.ts'
import {
  type AccessKeyPair,
  type BucketSettings,
  type StoreGrant,
  storeUserName,
} from '../../src/contracts/objectstorage.ts'
import { logged } from '../make/accessLog.ts'
import { promised, until } from '../make/until.ts'

/** The HTTP status for an ordinary client with this pair; undefined is anonymous. */
export type StoreClient = (
  pair: AccessKeyPair | undefined,
  what: 'read' | 'write',
  bucket: string,
  key: string | Buffer,
) => Promise<number> | number

/** For a user without an access key's record, which a concurrent check of the platform would report. */
export const nobodysUser = () => `user-${randomUUID()}`

export const settings = (name: string, change: Partial<BucketSettings> = {}): BucketSettings => ({
  name,
  owner: 'owner-1',
  versioning: 'Off',
  objectLock: false,
  lockDays: undefined,
  quotaBytes: undefined,
  publicRead: false,
  lifecycleRules: [],
  corsRules: [],
  ...change,
})

const WHOLE: Removal = { empty: true, owner: 'owner-1', objectLock: false }

/** Plain keys, keys that XML cannot represent, escapes or trims, and keys that URLs encode. */
const KEYS: readonly string[] = [
  ...['a\u0001b', 'a\u0002b', 'x\u001by/z\u0008', '\u0001', 'a\ufffdb', 'a\ufffeb', 'a\uffff', '\uffff\u0001\ufffd'],
  ...['a\rb', ' ', ' a ', '\ta', 'a\u0085b', 'a\u2028b', '\u007f', 'plain', 'dir/plain', 'éü/😀'],
  ...['a&<>"\'b', 'a+b', 'a%01b', '%2520', 'a?b#c', '&#1;', 'null'],
]
/** Keys that some stores refuse: with line ends, or invalid Unicode. */
const RARE_KEYS: readonly (string | Buffer)[] = [
  ...['a\nb', '\n'],
  ...['fffe', 'eda080', '61ef62', '61efbf62', '01ff80e282'].map((hex) => Buffer.from(hex, 'hex')),
]

/** Keys that some stores refuse too, possibly leaving a folder: names that are too long, and keys below an object. */
const LONG = 'n'.repeat(256)
const REFUSED_KEYS: readonly (string | Buffer)[] = [
  ...['folder', 'deep/er', 'deep/down/below', '\u0001', 'deep/x\u0002y\ufffd', '%2520+ é'].map(
    (name) => `${name}/${LONG}`,
  ),
  Buffer.concat([Buffer.of(0xff, 0xfe), Buffer.from(`/${LONG}`)]),
]
const BELOW_OBJECTS = ['x', 'x/', 'x/y/z', 'x/meta/etag', 'meta/y/etag']

/**
 * What every store must do, the fake and the real ones alike.
 *
 * @param audits whether the store reports requests
 * @param keys the number of keys to try in one bucket: some stores read all of them again for each new one
 */
export function objectStoreContract(
  open: () => { store: ObjectStore; client: StoreClient },
  { audits, keys = 104 }: { audits: boolean; keys?: number },
) {
  let store: ObjectStore
  let client: StoreClient
  let bucket: string
  let other: string
  let user: string
  beforeEach(async () => {
    const opened = open()
    store = opened.store
    client = opened.client
    const tail = randomUUID().slice(0, 8)
    ;[bucket, other, user] = [`one-${tail}`, `two-${tail}`, nobodysUser()]
    await store.ensureBucket(settings(bucket))
    await store.ensureBucket(settings(other))
  })

  const issue = async (grants: readonly StoreGrant[], change: { isActive?: boolean; known?: AccessKeyPair } = {}) => {
    const kept: AccessKeyPair[] = []
    const pair = await store.ensureKey({
      user,
      isActive: change.isActive ?? true,
      grants,
      among: [bucket, other],
      known: change.known,
      keep: async (made) => void kept.push(made),
    })
    return { pair, kept }
  }
  const all = (permission: StoreGrant['permission']): StoreGrant[] => [{ bucket, permission }]

  it('issues a key that reads and writes its bucket, and no other', async () => {
    const { pair, kept } = await issue(all('ReadWrite'))
    expect(kept).to.deep.equal([pair])
    expect(await client(pair, 'write', bucket, 'a')).to.equal(200)
    expect(await client(pair, 'read', bucket, 'a')).to.equal(200)
    expect(await client(pair, 'write', other, 'a')).to.equal(403)
    expect(await client(undefined, 'read', bucket, 'a')).to.equal(403)
    expect(await client({ ...pair, secretAccessKey: 'x'.repeat(40) }, 'read', bucket, 'a')).to.equal(403)
  })

  it('enforces permission and prefix of a key, and changes of them', async () => {
    const { pair } = await issue(all('Read'))
    expect(await client(pair, 'write', bucket, 'a')).to.equal(403)
    await issue(all('Write'), { known: pair })
    await until('it may write', async () => (await client(pair, 'write', bucket, 'a')) === 200)
    await until('it may not read', async () => (await client(pair, 'read', bucket, 'a')) === 403)
    await issue([{ bucket, permission: 'ReadWrite', prefix: 'in/' }], { known: pair })
    await until('it may read below', async () => (await client(pair, 'write', bucket, 'in/a')) === 200)
    expect(await client(pair, 'write', bucket, 'out/a')).to.equal(403)
    expect(await client(pair, 'read', bucket, 'a')).to.equal(403)
  })

  it('enforces a prefix for each permission', async () => {
    const { pair: owner } = await issue(all('ReadWrite'))
    for (const key of ['in/a', 'out/a']) expect(await client(owner, 'write', bucket, key)).to.equal(200)
    for (const permission of ['Read', 'Write', 'ReadWrite', 'Admin'] as const) {
      user = nobodysUser()
      const { pair } = await issue([{ bucket, permission, prefix: 'in/' }])
      const [reads, writes] = [permission !== 'Write', permission !== 'Read']
      expect(await client(pair, 'read', bucket, 'in/a'), permission).to.equal(reads ? 200 : 403)
      expect(await client(pair, 'write', bucket, 'in/b'), permission).to.equal(writes ? 200 : 403)
      expect(await client(pair, 'read', bucket, 'out/a'), permission).to.equal(403)
      expect(await client(pair, 'write', bucket, 'out/b'), permission).to.equal(403)
    }
  })

  it(`issues ${keys} keys for one bucket, each with its permission`, async () => {
    const users = Array.from({ length: keys }, (_, index) => ({ user: nobodysUser(), index }))
    const permissionOf = (index: number) => (['Read', 'Write', 'ReadWrite', 'Admin'] as const)[index % 4] ?? 'Read'
    const make = ({ user: one, index }: (typeof users)[number]) =>
      store.ensureKey({
        ...{ user: one, isActive: true, known: undefined, among: [], keep: async () => undefined },
        grants: [{ bucket, permission: permissionOf(index) }],
      })
    const pairs: AccessKeyPair[] = []
    for (let at = 0; at < users.length; at += 8) pairs.push(...(await Promise.all(users.slice(at, at + 8).map(make))))
    for (const index of [0, 1, keys >> 1, keys - 2, keys - 1]) {
      const may = permissionOf(index) !== 'Read'
      expect(await client(pairs[index], 'write', bucket, 'a'), `${index}`).to.equal(may ? 200 : 403)
    }
    await store.removeKey(users.at(-1)?.user ?? '', [bucket])
    await until(
      'it is refused',
      async () => (await client(pairs.at(-1), 'write', bucket, 'a')) === 403,
      promised(2_000),
    )
    expect(await client(pairs.at(-2), 'write', bucket, 'a')).to.equal(permissionOf(keys - 2) === 'Read' ? 403 : 200)
  })

  it('supports a dot in the name of a bucket', async () => {
    const name = `dotted-${randomUUID().slice(0, 8)}.one`
    await store.ensureBucket(settings(name))
    const { pair } = await issue([{ bucket: name, permission: 'ReadWrite' }])
    expect(await client(pair, 'write', name, 'a')).to.equal(200)
    expect(await client(pair, 'read', name, 'a')).to.equal(200)
    expect(await store.removeBucket(name, WHOLE)).to.equal('Gone')
  })

  it('withdraws a grant that is no longer requested', async () => {
    const { pair } = await issue([...all('ReadWrite'), { bucket: other, permission: 'ReadWrite' }])
    expect(await client(pair, 'write', other, 'a')).to.equal(200)
    await issue(all('ReadWrite'), { known: pair })
    await until('the grant is revoked', async () => (await client(pair, 'write', other, 'a')) === 403)
    expect(await client(pair, 'write', bucket, 'a')).to.equal(200)
  })

  it('issues no second key for the same request, and a new one for a lost secret', async () => {
    const { pair } = await issue(all('ReadWrite'))
    const again = await issue(all('ReadWrite'), { known: pair })
    expect(again).to.deep.equal({ pair, kept: [] })
    const anew = await issue(all('ReadWrite'))
    expect(anew.pair.accessKeyId).not.to.equal(pair.accessKeyId)
    await until('the lost one is refused', async () => (await client(pair, 'write', bucket, 'a')) === 403)
    expect(await client(anew.pair, 'write', bucket, 'a')).to.equal(200)
  })

  it('leaves no key behind when its secret could not be stored', async () => {
    const failing = store.ensureKey({
      ...{ user, isActive: true, grants: all('ReadWrite'), among: [bucket], known: undefined },
      keep: () => Promise.reject(new Error('the Secret was refused')),
    })
    expect(await failing.catch((error: Error) => error.message)).to.equal('the Secret was refused')
    const { pair, kept } = await issue(all('ReadWrite'))
    expect(kept).to.have.length(1)
    expect(await client(pair, 'write', bucket, 'a')).to.equal(200)
  })

  it('refuses an inactive key within two seconds, and accepts it again when active', async () => {
    const { pair } = await issue(all('ReadWrite'))
    await issue(all('ReadWrite'), { known: pair, isActive: false })
    await until('it is refused', async () => (await client(pair, 'write', bucket, 'a')) === 403, promised(2_000))
    await issue(all('ReadWrite'), { known: pair })
    await until('it works', async () => (await client(pair, 'write', bucket, 'a')) === 200)
  })

  it('refuses a removed key, idempotently, and still changes grants of others', async () => {
    const { pair } = await issue(all('ReadWrite'))
    const first = user
    user = nobodysUser()
    const second = await issue(all('ReadWrite'))
    await store.removeKey(first, [bucket, other])
    await until('it is refused', async () => (await client(pair, 'write', bucket, 'a')) === 403, promised(2_000))
    await store.removeKey(first, [bucket, other])
    await issue([...all('Read'), { bucket: other, permission: 'ReadWrite' }], { known: second.pair })
    await until('the other key works', async () => (await client(second.pair, 'write', other, 'a')) === 200)
  })

  it('reports keys that the platform does not know', async () => {
    const known = storeUserName(randomUUID())
    const unknown = storeUserName(randomUUID())
    user = known
    const { pair } = await issue(all('ReadWrite'))
    user = unknown
    await issue(all('Read'), { isActive: false })
    const isUnknown = async (name: string) => (await store.otherKeys(new Set([known]))).includes(name)
    expect(await isUnknown(unknown), 'inactive').to.equal(true)
    expect(await isUnknown(known)).to.equal(false)
    expect(await store.otherKeys(new Set())).to.include.members([known, unknown])
    await store.removeKey(unknown, [bucket, other])
    expect(await isUnknown(unknown), 'removed').to.equal(false)
    expect(await client(pair, 'write', bucket, 'a')).to.equal(200)
    // Others use the same store, and would not know the leftovers.
    await store.removeKey(known, [bucket, other])
  })

  it('removes a bucket when it is empty, or with its objects on request', async () => {
    const { pair } = await issue(all('ReadWrite'))
    expect(await store.isEmpty(bucket)).to.equal(true)
    for (const key of ['a', 'b/c']) expect(await client(pair, 'write', bucket, key)).to.equal(200)
    expect(await store.isEmpty(bucket)).to.equal(false)
    expect(await store.use(bucket)).to.deep.equal({ objectCount: 2, usedBytes: 2 })
    expect(await store.removeBucket(bucket, { ...WHOLE, empty: false })).to.equal('NotEmpty')
    expect(await store.removeBucket(bucket, WHOLE)).to.equal('Gone')
    expect(await store.removeBucket(bucket, WHOLE)).to.equal('Gone')
    expect(await store.removeBucket(other, { ...WHOLE, empty: false })).to.equal('Gone')
    const failure = await store.use(bucket).catch((error: unknown) => error)
    expect(isStoreError(failure, 'NotFound')).to.equal(true)
  })

  for (const versioning of ['Off', 'Enabled'] as const)
    it(`removes a bucket with any keys of objects, versioning ${versioning}`, async () => {
      await store.ensureBucket(settings(bucket, { versioning }))
      const { pair } = await issue(all('ReadWrite'))
      for (const key of [...KEYS, ...KEYS.slice(0, 1)])
        await until(`${JSON.stringify(key)} is written`, async () => (await client(pair, 'write', bucket, key)) === 200)
      for (const key of RARE_KEYS) expect([200, 403]).to.include(await client(pair, 'write', bucket, key))
      await until('it is deleted', async () => {
        const state = await store.removeBucket(bucket, WHOLE)
        expect(state, 'it makes progress').to.be.oneOf(['Emptying', 'Gone'])
        return state === 'Gone'
      })
      await store.ensureBucket(settings(bucket))
      expect(await store.isEmpty(bucket)).to.equal(true)
    })

  for (const [what, refused, versioning] of [
    ['whose names are too long', REFUSED_KEYS, 'Off'],
    ['whose names are too long, versioned', REFUSED_KEYS, 'Enabled'],
    ['below objects', BELOW_OBJECTS, 'Off'],
    ['below objects, versioned', BELOW_OBJECTS, 'Enabled'],
  ] as const)
    it(`removes a bucket after refused writes of keys ${what}`, async () => {
      await store.ensureBucket(settings(bucket, { versioning }))
      const { pair } = await issue(all('ReadWrite'))
      await until('it writes', async () => (await client(pair, 'write', bucket, 'plain')) === 200)
      for (const key of refused) await client(pair, 'write', bucket, key)
      await until('it is deleted', async () => {
        const state = await store.removeBucket(bucket, WHOLE)
        expect(state, 'it makes progress').to.be.oneOf(['Emptying', 'Gone'])
        return state === 'Gone'
      })
      await store.ensureBucket(settings(bucket))
      expect(await store.isEmpty(bucket)).to.equal(true)
    })

  it('removes a bucket without objects, also one in which a refused write left a folder', async () => {
    const { pair } = await issue(all('ReadWrite'))
    const key = `folder/below/${LONG}`
    const answered = await until('it may write', async () => {
      const status = await client(pair, 'write', bucket, key)
      return status !== 403 && status
    })
    const plainly = await store.removeBucket(bucket, { ...WHOLE, empty: false })
    expect(plainly).to.be.oneOf(answered === 200 ? ['NotEmpty'] : ['Gone', 'Unlisted'])
    expect(await store.removeBucket(bucket, WHOLE)).to.equal('Gone')
  })

  it('neither adopts nor deletes a bucket of another owner', async () => {
    const { pair } = await issue(all('ReadWrite'))
    await client(pair, 'write', bucket, 'a')
    const failure = await store.ensureBucket(settings(bucket, { owner: 'owner-2' })).catch((error: unknown) => error)
    expect(isStoreError(failure, 'Taken')).to.equal(true)
    expect(await store.removeBucket(bucket, { ...WHOLE, owner: 'owner-2' })).to.equal('Gone')
    expect(await client(pair, 'read', bucket, 'a')).to.equal(200)
  })

  it('keeps locked objects, and returns Locked', async () => {
    const name = `lock-${randomUUID().slice(0, 8)}`
    await store.ensureBucket(settings(name, { versioning: 'Enabled', objectLock: true, lockDays: 1 }))
    bucket = name
    const { pair } = await issue(all('Admin'))
    expect(await store.holdsLocked(name)).to.equal(false)
    expect(await client(pair, 'write', name, 'a')).to.equal(200)
    expect(await store.holdsLocked(name)).to.equal(true)
    expect(await store.removeBucket(name, { ...WHOLE, objectLock: true })).to.equal('Locked')
  })

  it('suspends versioning that was enabled once', async () => {
    const change = (versioning: BucketSettings['versioning']) => store.ensureBucket(settings(bucket, { versioning }))
    for (const [wanted, has] of [
      ['Off', 'Off'],
      ['Enabled', 'Enabled'],
      ['Off', 'Suspended'],
      ['Off', 'Suspended'],
      ['Enabled', 'Enabled'],
      ['Suspended', 'Suspended'],
    ] as const)
      expect(await change(wanted), wanted).to.deep.equal({ versioning: has })
  })

  it('changes settings of a bucket, idempotently', async () => {
    const { pair } = await issue(all('ReadWrite'))
    await client(pair, 'write', bucket, 'a')
    const cors = { origins: ['https://a.example'], methods: ['GET'], headers: [], maxAgeSeconds: 60 }
    const wanted = settings(bucket, { versioning: 'Enabled', publicRead: true, corsRules: [cors] })
    await store.ensureBucket(wanted)
    await store.ensureBucket(wanted)
    await until('anonymous reads are allowed', async () => (await client(undefined, 'read', bucket, 'a')) === 200)
    expect(await client(undefined, 'write', bucket, 'a')).to.equal(403)
    await store.ensureBucket(settings(bucket))
    await until('anonymous reads are refused', async () => (await client(undefined, 'read', bucket, 'a')) === 403)
    expect(await client(pair, 'write', bucket, 'a'), 'the key kept its grant').to.equal(200)
  })

  if (audits) {
    it('returns audit records, newest first', async () => {
      const { pair } = await issue(all('ReadWrite'))
      await client(pair, 'write', bucket, 'a b')
      await client(pair, 'read', bucket, 'a b')
      await client(pair, 'write', other, 'a')
      const [read, write] = await until('both records exist', async () => {
        const found = await store.audit(new Set([bucket]), 10)
        const mine = found.filter(({ accessKeyId }) => accessKeyId === pair.accessKeyId)
        return mine.length >= 2 && mine
      })
      expect([read?.operation, write?.operation]).to.deep.equal(['GetObject', 'PutObject'])
      expect(read).to.include({ bucket, key: 'a b', statusCode: 200, remoteAddress: '127.0.0.1' })
    })

    it('returns one record for a key that contains a forged log line', async () => {
      const forged = logged({ Bucket: bucket, Key: 'y', Requester: 'AKIA9', RequestID: 'FORGED' })
      for (const key of [`a\n${forged}z`, `a\n${forged}`, `a\n${forged.trimEnd()}`]) {
        await client(undefined, 'read', bucket, key)
        const found = await until('the record exists', async () => {
          const records = await store.audit(new Set([bucket]), 10)
          return records[0]?.key === key && records
        })
        expect(found.map(({ requestId }) => requestId)).not.to.include('FORGED')
      }
    })
  }
}
