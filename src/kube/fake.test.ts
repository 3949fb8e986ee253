import { expect } from 'chai'
import { expectReason, kubeClientContract } from '../../test/suites/kubeContract.ts'
import type { KubeObject } from '../core/object.ts'
import { configMap, secret } from './builtin.ts'
import { FakeKubeClient } from './fake.ts'

describe('FakeKubeClient', () => {
  let client = new FakeKubeClient()
  beforeEach(() => {
    client = new FakeKubeClient()
    client.seed(configMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'old', namespace: 'elsewhere' } })
    client.compact()
  })

  describe('as a KubeClient', () => {
    const custom = { group: 'example.com', version: 'v1', plural: 'things', kind: 'Thing', namespaced: true }
    kubeClientContract(() => ({ client, namespace: 'default', custom }))
  })

  const object = (name: string, more: object = {}): KubeObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'default' },
    ...more,
  })

  it('writes the status through its subresource only, without a new generation', async () => {
    const created = await client.create(configMap, object('a', { spec: { n: 1 }, status: { ready: true } }))
    expect(created).not.to.have.property('status')
    const patch = { spec: { n: 2 }, status: { ready: true } }
    const patched = await client.mergePatch(configMap, created.metadata, patch, { subresource: 'status' })
    expect(patched).to.deep.include({ spec: { n: 1 }, status: { ready: true } })
    expect(patched.metadata.generation).to.equal(1)
    const changed = await client.mergePatch(configMap, created.metadata, { spec: { n: 2 } })
    expect(changed.metadata.generation).to.equal(2)
  })

  it('refuses a watch from a compacted version with Gone', async () => {
    const watch = async () => {
      for await (const _event of client.watchStream(configMap, { resourceVersion: '1' })) return
    }
    await expectReason('Gone', watch())
  })

  it('fails as planned, and then works again', async () => {
    client.fail('create', configMap, 'Unavailable')
    await expectReason('Unavailable', client.create(configMap, object('a')))
    await client.create(configMap, object('a'))
    expect(client.count('create', configMap)).to.equal(2)
  })

  it('deletes objects without an owner if garbage collection is on', async () => {
    client = new FakeKubeClient({ collectGarbage: true })
    const owner = await client.create(configMap, object('owner'))
    const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner.metadata.uid ?? '' }
    const child = object('child')
    await client.create(secret, { ...child, metadata: { ...child.metadata, ownerReferences: [reference] } })
    await client.remove(configMap, owner.metadata)
    await expectReason('NotFound', client.get(secret, child.metadata))
  })
})
