import { expect } from 'chai'
import { testKeys } from '../../test/make/registry.ts'
import { BOUNDARY_ID } from '../../test/worlds/controllers.ts'
import { FAR, TwoClusters } from '../../test/worlds/twoClusters.ts'
import { PULL_SECRET } from '../contracts/registry/names.ts'
import { RETAINED_FOR_ANNOTATION } from '../core/labels.ts'
import type { KubeObject } from '../core/object.ts'
import { PlatformCluster } from '../crds/clusters.ts'
import { BoundaryProjection } from '../crds/projections.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import { VectorCluster } from '../crds/vector.ts'
import {
  namespace,
  node,
  persistentVolumeClaim,
  resourceQuota,
  secret,
  service,
  storageClass,
} from '../kube/builtin.ts'

const NOTHING_CHOSEN = { namespaces: ['none-0123456789'] }

describe('PlatformCluster and BoundaryProjection controllers', () => {
  let world: TwoClusters
  beforeEach(() => {
    world = new TwoClusters()
  })
  afterEach(() => world.stop())
  const ref = () => ({ namespace: world.outer, name: FAR })

  it('report LoadBalancer while a Service there has the address of one', async () => {
    world.far.seed(service, {
      ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', namespace: 'elsewhere' } },
      spec: { type: 'LoadBalancer' },
    })
    world.cluster()
    await world.start()
    const edit = async (fields: object) => {
      world.far.edit(service, { namespace: 'elsewhere', name: 'web' }, (object) => Object.assign(object, fields))
      await world.bench.rest()
      return (await world.says(PlatformCluster)).capabilities
    }
    const status = { loadBalancer: { ingress: [{ hostname: 'web.example.org' }] } }
    expect((await world.says(PlatformCluster)).capabilities).to.not.include('LoadBalancer')
    expect(await edit({ status })).to.include('LoadBalancer')
    expect(await edit({ spec: { type: 'ClusterIP' } })).to.not.include('LoadBalancer')
  })

  it('report capacity and storage classes while the agent is Online and Offline 90 seconds after lastSeenAt', async () => {
    const status = { capacity: { cpu: '4', memory: '8Gi' }, conditions: [{ type: 'Ready', status: 'True' }] }
    world.far.seed(node, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'one' }, status })
    world.far.seed(storageClass, { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name: 'fast' } })
    world.cluster()
    await world.start()
    expect(await world.says(PlatformCluster)).to.deep.include({
      ...{ state: 'Online', nodeCount: 1, cpuCapacity: '4', memoryCapacity: '8Gi' },
      storageClasses: [{ name: 'fast', isDefault: false, isExpandable: false, survivesNode: false }],
    })
    await world.bench.clock.advance(90_000)
    await world.bench.rest()
    expect(await world.says(PlatformCluster)).to.deep.include({ state: 'Offline', phase: 'ClusterUnreachable' })
  })

  it('report a forbidden watch in the cluster and its projections', async () => {
    world.cluster({ connection: 'first' })
    world.project()
    world.refuse('Nodes may not be watched.')
    await world.start()
    expect(await world.says(PlatformCluster)).to.include({ state: 'Online', phase: 'PartiallyAvailable' })
    for (const kind of [PlatformCluster, BoundaryProjection])
      expect((await world.says(kind)).statusMessage).to.include('Nodes may not be watched.')
    world.refuse()
    await world.bench.rest()
    for (const kind of [PlatformCluster, BoundaryProjection])
      expect(await world.says(kind)).to.include({ status: 'Running' })
  })

  it('wait for the agent to join and report ClusterRevoked after a revocation', async () => {
    world.cluster({ joinedAt: undefined, lastSeenAt: undefined })
    await world.start()
    expect((await world.says(PlatformCluster)).phase).to.equal('WaitingForCluster')
    await world.revoke()
    expect(await world.says(PlatformCluster)).to.deep.include({ state: 'Revoked', phase: 'ClusterRevoked' })
  })

  it('stay Revoked when an older manifest sets an earlier revokedAt', async () => {
    world.cluster({ joinedAt: '2025-12-31T00:00:00Z' })
    await world.start()
    await world.revoke()
    const spec = { revokedAt: '2025-01-01T00:00:00Z' }
    await world.bench.client.mergePatch(PlatformCluster.resource, { name: FAR }, { spec })
    await world.bench.rest()
    expect(await world.says(PlatformCluster)).to.include({ state: 'Revoked', revokedUntil: '2026-01-01T00:00:00Z' })
  })

  it('stay Revoked after an earlier revokedAt although the clock was behind at the revocation', async () => {
    world.cluster({ joinedAt: '2025-12-31T00:00:00Z' })
    await world.start()
    const revoked = async (revokedAt: string) => {
      await world.bench.client.mergePatch(PlatformCluster.resource, { name: FAR }, { spec: { revokedAt } })
      await world.bench.rest()
    }
    await revoked(new Date(world.bench.clock.now() + 2_000).toISOString())
    await world.bench.clock.advance(2_000)
    await world.bench.rest()
    await revoked('2025-01-01T00:00:00Z')
    expect(await world.says(PlatformCluster)).to.include({ state: 'Revoked' })
  })

  it('are not Revoked after a future revokedAt was removed', async () => {
    world.cluster({ joinedAt: '2025-12-31T00:00:00Z' })
    await world.start()
    for (const revokedAt of ['2099-01-01T00:00:00Z', null]) {
      await world.bench.client.mergePatch(PlatformCluster.resource, { name: FAR }, { spec: { revokedAt } })
      await world.bench.rest()
    }
    expect(await world.says(PlatformCluster)).to.not.include({ state: 'Revoked' })
  })

  it('create the namespaces of a projected boundary and delete those that are no longer chosen', async () => {
    world.cluster()
    world.project()
    await world.start()
    expect(await world.says(BoundaryProjection)).to.include({ status: 'Running', phase: 'Available' })
    expect(await world.namespaces()).to.deep.equal([world.home])
    const chosen = { spec: { namespaces: ['none-0123456789'] } }
    await world.bench.client.mergePatch(BoundaryProjection.resource, { namespace: world.outer, name: FAR }, chosen)
    await world.bench.rest()
    expect(await world.namespaces()).to.deep.equal([])
    const said = await world.says(BoundaryProjection)
    expect(said).to.include({ status: 'Degraded', phase: 'ReferenceMissing' })
    expect(said.statusMessage).to.contain('"none-0123456789": It is not the namespace of a group of this boundary')
  })

  it('report Offline 90 seconds after a lost connection until the agent connects again', async () => {
    world.cluster({ connection: 'first', lastSeenAt: undefined })
    await world.start()
    expect((await world.says(PlatformCluster)).state).to.equal('Online')
    await world.bench.clock.advance(3_600_000)
    expect((await world.says(PlatformCluster)).state, 'nobody says anything while it lives').to.equal('Online')
    world.lose('first')
    await world.bench.rest()
    await world.bench.clock.advance(100_000)
    await world.bench.rest()
    expect((await world.says(PlatformCluster)).state).to.equal('Offline')
    const status = { agent: { connection: 'second' } }
    await world.bench.client.mergePatch(PlatformCluster.resource, { name: FAR }, { status }, { subresource: 'status' })
    await world.bench.rest()
    expect((await world.says(PlatformCluster)).state).to.equal('Online')
  })

  it('block the deletion by a resource in a namespace and name it', async () => {
    world.cluster()
    world.project()
    await world.start()
    world.bench.seed(VectorCluster, 'search', { clusterId: FAR }, { namespace: world.home })
    await world.bench.client.remove(BoundaryProjection.resource, { namespace: world.outer, name: FAR })
    await world.bench.rest()
    const said = await world.says(BoundaryProjection)
    expect(said).to.include({ status: 'Deleting', phase: 'DeletionBlocked' })
    expect(said.statusMessage).to.contain('shop/vectorclusters/search')
    await world.bench.client.remove(VectorCluster.resource, { namespace: world.home, name: 'search' })
    await world.bench.rest()
    expect(await world.namespaces()).to.deep.equal([])
    expect(await world.bench.find(BoundaryProjection.resource, FAR, world.outer)).to.equal(undefined)
  })

  it('report NameOccupied for a foreign namespace', async () => {
    world.far.seed(namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: world.home } })
    world.cluster()
    world.project()
    await world.start()
    const said = await world.says(BoundaryProjection)
    expect(said.phase).to.equal('NameOccupied')
    expect(said).to.have.nested.property('resolvedNamespaces[0].state', 'Failed')
  })

  it('adopt a namespace once the foreign one is deleted', async () => {
    world.far.seed(namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: world.home } })
    world.cluster()
    world.project()
    await world.start()
    await world.far.remove(namespace, { name: world.home })
    await world.bench.rest()
    expect(await world.says(BoundaryProjection)).to.include({ status: 'Running', phase: 'Available' })
  })

  for (const reason of ['Invalid', 'Forbidden', 'Unavailable'] as const) {
    it(`continue with other namespaces if one ResourceQuota fails with ${reason}, and renew the pull Secret`, async () => {
      world = new TwoClusters([], { registry: { host: 'registry.test', keys: testKeys() } })
      const first = world.group('atlas', { pods: 5 })
      world.far.fail('create', resourceQuota, reason, Number.POSITIVE_INFINITY)
      world.far.fail('apply', resourceQuota, reason, Number.POSITIVE_INFINITY)
      world.cluster({ connection: 'first', lastSeenAt: undefined })
      world.project()
      await world.start()
      await world.bench.clock.advance(60_000)
      await world.bench.rest()
      const { resolvedNamespaces: homes = [], ...said } = await world.says(BoundaryProjection)
      expect(homes.find((one) => one.namespace === world.home)).to.include({ state: 'Applied' })
      expect(homes.find((one) => one.namespace === first)?.state).not.to.equal('Applied')
      expect(said.status).not.to.equal('Running')
      const pulled = { namespace: world.home, name: PULL_SECRET }
      const before = await world.far.get<KubeObject & { data?: object }>(secret, pulled)
      await world.bench.clock.advance(30_000_000)
      await world.bench.rest()
      const after = await world.far.get<KubeObject & { data?: object }>(secret, pulled)
      expect(after.data, 'it expires after a day').not.to.deep.equal(before.data)
    })
  }

  for (const [when, leave] of [
    ['is being deleted', () => world.bench.client.remove(BoundaryProjection.resource, ref())],
    [
      'excludes the namespace',
      () => world.bench.client.mergePatch(BoundaryProjection.resource, ref(), { spec: NOTHING_CHOSEN }),
    ],
  ] as const) {
    it(`renew the pull Secret for what still runs there while the projection ${when}`, async () => {
      world = new TwoClusters([], { registry: { host: 'registry.test', keys: testKeys() } })
      world.cluster({ connection: 'first', lastSeenAt: undefined })
      world.project()
      await world.start()
      world.bench.seed(VectorCluster, 'search', { clusterId: FAR }, { namespace: world.home })
      await leave()
      await world.bench.rest()
      const pulled = async () =>
        (await world.far.get<KubeObject & { data?: object }>(secret, { namespace: world.home, name: PULL_SECRET })).data
      const before = await pulled()
      await world.bench.clock.advance(30_000_000)
      await world.bench.rest()
      expect(await pulled()).not.to.deep.equal(before)
    })
  }

  it('block the deletion of a cluster by its projections', async () => {
    world.cluster()
    world.project()
    await world.start()
    await world.bench.client.remove(PlatformCluster.resource, { name: FAR })
    await world.bench.rest()
    const said = await world.says(PlatformCluster)
    expect(said.phase).to.equal('DeletionBlocked')
    expect(said.statusMessage).to.contain(`boundary-${BOUNDARY_ID}/boundaryprojections/${FAR}`)
  })

  it('delete a projection on a cluster that never joined', async () => {
    world.cluster({ joinedAt: undefined, lastSeenAt: undefined })
    world.project()
    await world.start()
    expect((await world.says(BoundaryProjection)).phase).to.equal('WaitingForCluster')
    await world.bench.client.remove(BoundaryProjection.resource, { namespace: world.outer, name: FAR })
    await world.bench.rest()
    expect(await world.bench.find(BoundaryProjection.resource, FAR, world.outer)).to.equal(undefined)
    expect((await world.far.list(persistentVolumeClaim)).items).to.deep.equal([])
  })

  for (const [whose, agent] of [
    ['after it was used', {}],
    ['before it joined', { joinedAt: undefined, lastSeenAt: undefined }],
  ] as const) {
    it(`delete projection and cluster when its agent was revoked ${whose}`, async () => {
      world.cluster(agent)
      world.project()
      await world.start()
      await world.revoke()
      await world.bench.client.remove(BoundaryProjection.resource, { namespace: world.outer, name: FAR })
      await world.bench.rest()
      expect(await world.bench.find(BoundaryProjection.resource, FAR, world.outer)).to.equal(undefined)
      await world.bench.client.remove(PlatformCluster.resource, { name: FAR })
      await world.bench.rest()
      expect(await world.bench.find(PlatformCluster.resource, FAR)).to.equal(undefined)
    })
  }

  it('keep the projection on a revoked cluster while a resource names the cluster', async () => {
    world.cluster()
    world.project()
    await world.start()
    world.bench.seed(VectorCluster, 'search', { clusterId: FAR }, { namespace: world.home })
    await world.bench.client.remove(BoundaryProjection.resource, { namespace: world.outer, name: FAR })
    await world.revoke()
    expect(await world.says(BoundaryProjection)).to.include({
      ...{ status: 'Deleting', phase: 'DeletionBlocked' },
      statusMessage: 'It is still used by shop/vectorclusters/search.',
    })
    await world.bench.client.remove(VectorCluster.resource, { namespace: world.home, name: 'search' })
    await world.bench.rest()
    expect(await world.bench.find(BoundaryProjection.resource, FAR, world.outer)).to.equal(undefined)
    expect(await world.namespaces(), 'what is there is left').to.deep.equal([world.home])
  })

  it('recreate the namespaces of a former projection without volumes after the cluster joins again', async () => {
    world.cluster()
    world.project()
    await world.start()
    const before = await world.far.get(namespace, { name: world.home })
    await world.projectAgain()
    expect(await world.says(BoundaryProjection)).to.include({ status: 'Running', phase: 'Available' })
    const after = await world.far.get(namespace, { name: world.home })
    expect(after.metadata.uid).not.to.equal(before.metadata.uid)
  })

  it('keep the volumes of a former projection and report what to delete', async () => {
    world.cluster()
    world.project()
    await world.start()
    world.volume()
    await world.projectAgain()
    const said = await world.says(BoundaryProjection)
    expect(said.phase).to.equal('NameOccupied')
    expect(said.statusMessage).to.equal(
      `Namespace "${world.home}" there is left over from an earlier projection and has volumes: storage-vect-search-0. ` +
        'Delete the namespace there, or what uses these volumes and then the volumes; it is created again after that.',
    )
    await world.far.remove(persistentVolumeClaim, { namespace: world.home, name: 'storage-vect-search-0' })
    await world.bench.rest()
    expect(await world.says(BoundaryProjection)).to.include({ status: 'Running', phase: 'Available' })
  })

  it('delete namespaces of a former projection that a new one does not choose', async () => {
    world.cluster()
    world.project()
    await world.start()
    const group = { namespace: world.outer, name: 'shop' }
    await world.projectAgain(async () => void (await world.bench.client.remove(ResourceGroup.resource, group)))
    expect(await world.says(BoundaryProjection)).to.include({ status: 'Running', phase: 'Available' })
    expect(await world.namespaces()).to.deep.equal([])
  })

  it('report NameOccupied for namespaces of another incarnation of the boundary', async () => {
    world.cluster()
    world.project()
    await world.start()
    const annotations = { 'freehold.dev/incarnation-of-owner': 'of-another-boundary' }
    const outer = { name: world.outer }
    await world.projectAgain(
      async () => void (await world.bench.client.mergePatch(namespace, outer, { metadata: { annotations } })),
    )
    const said = await world.says(BoundaryProjection)
    expect(said.phase).to.equal('NameOccupied')
    expect(said.statusMessage).to.contain('does not belong to this BoundaryProjection')
  })

  it('finish the deletion when a retained volume is deleted', async () => {
    world.cluster()
    world.project()
    await world.start()
    world.volume()
    const claim = { namespace: world.home, name: 'storage-vect-search-0' }
    const annotations = { [RETAINED_FOR_ANNOTATION]: 'VectorCluster/search' }
    await world.far.mergePatch(persistentVolumeClaim, claim, { metadata: { annotations } })
    await world.bench.client.remove(BoundaryProjection.resource, { namespace: world.outer, name: FAR })
    await world.bench.rest()
    expect((await world.says(BoundaryProjection)).phase).to.equal('DeletionBlocked')
    await world.far.remove(persistentVolumeClaim, claim)
    await world.bench.rest()
    expect(await world.bench.find(BoundaryProjection.resource, FAR, world.outer)).to.equal(undefined)
  })
})
