import { expect } from 'chai'
import { heapUsed } from '../../test/make/garbage.ts'
import type { KubeObject } from '../core/object.ts'
import { BYTES_PER_COUNTED_OBJECT } from '../core/objectCount.ts'
import { AccountBucket as Bucket } from '../crds/objectstorage.ts'
import { configMap } from './builtin.ts'
import { type Packed, Packer } from './pack.ts'
import { ObjectStore } from './store.ts'

describe('Packer', () => {
  const values: [string, unknown][] = [
    ['an empty object', {}],
    ['scalars of every type', { a: 1, b: 'x', c: true, d: null, e: -1.5 }],
    ['lists of objects', { list: [{ a: 1 }, { b: [] }, 'x', [1, [2]]] }],
    ['keys with quotes and dots', { 'a"b': { 'c.d/e': 1 }, '': 2 }],
    ['the key __proto__', JSON.parse('{"__proto__": {"polluted": true}, "a": 1}')],
    ['strings that look like separators', { a: '","', b: '\\","', c: '"', d: ',', e: '\u0000', f: '\\u0000', g: '\\' }],
    ['non-Latin text', { a: 'žluťoučký 🐎' }],
  ]
  for (const [what, value] of values) {
    it(`restores ${what}`, () => {
      for (const packer of [new Packer(), new Packer({ sharesLeaves: false }), new Packer({ maxShapes: 0 })]) {
        for (let time = 0; time < 2; time += 1) {
          expect(JSON.stringify(packer.unpack(packer.pack(value)))).to.equal(JSON.stringify(value))
        }
      }
    })
  }

  it('shares shapes up to a limit', () => {
    const packer = new Packer({ maxShapes: 1 })
    const first = packer.pack({ a: 1 })
    expect(packer.pack({ a: 2 }).shape).to.equal(first.shape)
    expect(packer.pack({ b: 2 })).to.deep.equal({ text: '{"b":2}', shape: undefined })
  })

  it('keeps a shape until its last object is released', () => {
    const packer = new Packer({ maxShapes: 1 })
    const packed = [packer.pack({ a: 1 }), packer.pack({ a: 2 })]
    packer.release(packed[0] as Packed)
    expect(packer.pack({ b: 2 }).shape, 'there is one more').to.equal(undefined)
    packer.release(packed[1] as Packed)
    expect(packer.unpack(packed[1] as Packed)).to.deep.equal({ a: 2 })
    expect(packer.pack({ b: 2 }).shape).not.to.equal(undefined)
  })

  it('limits the memory of shapes', () => {
    const packer = new Packer()
    const shared = Array.from({ length: 200 }, (_, index) => {
      const keys = Array.from({ length: 1_000 }, (_, key) => [`key-${index}-${key}`, 1])
      return packer.pack(Object.fromEntries(keys)).shape !== undefined
    })
    expect(shared.filter(Boolean).length).to.be.within(10, 100)
  })

  it('stores only the leaves that differ from the first object of the shape', () => {
    const packer = new Packer()
    const first = Array.from({ length: 30 }, (_, index) => `value ${index}`)
    packer.pack(first)
    expect(packer.pack(first).text.length).to.be.lessThan(12)
    for (let place = 0; place < 2 ** 10; place += 1) {
      const other = first.map((leaf, index) => ((place >> (index % 10)) & 1 ? `${leaf} changed` : leaf))
      expect(packer.unpack(packer.pack(other))).to.deep.equal(other)
    }
  })

  it('stores all leaves if those of the first object are long or must not be shared', () => {
    const long = 'x'.repeat(5_000)
    for (const [packer, leaf] of [
      [new Packer(), long],
      [new Packer({ sharesLeaves: false }), 'secret'],
    ] as const) {
      const packed = [packer.pack({ leaf }), packer.pack({ leaf })]
      for (const { text, shape } of packed) expect([text.includes(leaf), shape?.first]).to.deep.equal([true, []])
      expect(packed.map((each) => packer.unpack(each))).to.deep.equal([{ leaf }, { leaf }])
    }
  })
})

