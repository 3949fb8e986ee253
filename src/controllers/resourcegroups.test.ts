import { expect } from 'chai'
import { makeRegistry } from '../../test/make/registry.ts'
import { BOUNDARY_ID, ControllerBench } from '../../test/worlds/controllers.ts'
import { RegistryError } from '../adapters/registry/port.ts'
import { PULL_SECRET, repositoryObjectName } from '../contracts/registry/names.ts'
import { NO_IMAGE_USES } from '../contracts/registry/retention.ts'
import { FINALIZER } from '../core/labels.ts'
import { groupNamespace } from '../core/names.ts'
import { boundaryNamespaceObject } from '../core/namespaces.ts'
import type { KubeObject } from '../core/object.ts'
import { Boundary } from '../crds/boundaries.ts'
import { ObjectAccessKey, ObjectStorageAccount } from '../crds/objectstorage.ts'
import { RegistryPin, RegistryRepository } from '../crds/registry.ts'
import { RelationalCluster } from '../crds/relational.ts'
import { RelationalSnapshot } from '../crds/relationalSnapshots.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import { SecretVault, VaultEntry } from '../crds/vaults.ts'
import { VectorCluster } from '../crds/vector.ts'
import { limitRange, namespace, networkPolicy, resourceQuota, roleBinding, secret } from '../kube/builtin.ts'
import { resourceGroupController } from './resourcegroups.ts'

const HOME = `boundary-${BOUNDARY_ID}`
const SPACE = groupNamespace(BOUNDARY_ID, 'orders')

