import { expect } from 'chai'
import { expectReason } from '../../test/suites/kubeContract.ts'
import { OWNER_INCARNATION_ANNOTATION } from '../core/labels.ts'
import type { KubeObject } from '../core/object.ts'
import { APPLIED_ANNOTATION, applyIfChanged, NotOurs, prune, withHash } from './apply.ts'
import { configMap, secret } from './builtin.ts'
import { FakeKubeClient } from './fake.ts'

const owner = { uid: 'owner-uid' }
const reference = { apiVersion: 'v1', kind: 'Owner', name: 'o', uid: 'owner-uid', controller: true }

function desired(data: Record<string, unknown>, more: object = {}): KubeObject {
  const metadata = { name: 'x', namespace: 'a', ownerReferences: [reference] }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data, ...more }
}

describe('apply if changed', () => {
  let client = new FakeKubeClient()
  beforeEach(() => {
    client = new FakeKubeClient()
  })
  const apply = (object: KubeObject, observed?: KubeObject) =>
    applyIfChanged(client, configMap, object, observed, { owner })
  const stored = () => client.get(configMap, { namespace: 'a', name: 'x' })

  it('creates what is not there', async () => {
    const { changed, object } = await apply(desired({ a: '1' }))
    expect(changed).to.equal(true)
    expect(object.data).to.deep.equal({ a: '1' })
  })

  it('sends nothing for what is as desired, in whatever order its fields were built', async () => {
    await apply(desired({ a: '1', b: '2' }))
    const { changed } = await apply(desired({ b: '2', a: '1' }), await stored())
    expect(changed).to.equal(false)
    expect(client.count('apply')).to.equal(1)
  })

  it('notices a field that is no longer wanted, and removes it', async () => {
    await apply(desired({ a: '1', b: '2' }))
    const { changed, object } = await apply(desired({ a: '1' }), await stored())
    expect(changed).to.equal(true)
    expect(object.data).to.deep.equal({ a: '1' })
  })

  it('heals what a stranger changed and leaves what a stranger added', async () => {
    await apply(desired({ a: '1' }))
    client.edit<KubeObject>(configMap, { namespace: 'a', name: 'x' }, (object) => {
      object.data = { a: 'broken', theirs: '1' }
    })
    const { object } = await apply(desired({ a: '1' }), await stored())
    expect(object.data).to.deep.equal({ a: '1', theirs: '1' })
    expect((await apply(desired({ a: '1' }), object)).changed).to.equal(false)
  })

  it('never adopts an object that is not ours, seen or unseen', async () => {
    const foreign = client.seed(configMap, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'x', namespace: 'a' },
    })
    for (const observed of [foreign, undefined]) {
      const refused = await apply(desired({ a: '1' }), observed).catch((error: unknown) => error)
      expect(refused).to.be.instanceOf(NotOurs)
    }
    expect(client.count('apply')).to.equal(0)
  })

  it('knows its own by the incarnation where no owner reference can reach', async () => {
    const annotations = { [OWNER_INCARNATION_ANNOTATION]: 'i1' }
    const metadata = { name: 'x', namespace: 'a', annotations }
    const observed = client.seed<KubeObject>(configMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata })
    const own = await applyIfChanged(client, configMap, { ...observed, data: {} }, observed, {
      owner: { incarnation: 'i1' },
    })
    expect(own.changed).to.equal(true)
    const other = applyIfChanged(client, configMap, observed, observed, { owner: { incarnation: 'i2' } })
    expect(await other.catch((error: unknown) => error)).to.be.instanceOf(NotOurs)
  })

  it('is refused where a namesake took the place of what was observed', async () => {
    const { object } = await apply(desired({ a: '1' }))
    await client.remove(configMap, object.metadata)
    client.seed(configMap, { ...object, metadata: { ...object.metadata, uid: 'namesake' } })
    await expectReason('Conflict', apply(desired({ a: '2' }), object))
  })

  it('keeps values of Secrets out of the hash that stands in the annotation', () => {
    const make = (value: string): KubeObject =>
      desired({}, { kind: 'Secret', data: undefined, stringData: { key: value } })
    const hash = (value: string) => withHash(make(value)).metadata.annotations?.[APPLIED_ANNOTATION]
    expect(hash('one')).to.equal(hash('two'))
    expect(withHash(make('one'))).to.deep.include({ data: { key: 'b25l' } })
    expect(withHash(make('one'))).not.to.have.property('stringData')
  })

  it('applies a Secret whose value changed all the same', async () => {
    const make = (value: string): KubeObject =>
      desired({}, { kind: 'Secret', data: undefined, stringData: { key: value } })
    const first = await applyIfChanged(client, secret, make('one'), undefined, { owner })
    const second = await applyIfChanged(client, secret, make('two'), first.object, { owner })
    expect([first.changed, second.changed]).to.deep.equal([true, true])
  })
})

describe('prune', () => {
  const client = new FakeKubeClient()
  const make = (name: string, uid: string) =>
    client.seed(configMap, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'a', ownerReferences: [{ ...reference, uid }] },
    })

  it('deletes what is ours and not wanted, and nothing else', async () => {
    const objects = [make('kept', 'owner-uid'), make('unwanted', 'owner-uid'), make('foreign', 'another')]
    expect(await prune(client, configMap, objects, { owner, keep: ['kept'] })).to.deep.equal(['unwanted'])
    const left = (await client.list(configMap)).items.map((item) => item.metadata.name)
    expect(left).to.have.members(['kept', 'foreign'])
  })

  it('deletes nothing that changed since it was looked at', async () => {
    const old = make('changing', 'owner-uid')
    client.edit<KubeObject>(configMap, old.metadata, (object) => {
      object.data = { new: 'content' }
    })
    await expectReason('Conflict', prune(client, configMap, [old], { owner, keep: [] }))
  })
})
