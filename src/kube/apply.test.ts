import { expect } from 'chai'
import { expectReason } from '../../test/suites/kubeContract.ts'
import type { KubeObject } from '../core/object.ts'
import { APPLIED_ANNOTATION, applyIfAbsent, applyIfChanged, withHash } from './apply.ts'
import { configMap, secret } from './builtin.ts'
import { FakeKubeClient } from './fake.ts'

const reference = { apiVersion: 'v1', kind: 'Owner', name: 'o', uid: 'owner-uid', controller: true }

function desired(data: Record<string, unknown>, more: object = {}): KubeObject {
  const metadata = { name: 'x', namespace: 'a', ownerReferences: [reference] }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data, ...more }
}

describe('applyIfChanged and applyIfAbsent', () => {
  let client = new FakeKubeClient()
  beforeEach(() => {
    client = new FakeKubeClient()
  })
  const apply = (object: KubeObject, observed?: KubeObject) => applyIfChanged(client, configMap, object, observed)
  const stored = () => client.get(configMap, { namespace: 'a', name: 'x' })

  it('creates a missing object', async () => {
    const { changed, object } = await apply(desired({ a: '1' }))
    expect(changed).to.equal(true)
    expect(object.data).to.deep.equal({ a: '1' })
  })

  it('sends nothing if the object is as desired, in any order of fields', async () => {
    await apply(desired({ a: '1', b: '2' }))
    const { changed } = await apply(desired({ b: '2', a: '1' }), await stored())
    expect(changed).to.equal(false)
    expect(client.count('apply')).to.equal(1)
  })

  it('removes a field that is no longer desired', async () => {
    await apply(desired({ a: '1', b: '2' }))
    const { changed, object } = await apply(desired({ a: '1' }), await stored())
    expect(changed).to.equal(true)
    expect(object.data).to.deep.equal({ a: '1' })
  })

  it('restores a field that another manager changed and keeps fields that others added', async () => {
    await apply(desired({ a: '1' }))
    client.edit<KubeObject>(configMap, { namespace: 'a', name: 'x' }, (object) => {
      object.data = { a: 'broken', theirs: '1' }
    })
    const { object } = await apply(desired({ a: '1' }), await stored())
    expect(object.data).to.deep.equal({ a: '1', theirs: '1' })
    expect((await apply(desired({ a: '1' }), object)).changed).to.equal(false)
  })

  for (const [what, damage] of [
    ['label', { labels: { app: 'other' } }],
    ['annotation', { annotations: { note: 'other' } }],
    ['owner', { ownerReferences: [] }],
  ] as const)
    it(`restores the ${what} of an object`, async () => {
      const own = { labels: { app: 'x' }, annotations: { note: 'y' }, ownerReferences: [reference] }
      const wanted = desired({}, { metadata: { name: 'x', namespace: 'a', ...own } })
      const { object: made } = await apply(wanted)
      expect(made.metadata).to.deep.include({ labels: own.labels, ownerReferences: [reference] })
      expect(made.metadata.annotations).to.have.all.keys('note', APPLIED_ANNOTATION)
      client.edit<KubeObject>(configMap, { namespace: 'a', name: 'x' }, ({ metadata }) => {
        Object.assign(metadata, damage)
        if ('annotations' in damage) metadata.annotations = { ...made.metadata.annotations, ...damage.annotations }
      })
      const { changed, object } = await apply(wanted, await stored())
      expect(changed).to.equal(true)
      const { labels, annotations, ownerReferences } = object.metadata
      expect({ labels, annotations, ownerReferences }).to.deep.equal({
        ...own,
        annotations: made.metadata.annotations,
      })
    })

  it('sends neither null nor undefined, and the same hash with and without them', () => {
    const plain = withHash(desired({ list: [{ a: 1 }] }))
    expect(withHash(desired({ list: [{ a: 1, b: null }], c: undefined, d: null }))).to.deep.equal(plain)
  })

  it('rejects with other errors than that the object exists', async () => {
    const failing = { apply: () => Promise.reject(new Error('It is away.')) }
    const failure = await applyIfAbsent(failing, configMap, desired({})).then(
      () => 'none',
      ({ message }: Error) => message,
    )
    expect(failure).to.equal('It is away.')
  })

  it('applyIfAbsent leaves an existing object unchanged', async () => {
    const metadata = { name: 'x', namespace: 'a' }
    client.seed<KubeObject>(configMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { theirs: '1' } })
    expect(await applyIfAbsent(client, configMap, desired({ a: '1' }))).to.equal(undefined)
    expect((await stored()).data).to.deep.equal({ theirs: '1' })
  })

  it('applyIfChanged removes a field that applyIfAbsent set and that is no longer desired', async () => {
    await applyIfAbsent(client, configMap, desired({ a: '1', b: '2' }))
    const { object } = await apply(desired({ a: '1' }), await stored())
    expect(object.data).to.deep.equal({ a: '1' })
  })

  it('fails with Conflict if another object took the name of the observed one', async () => {
    const { object } = await apply(desired({ a: '1' }))
    await client.remove(configMap, object.metadata)
    client.seed(configMap, { ...object, metadata: { ...object.metadata, uid: 'namesake' } })
    await expectReason('Conflict', apply(desired({ a: '2' }), object))
  })

  it('withHash keeps values of Secrets out of the annotation', () => {
    const make = (value: string): KubeObject =>
      desired({}, { kind: 'Secret', data: undefined, stringData: { key: value } })
    const hash = (value: string) => withHash(make(value)).metadata.annotations?.[APPLIED_ANNOTATION]
    expect(hash('one')).to.equal(hash('two'))
    expect(withHash(make('one'))).to.deep.include({ data: { key: 'b25l' } })
    expect(withHash(make('one'))).not.to.have.property('stringData')
  })

  it('applies a Secret if only its value changed', async () => {
    const make = (value: string): KubeObject =>
      desired({}, { kind: 'Secret', data: undefined, stringData: { key: value } })
    const first = await applyIfChanged(client, secret, make('one'), undefined)
    const second = await applyIfChanged(client, secret, make('two'), first.object)
    expect([first.changed, second.changed]).to.deep.equal([true, true])
  })
})
