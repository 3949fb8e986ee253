import { expect } from 'chai'
import { ManualClock, NEVER_SILENT, settle } from '../../../test/make/clock.ts'
import { FULL_LABEL } from '../../core/labels.ts'
import { silentLog } from '../../core/log.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import { boundaryNamespaceObject, groupNamespaceObject } from '../../core/namespaces.ts'
import type { KubeObject } from '../../core/object.ts'
import { BYTES_PER_COUNTED_OBJECT } from '../../core/objectCount.ts'
import { BlueprintTemplate } from '../../crds/blueprints.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { COUNT_LIMITED_KINDS } from '../../crds/index.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { namespace as namespaceResource } from '../../kube/builtin.ts'
import { CacheSet, withCaches } from '../../kube/caches.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import { FullBoundaryMarker } from './index.ts'

const ID = '3d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b01'
const HOME = boundaryNamespace(ID)
const [SHOP, DEPOT] = [groupNamespace(ID, 'shop'), groupNamespace(ID, 'depot')]

describe('FullBoundaryMarker', () => {
  let client: FakeKubeClient
  let caches: CacheSet
  let pools: FullBoundaryMarker

  const started = async (most: number) => {
    pools = new FullBoundaryMarker({
      records: { client, caches },
      maxObjects: most,
      clock: new ManualClock(),
      log: silentLog,
    })
    pools.start()
    await rest()
  }
  async function rest(): Promise<void> {
    for (let calls = -1; calls !== client.calls.length; ) {
      calls = client.calls.length
      await settle()
      await pools.whenIdle()
    }
  }

  beforeEach(async () => {
    const made = withCaches(
      (observer) => new FakeKubeClient({ observer }),
      (of) =>
        new CacheSet({ client: of, clock: new ManualClock(), timings: NEVER_SILENT, random: () => 0, counts: true }),
    )
    client = made.client
    caches = made.caches
    for (const { resource } of COUNT_LIMITED_KINDS) caches.add(resource)
    caches.add(namespaceResource)
    const boundary = { apiVersion: Boundary.apiVersion, kind: 'Boundary', metadata: { name: ID } }
    client.seed(namespaceResource, boundaryNamespaceObject(boundary))
    for (const group of ['shop', 'depot']) client.seed(namespaceResource, groupNamespaceObject(ID, group, 'life'))
    caches.start()
    await caches.whenAllSynced()
  })
  afterEach(async () => {
    await pools.stop()
    await caches.stopAll()
  })

  const make = async (namespace: string, name: string, annotations: Record<string, string> = {}) => {
    const kind = namespace === HOME ? BlueprintTemplate : VectorCluster
    await client.create(kind.resource, {
      apiVersion: kind.apiVersion,
      kind: kind.kind,
      metadata: { namespace, name, annotations },
      spec: {},
    } as KubeObject)
    await rest()
  }
  const remove = async (namespace: string, name: string) => {
    await client.remove(VectorCluster.resource, { namespace, name })
    await rest()
  }
  const marks = async () =>
    Object.fromEntries(
      (await client.list(namespaceResource)).items.map(({ metadata }) => [
        metadata.name,
        metadata.labels?.[FULL_LABEL],
      ]),
    )

  it('labels the group namespaces of a full boundary, but not the boundary namespace', async () => {
    await started(3)
    await make(SHOP, 'a')
    await make(SHOP, 'b')
    expect(await marks()).to.deep.equal({ [HOME]: undefined, [SHOP]: undefined, [DEPOT]: undefined })
    await make(DEPOT, 'c')
    expect(await marks()).to.deep.equal({ [HOME]: undefined, [SHOP]: '3-of-3', [DEPOT]: '3-of-3' })
    expect(pools.size).to.equal(1)
    await remove(SHOP, 'a')
    expect(await marks()).to.deep.equal({ [HOME]: undefined, [SHOP]: undefined, [DEPOT]: undefined })
    expect(pools.size).to.equal(0)
  })

  it('labels the boundary namespace for the objects in it alone', async () => {
    await started(2)
    await make(HOME, 'a')
    await make(HOME, 'b')
    expect(await marks()).to.deep.equal({ [HOME]: '2-of-2', [SHOP]: undefined, [DEPOT]: undefined })
  })

  it('writes no further patch while a boundary stays full', async () => {
    await started(1)
    await make(SHOP, 'a')
    const writes = () => client.calls.filter(({ verb }) => verb === 'patch').length
    const before = writes()
    await make(SHOP, 'b')
    await remove(SHOP, 'b')
    expect(writes()).to.equal(before)
  })

  it('counts large objects, also ones that grow, by their size', async () => {
    await started(10)
    await make(SHOP, 'a', { large: 'x'.repeat(5 * BYTES_PER_COUNTED_OBJECT) })
    expect((await marks())[SHOP]).to.equal(undefined)
    await make(SHOP, 'b')
    const grown = { metadata: { annotations: { large: 'x'.repeat(5 * BYTES_PER_COUNTED_OBJECT) } } }
    await client.mergePatch(VectorCluster.resource, { namespace: SHOP, name: 'b' }, grown)
    await rest()
    expect((await marks())[SHOP]).to.equal('12-of-10')
  })

  it('labels a new namespace and restores a removed label', async () => {
    await started(1)
    await make(SHOP, 'a')
    const late = groupNamespace(ID, 'late')
    await client.create(namespaceResource, groupNamespaceObject(ID, 'late', 'life'))
    await rest()
    expect((await marks())[late]).to.equal('1-of-1')
    await client.mergePatch(namespaceResource, { name: SHOP }, { metadata: { labels: { [FULL_LABEL]: null } } })
    await rest()
    expect((await marks())[SHOP]).to.equal('1-of-1')
  })

  it('writes nothing after a restart with the same limit and updates the labels with another', async () => {
    await started(2)
    await make(SHOP, 'a')
    await make(SHOP, 'b')
    await pools.stop()
    const before = client.calls.length
    await started(2)
    expect(client.calls.slice(before).filter(({ verb }) => verb === 'patch')).to.deep.equal([])
    await pools.stop()
    await started(1)
    expect((await marks())[SHOP]).to.equal('2-of-1')
    await pools.stop()
    await started(100)
    expect((await marks())[SHOP]).to.equal(undefined)
  })
})
