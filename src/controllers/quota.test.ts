import { expect } from 'chai'
import { BOUNDARY_ID, GROUP, OUTER, seedGroup } from '../../test/crashes/seeds.ts'
import { World } from '../../test/crashes/world.ts'
import { SeededRandom } from '../../test/make/random.ts'
import { groupNamespace } from '../core/names.ts'
import type { KubeObject } from '../core/object.ts'
import { groupGrantKey } from '../core/sizing/ledger.ts'
import { Boundary } from '../crds/boundaries.ts'
import { ContainerInstance } from '../crds/containerinstances.ts'
import type { AnyKind } from '../crds/define.ts'
import { QuotaLedger } from '../crds/quotas.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import { SqlInstance } from '../crds/sql.ts'
import { SecretVault } from '../crds/vaults.ts'
import { VectorCluster } from '../crds/vector.ts'
import { persistentVolumeClaim, statefulSet } from '../kube/builtin.ts'

const KINDS: readonly [AnyKind, object][] = [
  [VectorCluster, { computePlan: 'vector-dev' }],
  [SqlInstance, { computePlan: 'sql-dev', engine: 'MariaDb' }],
  [SecretVault, {}],
]

describe('quotas of resources created with kubectl', () => {
  let world: World
  const begin = async (limit: () => void) => {
    const names = ['vectorcluster', 'containerinstance', 'sqlinstance', 'secretvault', 'resourcegroup']
    world = new World((all) => all.filter(({ name }) => names.includes(name)))
    seedGroup(world.server)
    limit()
    await world.lead()
  }
  const limitGroup = (quota: object) =>
    world.server.edit(ResourceGroup.resource, { namespace: OUTER, name: GROUP }, (group) => {
      group.spec = { ...(group.spec as object), quota }
    })
  const limitBoundary = (quota: object) =>
    world.server.edit(Boundary.resource, { name: BOUNDARY_ID }, (boundary) => {
      boundary.spec = { ...(boundary.spec as object), quota }
    })
  const objects = (kind: AnyKind) =>
    [...world.server.stored(kind.resource)] as (KubeObject & { status?: { phase?: string } })[]
  const admitted = () =>
    KINDS.flatMap(([kind]) => objects(kind)).filter(
      ({ status }) => status?.phase !== undefined && status.phase !== 'QuotaExceeded',
    )
  const spec = { computePlan: 'vector-dev', replicas: 1, cpuRequest: '1500m', cpuLimit: '2', storageSize: '10Gi' }
  const says = (name: string, phase: string, kind: AnyKind = VectorCluster) =>
    world.until(`${name} is ${phase}`, () =>
      objects(kind).some(({ metadata, status }) => metadata.name === name && status?.phase === phase),
    )
  afterEach(() => world.stop())

  for (const at of ['group', 'boundary'] as const) {
    it(`of a ${at} admit exactly as many as fit, in any order and of any kind`, async () => {
      await begin(() => (at === 'group' ? limitGroup({ resources: 4 }) : limitBoundary({ resources: 4 })))
      const random = new SeededRandom(7)
      const all = KINDS.flatMap(([kind, spec]) => [1, 2, 3, 4].map((number) => ({ kind, spec, name: `one-${number}` })))
      await Promise.all(
        all
          .map((one) => ({ ...one, at: random.next() }))
          .sort((a, b) => a.at - b.at)
          .map(({ kind, spec, name }) => world.make(kind, name, spec)),
      )
      await world.pass(60_000)
      expect(admitted()).to.have.length(4)
      const workloads = [...world.server.stored(statefulSet)].length
      const databases = admitted().filter(({ kind }) => kind !== SecretVault.kind)
      expect(workloads).to.equal(databases.length)
      const [first] = admitted()
      const kind = KINDS.map(([each]) => each).find((each) => each.kind === first?.kind)
      await world.remove(kind as AnyKind, first?.metadata.name ?? '')
      await world.pass(60_000)
      expect(admitted(), 'the room of what goes is taken').to.have.length(4)
    })
  }

  it('are read by a waiting resource for its own changes only', async () => {
    await begin(() => limitGroup({ resources: 1 }))
    const database = { computePlan: 'vector-dev', replicas: 1 }
    for (const name of ['one', 'two', 'three', 'four']) await world.make(VectorCluster, name, database)
    await world.pass(1_000)
    const asked = () =>
      world.server.calls.filter(({ verb, resource }) => verb === 'get' && resource.startsWith(QuotaLedger.plural))
        .length
    const before = asked()
    await world.make(VectorCluster, 'five', database)
    await says('five', 'QuotaExceeded')
    await world.pass(1_000)
    // Once when it is created, and once for its own status.
    expect(asked() - before).to.equal(2)
    const ref = { namespace: groupNamespace(BOUNDARY_ID, GROUP), name: 'one' }
    world.server.edit(VectorCluster.resource, ref, ({ metadata }) => {
      metadata.annotations = { ...metadata.annotations, 'example.com/note': 'looked at' }
    })
    await world.pass(1_000)
    expect(asked() - before, 'only for itself').to.equal(3)
  })

  it('count retained volumes, but not beside the resource that adopts them', async () => {
    await begin(() => limitGroup({ storage: '25Gi', resources: 1 }))
    world.server.seed(persistentVolumeClaim, {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: {
        name: 'storage-vc-kept-0',
        namespace: groupNamespace(BOUNDARY_ID, GROUP),
        annotations: { 'freehold.dev/retained-for': 'VectorCluster/kept' },
      },
      spec: { resources: { requests: { storage: '10Gi' } } },
    } as KubeObject)
    await world.rest()
    const [group] = [...world.server.stored(ResourceGroup.resource)] as ResourceGroup[]
    const retained = [{ kind: 'VectorCluster', name: 'kept', storage: '10Gi' }]
    expect(group?.status?.retainedStorage).to.deep.equal(retained)
    const spec = { computePlan: 'vector-dev', storageSize: '20Gi' }
    await world.make(VectorCluster, 'new', spec)
    await world.rest()
    expect(objects(VectorCluster).map(({ status }) => status?.phase)).to.deep.equal(['QuotaExceeded'])
    await world.remove(VectorCluster, 'new')
    await world.pass(60_000)
    await world.make(VectorCluster, 'kept', spec)
    await world.pass(60_000)
    expect(admitted().map(({ metadata }) => metadata.name)).to.deep.equal(['kept'])
  })

  it('reserve a grant of the facade for its resource, even against an older one', async () => {
    await begin(() => limitGroup({ resources: 1 }))
    const at = new Date(world.clock.now()).toISOString()
    world.server.seed(QuotaLedger.resource, {
      apiVersion: QuotaLedger.apiVersion,
      kind: QuotaLedger.kind,
      metadata: { name: 'quota', namespace: OUTER },
      spec: { grants: { [`secretvaults/${GROUP}/zz`]: { cpu: '0', memory: '0', storage: '0', pods: 0, at } } },
    } as KubeObject)
    await world.make(SecretVault, 'aa', {})
    await world.rest()
    expect(objects(SecretVault)[0]?.status?.phase).to.not.equal('Available')
    await world.make(SecretVault, 'zz', {})
    await world.pass(60_000)
    const phases = objects(SecretVault).map(({ metadata, status }) => `${metadata.name} ${status?.phase}`)
    expect(phases.sort()).to.deep.equal(['aa QuotaExceeded', 'zz Available'])
  })

  it('keep the grant of a running resource whose increase was rejected, until it is stopped', async () => {
    await begin(() => limitGroup({ cpu: '2', storage: '40Gi' }))
    await world.make(VectorCluster, 'aa', spec)
    await says('aa', 'Available')
    await world.change(VectorCluster, 'aa', { cpuRequest: '100m', storageSize: '900Gi' })
    await says('aa', 'QuotaExceeded')
    await world.pass(60_000)
    await world.make(VectorCluster, 'zz', spec)
    await says('zz', 'QuotaExceeded')
    await world.change(VectorCluster, 'aa', { running: false })
    await says('aa', 'Stopped')
    await says('zz', 'Available')
    await world.change(VectorCluster, 'aa', { ...spec, running: true })
    await says('aa', 'QuotaExceeded')
  })

  for (const [at, limit] of [
    ['group', limitGroup],
    ['boundary', limitBoundary],
  ] as const)
    it(`of a ${at} count a resource from before the limit as it runs while its increase is rejected`, async () => {
      await begin(() => {})
      await world.make(VectorCluster, 'aa', spec)
      await says('aa', 'Available')
      limit({ cpu: '2', storage: '40Gi' })
      await world.pass(60_000)
      await world.change(VectorCluster, 'aa', { cpuRequest: '100m', storageSize: '900Gi' })
      await says('aa', 'QuotaExceeded')
      const { cpuRequest, cpuLimit } = spec
      const web = { name: 'web', image: 'docker.io/library/nginx:1.29', cpuRequest, cpuLimit }
      await world.make(ContainerInstance, 'zz', { components: [web] })
      await says('zz', 'QuotaExceeded', ContainerInstance)
      await world.make(VectorCluster, 'yy', { ...spec, cpuRequest: '100m' })
      await says('yy', 'Available')
      await world.change(VectorCluster, 'aa', { storageSize: '10Gi' })
      await says('zz', 'Available', ContainerInstance)
    })

  const component = { name: 'web', image: 'docker.io/library/nginx:1.29', cpuRequest: '1500m', cpuLimit: '2' }
  for (const [kind, made, more] of [
    [VectorCluster, spec, { replicas: 5 }],
    [SqlInstance, { engine: 'MariaDb', cpuRequest: '1500m', cpuLimit: '2' }, { cpuRequest: '6', cpuLimit: '6' }],
    [ContainerInstance, { components: [component] }, { components: [{ ...component, replicas: 5 }] }],
  ] as const)
    it(`count a ${kind.kind} as it ran if it was changed together with the limit`, async () => {
      await begin(() => {})
      await world.make(kind, 'aa', made)
      await says('aa', 'Available', kind)
      limitGroup({ cpu: '2' })
      await world.change(kind, 'aa', more)
      await says('aa', 'QuotaExceeded', kind)
      await world.make(VectorCluster, 'fits', { ...spec, cpuRequest: '500m' })
      await says('fits', 'Available')
      await world.make(VectorCluster, 'more', { ...spec, cpuRequest: '100m' })
      await says('more', 'QuotaExceeded')
      await world.change(kind, 'aa', { running: false })
      await says('more', 'Available')
    })

  const small = { ...spec, cpuRequest: '100m' }
  for (const [what, change] of [
    ['volumes that cannot shrink', { cpuRequest: '100m', storageSize: '1Gi' }],
    ['a missing plan', { computePlan: 'nope' }],
  ] as const)
    it(`keep the grant of a resource whose decrease fails for ${what}, until it is stopped`, async () => {
      await begin(() => limitGroup({ cpu: '2', storage: '25Gi' }))
      await world.make(VectorCluster, 'aa', spec)
      await says('aa', 'Available')
      await world.pass(60_000)
      await world.change(VectorCluster, 'aa', change)
      await world.pass(60_000)
      await world.make(VectorCluster, 'zz', spec)
      await says('zz', 'QuotaExceeded')
      await world.change(VectorCluster, 'aa', { running: false })
      await says('zz', 'Available')
    })

  it('count only the volumes of a resource that was stopped before the limit, also after a rejected start', async () => {
    await begin(() => {})
    await world.make(VectorCluster, 'aa', spec)
    await says('aa', 'Available')
    await world.change(VectorCluster, 'aa', { running: false })
    await says('aa', 'Stopped')
    limitGroup({ cpu: '2', storage: '25Gi' })
    await world.pass(60_000)
    await world.change(VectorCluster, 'aa', { running: true, replicas: 3 })
    await says('aa', 'QuotaExceeded')
    await world.make(VectorCluster, 'zz', spec)
    await says('zz', 'Available')
    await world.make(VectorCluster, 'yy', small)
    await says('yy', 'QuotaExceeded')
  })

  it('count the volumes of a stopped resource although it wants fewer', async () => {
    await begin(() => limitGroup({ storage: '35Gi' }))
    await world.make(VectorCluster, 'aa', { ...small, replicas: 3 })
    await says('aa', 'Available')
    await world.pass(60_000)
    await world.change(VectorCluster, 'aa', { running: false })
    await says('aa', 'Stopped')
    await world.change(VectorCluster, 'aa', { replicas: 1 })
    await world.pass(60_000)
    await world.make(VectorCluster, 'zz', small)
    await says('zz', 'QuotaExceeded')
  })

  it('admit one of two resources that are started together', async () => {
    await begin(() => limitGroup({ cpu: '2' }))
    for (const name of ['aa', 'zz']) {
      await world.make(VectorCluster, name, { ...spec, running: false })
      await says(name, 'Stopped')
    }
    for (const { metadata } of objects(VectorCluster))
      world.server.edit(VectorCluster.resource, metadata, (object) => {
        object.spec = { ...(object.spec as object), running: true }
      })
    await world.rest()
    await world.pass(300_000)
    expect(objects(VectorCluster).map(({ status }) => status?.phase)).to.have.members(['Available', 'QuotaExceeded'])
  })

  it('give the share of a smaller resource to others', async () => {
    await begin(() => limitGroup({ cpu: '2' }))
    await world.make(VectorCluster, 'aa', spec)
    await says('aa', 'Available')
    await world.make(VectorCluster, 'zz', spec)
    await says('zz', 'QuotaExceeded')
    await world.change(VectorCluster, 'aa', { cpuRequest: '100m' })
    await says('zz', 'Available')
    await says('aa', 'Available')
  })

  it('below the current usage reject only increases', async () => {
    await begin(() => {})
    await world.make(VectorCluster, 'aa', spec)
    await says('aa', 'Available')
    limitGroup({ cpu: '1' })
    await world.pass(60_000)
    await world.change(VectorCluster, 'aa', { tags: { team: 'search' } })
    await world.pass(60_000)
    await says('aa', 'Available')
    await world.change(VectorCluster, 'aa', { cpuRequest: '1600m' })
    await says('aa', 'QuotaExceeded')
  })

  it('count changes from a time without a limit', async () => {
    await begin(() => limitGroup({ cpu: '2' }))
    await world.make(VectorCluster, 'aa', spec)
    await says('aa', 'Available')
    await world.pass(60_000)
    limitGroup({})
    await world.change(VectorCluster, 'aa', { cpuRequest: '1900m' })
    await world.pass(60_000)
    limitGroup({ cpu: '2' })
    await world.pass(60_000)
    await world.make(VectorCluster, 'zz', { ...spec, cpuRequest: '300m' })
    await says('zz', 'QuotaExceeded')
    await says('aa', 'Available')
  })

  it('drop a grant after a minute if its resource was not created', async () => {
    await begin(() => limitGroup({ resources: 1 }))
    const at = new Date(world.clock.now()).toISOString()
    world.server.seed(QuotaLedger.resource, {
      apiVersion: QuotaLedger.apiVersion,
      kind: QuotaLedger.kind,
      metadata: { name: 'quota', namespace: OUTER },
      spec: { grants: { [`secretvaults/${GROUP}/never`]: { cpu: '0', memory: '0', storage: '0', pods: 0, at } } },
    } as KubeObject)
    await world.make(SecretVault, 'aa', {})
    await world.rest()
    expect(objects(SecretVault)[0]?.status?.phase).to.equal('WaitingForDependency')
    await world.pass(60_000)
    expect(objects(SecretVault)[0]?.status?.phase).to.equal('Available')
  })

  it('count a running resource without a plan when the limit is set later', async () => {
    await begin(() => {})
    await world.make(VectorCluster, 'aa', spec)
    await says('aa', 'Available')
    await world.change(VectorCluster, 'aa', { computePlan: 'gone' })
    await says('aa', 'PlanNotFound')
    limitGroup({ cpu: '2' })
    await world.rest()
    await world.make(VectorCluster, 'zz', spec)
    await world.pass(60_000)
    expect(objects(VectorCluster).find(({ metadata }) => metadata.name === 'zz')?.status?.phase).to.equal(
      'QuotaExceeded',
    )
  })

  it('of resource groups admit exactly as many as fit', async () => {
    await begin(() => limitBoundary({ resourceGroups: 3 }))
    await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => world.make(ResourceGroup, name, {}, OUTER)))
    await world.pass(60_000)
    const running = objects(ResourceGroup).filter(({ status }) => status?.phase === 'Available')
    expect(running).to.have.length(3)
  })

  it('of resource groups check a group again long after its grant', async () => {
    await begin(() => limitBoundary({ resourceGroups: 2 }))
    const late = { cpu: '0', memory: '0', storage: '0', pods: 0, at: '2025-01-01T00:00:00Z' }
    world.server.seed(QuotaLedger.resource, {
      apiVersion: QuotaLedger.apiVersion,
      kind: QuotaLedger.kind,
      metadata: { name: 'quota', namespace: OUTER },
      spec: { grants: { [groupGrantKey('late')]: late } },
    } as KubeObject)
    await world.make(ResourceGroup, 'a', {}, OUTER)
    await says('a', 'Available', ResourceGroup)
    await world.make(ResourceGroup, 'late', {}, OUTER)
    await says('late', 'QuotaExceeded', ResourceGroup)
  })

  it('create no ledger without limits', async () => {
    await begin(() => {})
    for (const [kind, spec] of KINDS) await world.make(kind, 'one', spec)
    await world.pass(60_000)
    expect([...world.server.stored(QuotaLedger.resource)]).to.deep.equal([])
  })
})
