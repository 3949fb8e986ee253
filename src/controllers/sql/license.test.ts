import { expect } from 'chai'
import { StatefulWorld } from '../../../test/worlds/statefulWorld.ts'
import { encodeProductKey } from '../../contracts/sql.ts'
import type { KubeObject } from '../../core/object.ts'
import { SqlInstance } from '../../crds/sql.ts'
import { pod, secret, statefulSet } from '../../kube/builtin.ts'

type Pod = { spec: { template: { spec: { containers: [{ env: { name: string; valueFrom?: object }[] }] } } } }

describe('product key of a SqlInstance', () => {
  let world: StatefulWorld
  /** The edition that the engine reports; null if it reports none. */
  let edition: string | null
  /** Editions that the engine reports with some keys instead. */
  let editions: Record<string, string>
  beforeEach(async () => {
    edition = 'Standard Edition (64-bit)'
    editions = {}
    const describe = async () => ({ version: '16.0', edition: editions[(await startedWith()) ?? ''] ?? edition })
    world = await new StatefulWorld({ describe }).start()
  })
  afterEach(() => world.stop())

  const make = (spec: object = {}) =>
    world.create(SqlInstance, 'books', { acceptEula: true, edition: 'Standard', ...spec })
  const setKey = async (version: number) => {
    const keys = encodeProductKey(version, { key: `KEY-${version}`, setAt: '2026-01-01T00:00:00Z', setBy: 'anna' })
    const found = await world.find<KubeObject & { data?: object }>(secret, 'sqli-books-license')
    const metadata = { name: 'sqli-books-license', namespace: world.home }
    world.bench.client.seed(secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { ...metadata, ...found?.metadata },
      data: { ...found?.data, ...keys },
    })
    await world.change(SqlInstance, 'books', { licenseVersion: version })
  }
  const says = () => world.says(SqlInstance, 'books')
  const license = async () => (await world.status(SqlInstance, 'books')).licenseStatus
  /** The entry of the Secret from which the pod reads its key. */
  const startedWith = async () => {
    const set = (await world.find(statefulSet, 'sqli-books')) as unknown as Pod | undefined
    const variable = set?.spec.template.spec.containers[0].env.find(({ name }) => name === 'MSSQL_PID')
    return JSON.stringify(variable?.valueFrom ?? null).match(/product-key\.v\d+/)?.[0]
  }
  /** Sets the status of a pod in a crash loop. */
  const crash = async () => {
    world.bench.client.edit(statefulSet, { namespace: world.home, name: 'sqli-books' }, (set) => {
      Object.assign(set.status as object, { readyReplicas: 0 })
    })
    const set = (await world.find(statefulSet, 'sqli-books')) as { status?: { updateRevision: string } } | undefined
    const revision = set?.status?.updateRevision ?? ''
    world.bench.client.edit(pod, { namespace: world.home, name: 'sqli-books-0' }, (object) => {
      object.metadata.labels = { ...object.metadata.labels, 'controller-revision-hash': revision }
      object.status = { containerStatuses: [{ state: { waiting: { reason: 'CrashLoopBackOff' } } }] }
    })
    await world.bench.rest()
  }

  it('is NotRequired for a free edition', async () => {
    await make({ edition: 'Developer' })
    expect(await license()).to.equal('NotRequired')
    expect(await says()).to.match(/^Running Available/)
  })

  it('is Missing for a paid edition, and no StatefulSet is created', async () => {
    await make()
    expect(await license()).to.equal('Missing')
    expect(await says()).to.equal(
      'Failed LicenseInvalid: Edition Standard needs a product key, and no product key is set.',
    )
    expect(await world.find(statefulSet, 'sqli-books')).to.equal(undefined)
  })

  it('is Missing if the Secret has no entry for licenseVersion', async () => {
    await make({ licenseVersion: 1 })
    expect(await license()).to.equal('Missing')
  })

  it('is Active once the engine reports the edition', async () => {
    await make()
    await setKey(1)
    expect(await license()).to.equal('Active')
    expect(await startedWith()).to.equal('product-key.v1')
    expect(await says()).to.match(/^Running Available/)
  })

  it('is Active if the engine reports no edition', async () => {
    edition = null
    await make()
    await setKey(1)
    expect(await license()).to.equal('Active')
  })

  it('is Rejected if the engine reports another edition, until another key is set', async () => {
    edition = 'Developer Edition (64-bit)'
    await make()
    await setKey(1)
    expect(await license()).to.equal('Rejected')
    expect(await says()).to.match(/LicenseInvalid: Edition Standard .* the engine did not accept the product key\.$/)
    edition = 'Standard Edition (64-bit)'
    await setKey(2)
    expect(await license()).to.equal('Active')
    expect(await says()).to.match(/^Running Available/)
  })

  it('is replaced by the previous key if it is Rejected', async () => {
    await make()
    await setKey(1)
    editions = { 'product-key.v2': 'Developer Edition (64-bit)' }
    await setKey(2)
    expect(await startedWith()).to.equal('product-key.v1')
    expect(await license()).to.equal('Rejected')
    expect(await says()).to.match(/^Running Available/)
    await setKey(3)
    expect([await startedWith(), await license()]).to.deep.equal(['product-key.v3', 'Active'])
  })

  it('does not alternate with the previous key if both are rejected', async () => {
    await make()
    await setKey(1)
    edition = 'Developer Edition (64-bit)'
    await setKey(2)
    // A restart makes the engine report its edition again.
    await world.change(SqlInstance, 'books', { restartedAt: '2026-01-02T00:00:00Z' })
    expect(await startedWith()).to.equal('product-key.v1')
    expect(await license()).to.equal('Rejected')
    expect(await says()).to.match(/LicenseInvalid: The product key is for edition "Developer/)
    world.bench.writes()
    await world.bench.rest()
    expect(world.bench.writes()).to.deep.equal([])
  })

  it('is replaced by the previous key if the engine does not start with it', async () => {
    await make()
    await setKey(1)
    await setKey(2)
    // As if the engine had crashed before it could report its edition.
    world.bench.client.edit(SqlInstance.resource, { namespace: world.home, name: 'books' }, (object) => {
      Object.assign(object.status as object, { licenseVersion: 1, preparedFor: 'the key before' })
    })
    await crash()
    expect(await startedWith()).to.equal('product-key.v1')
    expect(await license()).to.equal('Rejected')
    await world.converge()
    expect(await says()).to.match(/^Running Available/)
  })

  it('is deleted at once with the instance, so that a new one of the same name does not use it', async () => {
    await make()
    const owner = (await world.find(SqlInstance.resource, 'books'))?.metadata.uid ?? ''
    for (const name of ['sqli-books-license', 'sqli-books-history']) {
      const reference = { apiVersion: SqlInstance.apiVersion, kind: 'SqlInstance', name: 'books', uid: owner }
      const labels = { 'app.kubernetes.io/managed-by': 'freehold' }
      world.bench.client.seed(secret, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name, namespace: world.home, labels, ownerReferences: [reference] },
      })
    }
    const foreign = { name: 'sqli-books-other', namespace: world.home }
    world.bench.client.seed(secret, { apiVersion: 'v1', kind: 'Secret', metadata: foreign })
    await world.bench.client.remove(SqlInstance.resource, { namespace: world.home, name: 'books' })
    await world.converge()
    expect(await world.find(SqlInstance.resource, 'books')).to.equal(undefined)
    const { items } = await world.bench.client.list(secret)
    expect(items.map(({ metadata }) => metadata.name)).to.deep.equal(['sqli-books-other'])
  })

  it('is named as the likely cause of a crash if the engine never ran with any key', async () => {
    edition = null
    await make()
    await setKey(1)
    world.bench.client.edit(SqlInstance.resource, { namespace: world.home, name: 'books' }, (object) => {
      const { licenseVersion: _, ...status } = object.status as Record<string, unknown>
      object.status = status
    })
    await crash()
    expect(await startedWith()).to.equal('product-key.v1')
    expect(await says()).to.match(/CrashLooping: Pod sqli-books-0: CrashLoopBackOff\. The engine never ran with this/)
  })
})
