import { isUtf8 } from 'node:buffer'
import { expect } from 'chai'
import { bucketCalls } from './buckets.ts'
import type { Clients } from './calls.ts'
import { emptyBucket } from './emptyBucket.ts'

/** Keys in XML: what it cannot represent is a replacement character, per byte for invalid UTF-8. */
function shown(key: Buffer): string {
  let text = ''
  for (let at = 0; at < key.length; ) {
    const width = [1, 2, 3, 4].find((size) => at + size <= key.length && isUtf8(key.subarray(at, at + size)))
    text += width === undefined ? '\ufffd' : key.subarray(at, at + width)
    at += width ?? 1
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what XML cannot carry
  return text.replace(/[\x01-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, '\ufffd')
}

type Given = {
  Key?: string
  MaxKeys?: number
  KeyMarker?: string
  EncodingType?: string
  Delete?: { Objects: { Key: string }[] }
}

/** A store whose lists are XML. */
class ListingStore {
  /** In the order of their bytes. */
  keys: Buffer[]
  requestCount = 0
  deletes = true
  encodes = false
  refuses = false
  readonly clients: Clients

  constructor(keys: readonly (string | Buffer)[]) {
    this.keys = keys.map((key) => Buffer.from(key as Buffer)).sort(Buffer.compare)
    const send = async ({ constructor: { name }, input }: { constructor: { name: string }; input: Given }) => {
      this.requestCount += 1
      if (name === 'ListObjectVersionsCommand') return this.#page(input)
      const deletedKeys = new Set(
        name === 'DeleteObjectCommand' ? [input.Key] : input.Delete?.Objects.map(({ Key }) => Key),
      )
      if (this.refuses && name === 'DeleteObjectCommand')
        throw Object.assign(new Error('no'), { name: 'AccessDenied', $metadata: { httpStatusCode: 403 } })
      if (name.startsWith('DeleteObject') && !this.refuses)
        this.#drop((key) => isUtf8(key) && deletedKeys.has(key.toString()))
      return this.refuses ? { Errors: [...deletedKeys].map((Key) => ({ Key })) } : {}
    }
    this.clients = { s3: { send } } as unknown as Clients
  }

  #drop(isMeant: (key: Buffer) => boolean): void {
    if (this.deletes) this.keys = this.keys.filter((key) => !isMeant(key))
  }

  #page({ MaxKeys = 1_000, KeyMarker = '', EncodingType }: Given) {
    const after = this.keys.filter((key) => Buffer.compare(key, Buffer.from(KeyMarker)) > 0)
    const isEncoded = this.encodes && EncodingType === 'url'
    const encodedKey = (key: Buffer) =>
      isEncoded
        ? key.toString('latin1').replace(/\W/g, (one) => `%${Buffer.from(one, 'latin1').toString('hex')}`)
        : shown(key)
    const page = after.slice(0, MaxKeys).map(encodedKey)
    return {
      ...{ Versions: page.map((Key) => ({ Key, Size: 1 })), IsTruncated: after.length > MaxKeys },
      ...{ NextKeyMarker: page.at(-1), EncodingType: isEncoded ? 'url' : '' },
    }
  }

  empty = () => emptyBucket(this.clients.s3, 'one')
}

const HIDDEN = ['a\u0001b', 'a\u0002b', 'a\ufffdb', 'a\ufffeb', 'x\u001b\uffff', '\u0001', '\ufffd', ' ']
const BYTES = ['61ef62', '61efbf62', 'fffe', 'eda080', 'e282'].map((hex) => Buffer.from(hex, 'hex'))

describe('emptyBucket, for keys that XML cannot represent', () => {
  it('deletes them if the store encodes keys', async () => {
    const store = new ListingStore([...HIDDEN, 'plain', 'é', '\uf000'])
    store.encodes = true
    expect(await store.empty()).to.equal('Empty')
    expect(store.keys).to.deep.equal([])
  })

  it('deletes more than one page of them', async () => {
    const store = new ListingStore(Array.from({ length: 1_100 }, (_, index) => `\u0001${index}`))
    store.encodes = true
    let state = 'Emptying'
    for (let passes = 0; state === 'Emptying' && passes < 100; passes += 1) {
      store.requestCount = 0
      state = await store.empty()
      expect(store.requestCount, 'a pass ends').to.be.lessThan(300)
    }
    expect(state).to.equal('Empty')
  })

  for (const [what, keys, encodes] of [
    ['are not UTF-8', BYTES, true],
    ['appear as other keys', ['a\u0001b', '\u0002'], false],
    ['are 1,100 and not UTF-8', Array.from({ length: 1_100 }, (_, at) => Buffer.of(0xff, at % 256, at >> 8)), true],
  ] as const)
    it(`reports Stuck after fewer than 30 requests if keys ${what}`, async () => {
      const store = new ListingStore([...keys, 'plain'])
      store.encodes = encodes
      expect(await store.empty()).to.equal('Stuck')
      expect(store.keys.map(String)).not.to.include('plain')
      store.requestCount = 0
      expect(await store.empty()).to.equal('Stuck')
      expect(store.requestCount).to.be.lessThan(30)
    })

  for (const [what, keys] of [
    ['plain', ['a', 'b']],
    ['not representable', HIDDEN],
    ['of both kinds', ['a', ...HIDDEN]],
  ] as const) {
    it(`reports Stuck if the store deletes nothing but reports success: keys are ${what}`, async () => {
      const store = new ListingStore(keys)
      store.deletes = false
      expect(await store.empty()).to.equal('Stuck')
    })

    it(`reports Locked if the store refuses to delete: keys are ${what}`, async () => {
      const store = new ListingStore(keys)
      store.refuses = true
      expect(await store.empty()).to.equal('Locked')
    })
  }
})

describe('bucketCalls.use, for keys that XML cannot represent', () => {
  const numbered = (count: number, head: string) =>
    Array.from({ length: count }, (_, index) => `${head}${String(index).padStart(5, '0')}`)
  const useOf = (store: ListingStore) => bucketCalls(store.clients).use('one')

  it('counts all objects after a page that ends with such a key', async () => {
    const keys = [...numbered(990, 'a'), ...numbered(20, 'b\u0001'), ...numbered(1_500, 'c')]
    expect((await useOf(new ListingStore(keys))).objectCount).to.equal(keys.length)
  })

  it('stops counting if the store lists the same page again', async () => {
    const alike = numbered(1_500, '').map((key) => Buffer.concat([Buffer.of(0xff), Buffer.from(key)]))
    const store = new ListingStore(alike)
    await useOf(store)
    expect(store.requestCount).to.be.lessThan(100)
  })
})
