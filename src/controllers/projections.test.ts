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
import { namespace, node, persistentVolumeClaim, resourceQuota, secret, storageClass } from '../kube/builtin.ts'

const NOTHING_CHOSEN = { namespaces: ['none-0123456789'] }

describe('another cluster', () => {
  let world: TwoClusters
  beforeEach(() => {
    world = new TwoClusters()
  })
  afterEach(() => world.stop())
  const ref = () => ({ namespace: world.outer, name: FAR })

  it('is online while its agent lives, with what is in it, and offline 90 seconds after its last sign', async () => {
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

  it('says what it refuses to let us watch, and so does what waits for it', async () => {
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

  it('is awaited before anybody joined, and refused once revoked', async () => {
    world.cluster({ joinedAt: undefined, lastSeenAt: undefined })
    await world.start()
    expect((await world.says(PlatformCluster)).phase).to.equal('WaitingForCluster')
    await world.revoke()
    expect(await world.says(PlatformCluster)).to.deep.include({ state: 'Revoked', phase: 'ClusterRevoked' })
  })

  it('stays revoked where a manifest of before names an earlier revocation again', async () => {
    world.cluster({ joinedAt: '2025-12-31T00:00:00Z' })
    await world.start()
    await world.revoke()
    const spec = { revokedAt: '2025-01-01T00:00:00Z' }
    await world.bench.client.mergePatch(PlatformCluster.resource, { name: FAR }, { spec })
    await world.bench.rest()
    expect(await world.says(PlatformCluster)).to.include({ state: 'Revoked', revokedUntil: '2026-01-01T00:00:00Z' })
  })

  it('stays revoked also where the clock here was behind when that was said', async () => {
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

  it('is revoked no more once a revocation that is still to come was taken back', async () => {
    world.cluster({ joinedAt: '2025-12-31T00:00:00Z' })
    await world.start()
    for (const revokedAt of ['2099-01-01T00:00:00Z', null]) {
      await world.bench.client.mergePatch(PlatformCluster.resource, { name: FAR }, { spec: { revokedAt } })
      await world.bench.rest()
    }
    expect(await world.says(PlatformCluster)).to.not.include({ state: 'Revoked' })
  })

  it('gets the namespaces of a projected boundary, and loses those that are no longer chosen', async () => {
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

  it('is offline 90 seconds after nothing gets through its connection, until there is another one', async () => {
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

  it('keeps a namespace that a resource or a kept volume still needs, and says which', async () => {
    world.cluster()
    world.project()
    await world.start()
    world.bench.seed(VectorCluster, 'search', { clusterId: FAR }, { namespace: world.home })
    await world.bench.client.remove(BoundaryProjection.resource, { namespace: world.outer, name: FAR })
    await world.bench.rest()
    const said = await world.says(BoundaryProjection)
    expect(said).to.include({ status: 'Deleting', phase: 'DeletionBlocked' })
    expect(said.statusMessage).to.contain('vectorclusters/shop/search')
    await world.bench.client.remove(VectorCluster.resource, { namespace: world.home, name: 'search' })
    await world.bench.rest()
    expect(await world.namespaces()).to.deep.equal([])
    expect(await world.bench.find(BoundaryProjection.resource, FAR, world.outer)).to.equal(undefined)
  })

  it('is not taken from an object of somebody else that has the name', async () => {
    world.far.seed(namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: world.home } })
    world.cluster()
    world.project()
    await world.start()
    const said = await world.says(BoundaryProjection)
    expect(said.phase).to.equal('NameOccupied')
    expect(said).to.have.nested.property('resolvedNamespaces[0].state', 'Failed')
  })

  it('takes a namespace once what had its name is gone', async () => {
    world.far.seed(namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: world.home } })
    world.cluster()
    world.project()
    await world.start()
    await world.far.remove(namespace, { name: world.home })
    await world.bench.rest()
    expect(await world.says(BoundaryProjection)).to.include({ status: 'Running', phase: 'Available' })
  })

  for (const reason of ['Invalid', 'Forbidden', 'Unavailable'] as const) {
    it(`gets what it can of a boundary where one namespace cannot be furnished: ${reason}`, async () => {
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
      'leaves it out',
      () => world.bench.client.mergePatch(BoundaryProjection.resource, ref(), { spec: NOTHING_CHOSEN }),
    ],
  ] as const) {
    it(`goes on pulling images for what still runs there while the projection ${when}`, async () => {
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

  it('keeps its record while something names it', async () => {
    world.cluster()
    world.project()
    await world.start()
    await world.bench.client.remove(PlatformCluster.resource, { name: FAR })
    await world.bench.rest()
    const said = await world.says(PlatformCluster)
    expect(said.phase).to.equal('DeletionBlocked')
    expect(said.statusMessage).to.contain(`projections/boundary-${BOUNDARY_ID}/${FAR}`)
  })

  it('holds up no deletion of a projection that nobody ever worked on', async () => {
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
    ['that once worked on it', {}],
    ['that never joined', { joinedAt: undefined, lastSeenAt: undefined }],
  ] as const) {
    it(`holds up no deletion of a projection, nor its own, once an agent is revoked ${whose}`, async () => {
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

  it('keeps the projection on a revoked cluster while a resource names that', async () => {
    world.cluster()
    world.project()
    await world.start()
    world.bench.seed(VectorCluster, 'search', { clusterId: FAR }, { namespace: world.home })
    await world.bench.client.remove(BoundaryProjection.resource, { namespace: world.outer, name: FAR })
    await world.revoke()
    expect(await world.says(BoundaryProjection)).to.include({
      ...{ status: 'Deleting', phase: 'DeletionBlocked' },
      statusMessage: 'It is still used by vectorclusters/shop/search.',
    })
    await world.bench.client.remove(VectorCluster.resource, { namespace: world.home, name: 'search' })
    await world.bench.rest()
    expect(await world.bench.find(BoundaryProjection.resource, FAR, world.outer)).to.equal(undefined)
    expect(await world.namespaces(), 'what is there is left').to.deep.equal([world.home])
  })

  it('that joins again gets the namespaces of a new projection anew where the former one left nothing to lose', async () => {
    world.cluster()
    world.project()
    await world.start()
    const before = await world.far.get(namespace, { name: world.home })
    await world.projectAgain()
    expect(await world.says(BoundaryProjection)).to.include({ status: 'Running', phase: 'Available' })
    const after = await world.far.get(namespace, { name: world.home })
    expect(after.metadata.uid).not.to.equal(before.metadata.uid)
  })

  it('that joins again keeps volumes of a former projection, and a new one says what to delete', async () => {
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

  it('that joins again loses what a former projection left and a new one does not choose', async () => {
    world.cluster()
    world.project()
    await world.start()
    const group = { namespace: world.outer, name: 'shop' }
    await world.projectAgain(async () => void (await world.bench.client.remove(ResourceGroup.resource, group)))
    expect(await world.says(BoundaryProjection)).to.include({ status: 'Running', phase: 'Available' })
    expect(await world.namespaces()).to.deep.equal([])
  })

  it('takes nothing from a projection of another life of the boundary', async () => {
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

  it('ends the wait for a kept volume when somebody deletes it', async () => {
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