describe('ObjectStore', () => {
  const make = (name: string, version: number, owner: string): KubeObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'a', uid: `uid-${name}`, resourceVersion: String(version) },
    data: { owner },
  })
  const byOwner = { owner: (object: KubeObject) => [(object.data as { owner: string }).owner] }

  it('moves an object between index keys and removes empty ones', () => {
    const store = new ObjectStore<KubeObject>(configMap, byOwner)
    for (const name of ['x', 'y', 'z']) store.put(make(name, 1, 'one'))
    store.put(make('y', 2, 'two'))
    const under = (key: string) => store.byIndex('owner', key).map((object) => object.metadata.name)
    expect([under('one'), under('two')]).to.deep.equal([['x', 'z'], ['y']])
    store.delete({ namespace: 'a', name: 'x' })
    expect(under('one')).to.deep.equal(['z'])
    expect(() => store.byIndex('unknown', 'x')).to.throw(RangeError)
  })

  it('finds objects by uid', () => {
    const store = new ObjectStore<KubeObject>(configMap)
    store.put(make('x', 1, ''))
    expect(store.byUid('uid-x')?.metadata.name).to.equal('x')
    store.put(make('y', 2, ''))
    store.delete({ namespace: 'a', name: 'x' })
    expect([store.byUid('uid-x'), store.byUid('uid-y')?.metadata.name]).to.deep.equal([undefined, 'y'])
  })

  it('returns the same object while it is referenced', () => {
    const store = new ObjectStore<KubeObject>(configMap)
    store.put(make('x', 1, ''))
    const held = store.get({ namespace: 'a', name: 'x' })
    expect(store.get({ namespace: 'a', name: 'x' })).to.equal(held)
  })

  it('changes the revision of a namespace with each change in it', () => {
    const store = new ObjectStore(configMap)
    const seen = [store.revision('a')]
    for (const version of [1, 2]) {
      store.put(make('x', version, 'one'))
      seen.push(store.revision('a'))
    }
    store.put(make('y', 3, 'one'))
    const elsewhere = store.revision('b')
    for (const name of ['x', 'y']) {
      store.delete({ namespace: 'a', name })
      seen.push(store.revision('a'))
    }
    store.put(make('x', 4, 'one'))
    expect(new Set([...seen, store.revision('a')])).to.have.length(5)
    expect([elsewhere, store.revision('b'), seen.at(-1)]).to.deep.equal([0, 0, 0])
  })

  it('needs less than twice the size of the texts for unread objects', async () => {
    const store = new ObjectStore<KubeObject>(configMap)
    const count = 2_000
    const before = await heapUsed()
    for (let index = 0; index < count; index += 1) {
      const data = Object.fromEntries(
        Array.from({ length: 20 }, (_, key) => [`key-${key}`, `${index} ${key}`.repeat(9)]),
      )
      store.put({ ...make(`x-${index}`, 1, ''), data } as KubeObject, { shared: true })
    }
    const held = (await heapUsed()) - before
    expect(held).to.be.lessThan(2 * store.bytes)
    expect(store.size).to.equal(count)
  })

  it('counts large objects as several if requested, and rejects the question otherwise', () => {
    const bucket = (version: number, size: number): KubeObject => ({
      ...{ apiVersion: Bucket.apiVersion, kind: Bucket.kind },
      metadata: { name: 'x', namespace: 'a', resourceVersion: String(version), annotations: { x: 'x'.repeat(size) } },
    })
    const counting = new ObjectStore<KubeObject>(Bucket.resource, {}, true)
    for (const [version, size, counts] of [
      [1, 1, 1],
      [2, 3 * BYTES_PER_COUNTED_OBJECT, 4],
    ] as const) {
      counting.put(bucket(version, size))
      expect(counting.heldIn('a')).to.equal(counts)
    }
    counting.delete({ namespace: 'a', name: 'x' })
    expect(counting.heldIn('a')).to.equal(0)
    const others = new ObjectStore<KubeObject>(Bucket.resource)
    others.put(bucket(1, 1))
    expect(() => others.heldIn('a')).to.throw(RangeError)
  })

  it('counts bytes and objects', () => {
    const store = new ObjectStore<KubeObject>(configMap)
    store.put(make('x', 1, ''))
    expect(store.bytes).to.be.greaterThan(0)
    store.delete({ namespace: 'a', name: 'x' })
    expect([store.size, store.bytes]).to.deep.equal([0, 0])
  })
})
