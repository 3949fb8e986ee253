import { expect } from 'chai'
import { until } from '../../test/make/until.ts'
import { type KubeObject, resourceId } from '../core/object.ts'
import { configMap, customResourceDefinition, namespace } from './builtin.ts'
import { CacheSet } from './caches.ts'
import { FakeKubeClient } from './fake.ts'

const object = (name: string, owner: string): KubeObject & { data: { owner: string } } => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'a' },
  data: { owner },
})
const INDEXES = { owner: (found: KubeObject) => [(found as ReturnType<typeof object>).data.owner] }

describe('CacheSet beside another one', () => {
  let client: FakeKubeClient
  let first: CacheSet
  let second: CacheSet

  beforeEach(async () => {
    client = new FakeKubeClient()
    client.seed(configMap, object('one', 'x'))
    first = new CacheSet({ client })
    first.add(configMap)
    first.start()
    await first.whenAllSynced()
    second = new CacheSet({ client, sharedWith: first })
  })

  afterEach(async () => {
    await second.stopAll()
    await first.stopAll()
  })

  it('shares the cache of a type, and indexes objects that came before the index', async () => {
    const cache = second.add(configMap, { indexes: INDEXES })
    second.add(namespace)
    second.start()
    await second.whenAllSynced()
    expect(cache).to.equal(first.get(configMap))
    const found = () => cache.byIndex('owner', 'x').map(({ metadata }) => metadata.name)
    await client.create(configMap, object('two', 'x'))
    await until('both are found', async () => found().join() === 'one,two')
    await client.remove(configMap, { namespace: 'a', name: 'one' })
    await until('the other one is found', async () => found().join() === 'two')
    expect(first.has(namespace)).to.equal(false)
  })

  it("shows the other's writes in the shared cache", () => {
    second.add(configMap)
    const written = { ...object('three', 'x'), metadata: { ...object('three', 'x').metadata, resourceVersion: '999' } }
    second.observer().written(configMap, written)
    expect(first.get(configMap).get('a', 'three')).to.deep.include({ data: { owner: 'x' } })
  })

  it("stops without ending the other's watches", async () => {
    second.add(configMap)
    await second.stopAll()
    await client.create(configMap, object('two', 'x'))
    await until('the new object is seen', async () => first.get(configMap).size === 2)
  })

  it('has its own cache for a type with a label selector', () => {
    expect(second.add(configMap, { labelSelector: 'a=b' })).not.to.equal(first.get(configMap))
  })
})

describe('subscribers of a cache, beside one that throws', () => {
  const broken = () => {
    throw new Error('broken')
  }

  it('receive new namespaces of a scoped cache and changes in them', async () => {
    const client = new FakeKubeClient()
    const scoped = new CacheSet({ client }).addScoped(configMap)
    const received: string[] = []
    scoped.subscribe(broken)
    scoped.subscribe(({ type, object }) => received.push(`${type} ${object.metadata.name}`))
    scoped.onSynced(broken)
    scoped.onSynced((synced) => received.push(synced))
    scoped.addNamespace('a')
    await until('it is known', async () => received.includes('a'))
    await client.create(configMap, object('one', 'x'))
    await until('the new object is heard of', async () => received.includes('added one'))
    await scoped.stop()
  })

  it('receive when an optional type is served, its changes and its removal', async () => {
    const client = new FakeKubeClient()
    const caches = new CacheSet({ client })
    const cache = caches.addOptional(configMap)
    const received: string[] = []
    cache.subscribe(broken)
    cache.subscribe(({ type, object }) => received.push(`${type} ${object.metadata.name}`))
    cache.onServed(broken)
    cache.onServed(() => received.push(String(cache.served)))
    caches.start()
    await caches.whenAllSynced()
    const status = { conditions: [{ type: 'Established', status: 'True' }] }
    const spec = { versions: [{ name: 'v1', served: true }] }
    const definition = { name: resourceId(configMap) }
    client.seed(customResourceDefinition, {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: definition,
      ...{ spec, status },
    })
    await until('it is served', async () => received.includes('true'))
    await client.create(configMap, object('one', 'x'))
    await until('the new object is heard of', async () => received.includes('added one'))
    await client.remove(customResourceDefinition, definition)
    await until('it is served no more', async () => received.includes('false'))
    expect(received).to.include('removed one')
    await caches.stopAll()
  })
})