describe('ResourceGroup controller', () => {
  let bench: ControllerBench
  const seedBoundary = (quota: object = {}) => {
    const boundary = bench.seed(Boundary, BOUNDARY_ID, { displayName: 'Shop', quota, tags: {} })
    bench.client.seed(namespace, boundaryNamespaceObject(boundary))
  }
  const seed = (name = 'orders', quota: object = {}, metadata: Partial<KubeObject['metadata']> = {}) =>
    bench.seed(ResourceGroup, name, { quota, tags: {} }, { namespace: HOME, ...metadata })
  const stored = async (name = 'orders') =>
    (await bench.find(ResourceGroup.resource, name, HOME)) as ResourceGroup & KubeObject
  const remove = async (name = 'orders') => {
    await bench.client.remove(ResourceGroup.resource, { namespace: HOME, name })
    await bench.rest()
  }

  beforeEach(() => {
    bench = new ControllerBench([resourceGroupController()])
    seedBoundary()
  })
  afterEach(() => bench.stop())

  it('creates the namespace with Secret roles, NetworkPolicy and default disk requests', async () => {
    seed()
    await bench.start()
    expect((await bench.find(namespace, SPACE))?.metadata.annotations).to.include({
      'freehold.dev/incarnation-of-owner': 'incarnation-1',
    })
    const bindings = (await bench.client.list(roleBinding, { namespace: SPACE })).items
    expect(bindings.map(({ metadata }) => metadata.name)).to.have.members([
      'freehold-controllers-secrets',
      'freehold-facade-secrets',
    ])
    expect(await bench.find(networkPolicy, 'freehold-default', SPACE)).not.to.equal(undefined)
    expect((await bench.client.list(resourceQuota)).items).to.deep.equal([])
    expect((await bench.find(limitRange, 'freehold-requests', SPACE))?.spec).to.deep.equal({
      limits: [
        {
          type: 'Container',
          default: { 'ephemeral-storage': '4Gi' },
          defaultRequest: { 'ephemeral-storage': '128Mi' },
        },
      ],
    })
    expect((await stored()).status).to.include({ namespace: SPACE, status: 'Running' })
    expect((await stored()).metadata.finalizers).to.deep.equal([FINALIZER])
  })

  it('creates NetworkPolicy and ResourceQuota although the pull Secret fails', async () => {
    await bench.stop()
    const registry = {
      host: 'registry.test',
      keys: { issue: () => Promise.reject(new Error('The registry is away.')) },
    }
    bench = new ControllerBench([resourceGroupController({ registry: registry as never })])
    seedBoundary()
    seed('orders', { cpu: '4' })
    await bench.start()
    expect(await bench.find(networkPolicy, 'freehold-default', SPACE)).not.to.equal(undefined)
    expect(await bench.find(resourceQuota, 'freehold-quota', SPACE)).not.to.equal(undefined)
  })

  it('writes nothing at rest', async () => {
    seed('orders', { cpu: '4', memory: '8Gi' })
    await bench.start()
    bench.writes()
    await bench.clock.advance(86_400_000)
    expect(bench.writes()).to.deep.equal([])
  })

  it('creates ResourceQuota and default requests for a quota and removes them with it', async () => {
    seed('orders', { cpu: '4', pods: 9 })
    await bench.start()
    expect((await bench.find(resourceQuota, 'freehold-quota', SPACE))?.spec).to.deep.equal({
      hard: { 'requests.cpu': '4', pods: '9' },
    })
    const requests = async () => {
      const found = await bench.find(limitRange, 'freehold-requests', SPACE)
      return (found?.spec as { limits: [{ defaultRequest: object }] } | undefined)?.limits[0].defaultRequest
    }
    expect(await requests()).to.deep.equal({ cpu: '10m', 'ephemeral-storage': '128Mi' })
    bench.client.edit<ResourceGroup & KubeObject>(
      ResourceGroup.resource,
      { namespace: HOME, name: 'orders' },
      ({ spec }) => {
        spec.quota = {}
      },
    )
    await bench.rest()
    expect(await bench.find(resourceQuota, 'freehold-quota', SPACE)).to.equal(undefined)
    expect(await requests()).to.deep.equal({ 'ephemeral-storage': '128Mi' })
  })

  it('never adopts the namespace of a former group with the same name', async () => {
    bench.seedGroup('orders')
    seed()
    await bench.start()
    expect((await stored()).status).to.include({ status: 'Failed', phase: 'NameOccupied' })
    expect((await bench.client.list(roleBinding)).items, 'no rights in a foreign namespace').to.deep.equal([])
    await bench.client.remove(namespace, { name: SPACE })
    await bench.rest()
    expect((await stored()).status).to.include({ status: 'Running' })
  })

  it('reports QuotaExceeded for the youngest group until the quota is raised', async () => {
    await bench.stop()
    bench = new ControllerBench([resourceGroupController()])
    seedBoundary({ resourceGroups: 1 })
    seed('orders', {}, { creationTimestamp: '2026-01-01T00:00:00Z' })
    seed('another', {}, { creationTimestamp: '2026-01-01T00:00:09Z' })
    await bench.start()
    expect((await stored('orders')).status?.status).to.equal('Running')
    expect((await stored('another')).status).to.include({
      phase: 'QuotaExceeded',
      statusMessage: "The boundary's quota of resourceGroups is 1; 1 is used and 1 more was requested.",
    })
    expect(await bench.find(namespace, groupNamespace(BOUNDARY_ID, 'another'))).to.equal(undefined)
    bench.client.edit<Boundary & KubeObject>(Boundary.resource, { name: BOUNDARY_ID }, ({ spec }) => {
      spec.quota = { resourceGroups: 2 }
    })
    await bench.rest()
    expect((await stored('another')).status?.status).to.equal('Running')
  })

  it('admits a rejected group when an older one is deleted', async () => {
    await bench.stop()
    bench = new ControllerBench([resourceGroupController()])
    seedBoundary({ resourceGroups: 1 })
    seed('orders', {}, { creationTimestamp: '2026-01-01T00:00:00Z' })
    seed('another', {}, { creationTimestamp: '2026-01-01T00:00:09Z' })
    await bench.start()
    await remove('orders')
    expect((await stored('another')).status?.status).to.equal('Running')
  })

  it('keeps a running group when the quota falls below the usage', async () => {
    seed()
    await bench.start()
    bench.client.edit<Boundary & KubeObject>(Boundary.resource, { name: BOUNDARY_ID }, ({ spec }) => {
      spec.quota = { resourceGroups: 0 }
    })
    bench.client.edit(ResourceGroup.resource, { namespace: HOME, name: 'orders' }, ({ metadata }) => {
      metadata.labels = { touched: 'yes' }
    })
    await bench.rest()
    expect((await stored()).status?.status).to.equal('Running')
  })

  describe('deletion', () => {
    beforeEach(async () => {
      seed()
      await bench.start()
    })

    it('deletes the resources, then the namespace, then itself', async () => {
      bench.seed(VectorCluster, 'search', {}, { namespace: SPACE, finalizers: ['freehold.dev/teardown'] })
      bench.client.edit(namespace, { name: SPACE }, ({ metadata }) => {
        metadata.finalizers = ['example.com/content']
      })
      await remove()
      expect((await bench.find(VectorCluster.resource, 'search', SPACE))?.metadata.deletionTimestamp).to.be.a('string')
      expect((await bench.find(namespace, SPACE))?.metadata.deletionTimestamp).to.equal(undefined)
      expect((await stored()).status).to.include({ status: 'Deleting', phase: 'TearingDown' })
      expect((await stored()).status?.statusMessage).to.match(/^Waiting for the deletion of VectorCluster "search"\./)

      bench.client.edit(VectorCluster.resource, { namespace: SPACE, name: 'search' }, ({ metadata }) => {
        metadata.finalizers = []
      })
      await bench.rest()
      expect((await bench.find(namespace, SPACE))?.metadata.deletionTimestamp).to.be.a('string')
      expect((await stored()).status?.statusMessage).to.contain(`deletion of namespace "${SPACE}"`)

      bench.client.edit(namespace, { name: SPACE }, ({ metadata }) => {
        metadata.finalizers = []
      })
      await bench.rest()
      expect(await stored()).to.equal(undefined)
    })

    for (const [kind, spec, owner, ownerSpec] of [
      [RelationalSnapshot, { clusterName: 'orders', name: 'last', kind: 'Final' }, RelationalCluster, {}],
      [VaultEntry, { vaultName: 'orders', secretName: 'key' }, SecretVault, {}],
      [ObjectAccessKey, { accountName: 'orders', permission: 'Read' }, ObjectStorageAccount, {}],
    ] as const) {
      it(`leaves a ${kind.kind} to its ${owner.kind} while that exists`, async () => {
        const name = 'f0854e45-9295-490e-92af-fd60a52b56f3'
        bench.seed(owner, 'orders', ownerSpec, { namespace: SPACE, finalizers: ['freehold.dev/teardown'] })
        bench.seed(kind, name, spec, { namespace: SPACE })
        await bench.rest()
        await remove()
        expect((await bench.find(owner.resource, 'orders', SPACE))?.metadata.deletionTimestamp).to.be.a('string')
        expect(await bench.find(kind.resource, name, SPACE)).to.not.equal(undefined)
        bench.client.edit(owner.resource, { namespace: SPACE, name: 'orders' }, ({ metadata }) => {
          metadata.finalizers = []
        })
        await bench.rest()
        expect(await bench.find(kind.resource, name, SPACE)).to.equal(undefined)
        expect(await stored()).to.equal(undefined)
      })
    }

    const openWith = async ({ service }: ReturnType<typeof makeRegistry>) => {
      await bench.stop()
      const port = { ...service, grace: 3_600_000, seesPushes: true }
      bench = new ControllerBench([resourceGroupController({ registry: port })])
      seedBoundary()
      seed()
      await bench.start()
    }

    describe('of a group with images', () => {
      const OWN = `${BOUNDARY_ID}/orders/jobs/report`
      const OTHER = `${BOUNDARY_ID}/orders-2/jobs/report`
      let world: ReturnType<typeof makeRegistry>
      const push = (tag: string, repository = OWN) => world.registry.push(repository, tag, { text: tag })
      beforeEach(() => {
        world = makeRegistry()
      })

      it('removes and audits them, so that a later group of the name does not have them', async () => {
        const digests = [push('v1'), push('v2')]
        push('v1', OTHER)
        await openWith(world)
        const known = { repository: OWN, announcedAt: '2026-01-01T00:00:00Z', digests: {} }
        bench.seed(RegistryRepository, repositoryObjectName(OWN), known, { namespace: HOME })
        await bench.rest()
        await remove()
        expect(await stored()).to.equal(undefined)
        expect([await world.registry.digests(OWN), await world.registry.tags(OTHER)]).to.deep.equal([[], ['v1']])
        const audited = await world.audit.newest(10, () => true)
        expect(audited.map(({ action, digest }) => [action, digest])).to.have.deep.members(
          digests.map((digest) => ['Retain', digest]),
        )
        expect((await bench.client.list(RegistryRepository.resource)).items).to.deep.equal([])
      })

      it('keeps what is pinned, or used elsewhere', async () => {
        const [pinned, used] = [push('pinned'), push('used')]
        push('v1')
        const running = { digests: new Set([used]), tags: new Set<string>() }
        world.uses.set(OWN, { ...NO_IMAGE_USES, running })
        await openWith(world)
        const pin = { repository: OWN, digests: [pinned], expiresAt: '2030-01-01T00:00:00Z' }
        bench.seed(RegistryPin, 'release', pin, { namespace: HOME })
        await bench.rest()
        await remove()
        expect(await stored()).to.equal(undefined)
        expect(await world.registry.tags(OWN)).to.have.members(['pinned', 'used'])
      })

      it('leaves a repository that cannot be read, and removes the others', async () => {
        const broken = OWN.replace('report', 'broken')
        push('v1', broken)
        push('v1')
        await openWith(world)
        const manifest = world.registry.manifest.bind(world.registry)
        world.registry.manifest = async (repository, reference) => {
          if (repository === broken) throw new RegistryError('Unreadable', 'It cannot be read.')
          return manifest(repository, reference)
        }
        await remove()
        expect(await stored()).to.equal(undefined)
        expect([await world.registry.tags(broken), await world.registry.tags(OWN)]).to.deep.equal([['v1'], []])
      })

      it('waits while the registry is away, but not for a manifest that it refuses to remove', async () => {
        const refused = push('v1')
        await openWith(world)
        const { repositories } = world.registry
        world.registry.repositories = () => Promise.reject(new RegistryError('Unreachable', 'The registry is away.'))
        await remove()
        expect((await stored()).status?.statusMessage).to.contain('The registry is away.')
        world.registry.repositories = repositories
        world.registry.remove = () => Promise.reject(new RegistryError('Refused', 'It will not.'))
        await bench.clock.advance(60_001)
        await bench.rest()
        expect(await stored()).to.equal(undefined)
        expect(await world.registry.digests(OWN)).to.deep.equal([refused])
      })
    })

    it('renews the pull Secret while the deletion is blocked', async () => {
      await openWith(makeRegistry())
      bench.seed(RelationalCluster, 'orders', { deletionProtection: true }, { namespace: SPACE })
      await bench.rest()
      await remove()
      expect((await stored()).status).to.include({ phase: 'DeletionBlocked' })
      const pulled = async () => (await bench.find<KubeObject & { data?: object }>(secret, PULL_SECRET, SPACE))?.data
      const before = await pulled()
      expect(before).not.to.equal(undefined)
      await bench.clock.advance(30_000_000)
      await bench.rest()
      expect(await pulled()).not.to.deep.equal(before)
    })

    it('is blocked by a snapshot that outlived its database until that is deleted', async () => {
      const name = 'f0854e45-9295-490e-92af-fd60a52b56f3'
      bench.seed(RelationalSnapshot, name, { clusterName: 'orders', name: 'last', kind: 'Final' }, { namespace: SPACE })
      bench.client.edit(RelationalSnapshot.resource, { namespace: SPACE, name }, (object) => {
        object.status = { completedAt: '2026-01-01T00:00:00Z' }
      })
      await bench.rest()
      await remove()
      expect((await stored()).status).to.include({ status: 'Deleting', phase: 'DeletionBlocked' })
      expect((await stored()).status?.statusMessage).to.contain(`must be kept: relationalsnapshots/${name}.`)
      expect((await bench.find(namespace, SPACE))?.metadata.deletionTimestamp).to.equal(undefined)
      await bench.client.remove(RelationalSnapshot.resource, { namespace: SPACE, name })
      await bench.rest()
      expect(await stored()).to.equal(undefined)
    })

    it('reads the namespace from the API server before it removes the finalizer', async () => {
      bench.writes()
      await remove()
      const calls = bench.writes()
      expect(calls.indexOf(`get namespaces ${SPACE}`)).to.be.greaterThan(calls.indexOf(`delete namespaces ${SPACE}`))
      expect(await stored()).to.equal(undefined)
    })

    it('completes while the boundary namespace is being deleted', async () => {
      bench.client.edit(namespace, { name: HOME }, ({ metadata }) => {
        metadata.finalizers = ['example.com/content']
      })
      await bench.client.remove(namespace, { name: HOME })
      await remove()
      expect(await stored()).to.equal(undefined)
      expect(await bench.find(namespace, SPACE)).to.equal(undefined)
    })
  })

  it('leaves a foreign namespace when the group is deleted', async () => {
    bench.seedGroup('orders')
    seed('orders', {}, { finalizers: [FINALIZER], annotations: { 'freehold.dev/incarnation': 'mine' } })
    await bench.client.remove(ResourceGroup.resource, { namespace: HOME, name: 'orders' })
    await bench.start()
    expect(await stored()).to.equal(undefined)
    expect((await bench.find(namespace, SPACE))?.metadata.annotations).to.include({
      'freehold.dev/incarnation-of-owner': 'of-the-group',
    })
  })
})
