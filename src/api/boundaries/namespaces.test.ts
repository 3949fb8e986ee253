import { expect } from 'chai'
import { groupNamespaceObject } from '../../core/namespaces.ts'
import { namespace } from '../../kube/builtin.ts'
import { KubeError } from '../../kube/errors.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import { kubeNamespaces } from './namespaces.ts'

const wanted = groupNamespaceObject('6f1c3a52-0f0e-4d67-9b2e-3c1f2f8f7a1b', 'shop', 'incarnation')
const name = wanted.metadata.name

describe('kubeNamespaces', () => {
  it('creates a namespace with one call and leaves an existing one unchanged', async () => {
    const client = new FakeKubeClient()
    const store = kubeNamespaces(client)
    await store.ensure(wanted)
    const first = await client.get(namespace, { name })
    await store.ensure({ ...wanted, metadata: { ...wanted.metadata, labels: { other: 'label' } } })
    expect(await client.get(namespace, { name })).to.deep.equal(first)
    expect(client.count('create')).to.equal(2)
  })

  it('reports only namespaces of the platform as existing', async () => {
    const client = new FakeKubeClient()
    const store = kubeNamespaces(client)
    expect(await store.exists(name)).to.equal(false)
    client.seed(namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'foreign' } })
    expect(await store.exists('foreign')).to.equal(false)
    await store.ensure(wanted)
    expect(await store.exists(name)).to.equal(true)
  })

  for (const verb of ['create', 'get'] as const) {
    it(`throws if the API server does not answer a ${verb}`, async () => {
      const client = new FakeKubeClient()
      client.fail(verb, namespace, 'Unavailable')
      const store = kubeNamespaces(client)
      const failure = await (verb === 'create' ? store.ensure(wanted) : store.exists(name)).catch((error) => error)
      expect(failure).to.be.instanceOf(KubeError)
    })
  }
})
