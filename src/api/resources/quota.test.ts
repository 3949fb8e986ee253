import { expect } from 'chai'
import { SeededRandom } from '../../../test/make/random.ts'
import { B, type Facade, Facades, GROUP, HOME } from '../../../test/worlds/quotaFacades.ts'
import { PlatformError } from '../../core/errors.ts'
import { boundaryNamespace } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { UNSEEN_GRANT_TTL_MS } from '../../core/sizing/ledger.ts'
import type { AnyKind } from '../../crds/define.ts'
import { FunctionNamespace, ServerlessFunction } from '../../crds/functions.ts'
import { QuotaLedger } from '../../crds/quotas.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { SqlInstance } from '../../crds/sql.ts'
import { SecretVault } from '../../crds/vaults.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { resourcesOfGroup } from './contents.ts'
import { withReservedQuota } from './quota.ts'
import { usageOf } from './usage.ts'

const SPECS: [kind: AnyKind, spec: object][] = [
  [VectorCluster, { computePlan: 'vector-dev' }],
  [SqlInstance, { computePlan: 'sql-dev', engine: 'MariaDb' }],
  [SecretVault, {}],
]

describe('withReservedQuota', () => {
  let world: Facades
  afterEach(() => world.stop())
  const cases = (['group', 'boundary'] as const).flatMap((at) =>
    [true, false].flatMap((sees) => SPECS.map(([kind, spec]) => ({ at, sees, kind, spec }))),
  )

  for (const { at, sees, kind, spec } of cases) {
    const how = sees ? 'with current caches' : 'with stale caches'
    it(`admits 5 of 15 concurrent ${kind.kind} at 3 facades ${how} for a ${at} quota of 5`, async () => {
      world = new Facades({ resources: 5 }, at)
      const facades = await Promise.all([world.facade(sees), world.facade(sees), world.facade(sees)])
      const requests = Array.from({ length: 15 }, (_, index) => facades[index % 3]?.create(kind, `one-${index}`, spec))
      const codes = (await Promise.all(requests)).map(String).sort()
      expect(codes).to.deep.equal([...Array(5).fill('201'), ...Array(10).fill('422')])
      expect(await world.count(kind)).to.equal(5)
    })
  }

  it('writes the ledger once for all requests that come during a write of it', async () => {
    world = new Facades({ resources: 20 }, 'boundary')
    const facade = await world.facade()
    const codes = await Promise.all(
      Array.from({ length: 24 }, (_, index) => facade.create(SecretVault, `one-${index}`, {})),
    )
    expect(codes.filter((code) => code === 201)).to.have.length(20)
    const writes = world.server.calls.filter(
      ({ verb, resource }) => verb !== 'watch' && verb !== 'list' && resource.startsWith(QuotaLedger.plural),
    )
    // Looked for, created, changed; and read again for those that are refused.
    expect(writes.map(({ verb }) => verb)).to.have.length.within(2, 5)
  })

  for (const [quota, limit] of [
    ['cpu', '1'],
    ['memory', '2Gi'],
    ['storage', '25Gi'],
    ['pods', 2],
  ] as const) {
    it(`admits as many concurrent as sequential requests for a quota of ${quota}`, async () => {
      const one = new Facades({ [quota]: limit }, 'group')
      const alone = await one.facade()
      let fits = 0
      for (let index = 0; index < 6; index += 1)
        if ((await alone.create(VectorCluster, `one-${index}`, { computePlan: 'vector-dev' })) === 201) fits += 1
      await one.stop()
      expect(fits).to.be.within(1, 5)
      world = new Facades({ [quota]: limit }, 'group')
      const facades = await Promise.all([world.facade(), world.facade(), world.facade()])
      const requests = Array.from({ length: 12 }, (_, index) =>
        facades[index % 3]?.create(VectorCluster, `one-${index}`, { computePlan: 'vector-dev' }),
      )
      expect((await Promise.all(requests)).filter((code) => code === 201)).to.have.length(fits)
    })
  }

  it('counts retained volumes, but not in addition to the resource that takes them over', async () => {
    world = new Facades({ storage: '25Gi', resources: 1 }, 'group')
    const retainedStorage = [{ kind: 'VectorCluster', name: 'kept', storage: '10Gi' }]
    const group = { namespace: boundaryNamespace(B), name: GROUP }
    world.server.edit(ResourceGroup.resource, group, (object) => Object.assign(object, { status: { retainedStorage } }))
    const facade = await world.facade()
    const spec = { computePlan: 'vector-dev', storageSize: '20Gi' }
    expect(await facade.create(VectorCluster, 'new', spec), 'beside the kept volumes').to.equal(422)
    expect(await facade.create(VectorCluster, 'kept', spec), 'with the kept volumes').to.equal(201)
  })

  it('counts the larger of a resource and the retained volumes of its name', async () => {
    world = new Facades({ storage: '40Gi' }, 'group')
    const retainedStorage = ['kept', 'other'].map((name) => ({ kind: 'VectorCluster', name, storage: '10Gi' }))
    const ref = { namespace: boundaryNamespace(B), name: GROUP }
    world.server.edit(ResourceGroup.resource, ref, (object) => Object.assign(object, { status: { retainedStorage } }))
    const facade = await world.facade()
    const spec = { computePlan: 'vector-dev', storageSize: '15Gi' }
    expect(await facade.create(VectorCluster, 'kept', spec)).to.equal(201)
    const { services } = facade.context
    const group = services.records.peek(ResourceGroup, ref)
    expect(usageOf(services, group ? [group] : [], resourcesOfGroup(services, B, GROUP)).storage).to.equal('25Gi')
    expect(await facade.create(VectorCluster, 'next', { ...spec, storageSize: '16Gi' })).to.equal(422)
    expect(await facade.create(VectorCluster, 'next', spec)).to.equal(201)
  })

  describe('with resources beyond the quota', () => {
    const refused = {
      phase: 'QuotaExceeded',
      conditions: [{ type: 'Stalled', status: 'True', reason: 'QuotaExceeded' }],
    }
    const stored = (spec: object, status: object = {}) => ({
      apiVersion: VectorCluster.apiVersion,
      kind: VectorCluster.kind,
      metadata: { name: 'huge', namespace: HOME, creationTimestamp: '2026-01-01T00:00:00Z' },
      spec: VectorCluster.spec.parse(spec) as object,
      status,
    })
    const usage = ({ context: { services } }: Facade) => {
      const group = services.records.peek(ResourceGroup, { namespace: boundaryNamespace(B), name: GROUP })
      return usageOf(services, group ? [group] : [], resourcesOfGroup(services, B, GROUP))
    }

    it('does not count a resource in phase QuotaExceeded', async () => {
      world = new Facades({ storage: '30Gi', resources: 2 }, 'group')
      const huge = stored({ computePlan: 'vector-dev', storageSize: '900Gi' }, refused)
      world.server.seed(VectorCluster.resource, huge as KubeObject)
      const facade = await world.facade()
      expect(usage(facade)).to.include({ storage: '0', resources: 0 })
      const spec = { computePlan: 'vector-dev', storageSize: '20Gi' }
      expect(await facade.create(VectorCluster, 'one', spec)).to.equal(201)
      expect(await facade.create(VectorCluster, 'two', spec)).to.equal(422)
      expect(usage(facade), 'it waits again').to.include({ storage: '20Gi', resources: 1 })
    })

    it('refuses another change of a resource in phase QuotaExceeded without granting anything', async () => {
      world = new Facades({ storage: '30Gi', cpu: '2' }, 'group')
      const spec = { computePlan: 'vector-dev', storageSize: '900Gi' }
      world.server.seed(VectorCluster.resource, stored(spec, refused) as KubeObject)
      const { context } = await world.facade()
      const change = (more: object) =>
        withReservedQuota(
          VectorCluster,
          { boundaryId: B, resourceGroup: GROUP, name: 'huge' },
          context,
          async (reserve) => {
            await reserve(VectorCluster.spec.parse({ ...spec, ...more }) as object)
            return 202
          },
        ).catch((error: PlatformError) => error.status)
      expect(await change({ cpuRequest: '300m' })).to.equal(422)
      expect(await world.server.list(QuotaLedger.resource).then(({ items }) => items)).to.deep.equal([])
      expect(await change({ cpuRequest: '300m', storageSize: '30Gi' })).to.equal(202)
    })

    it('does not count a resource without a plan, and counts one that fits', async () => {
      world = new Facades({ storage: '30Gi' }, 'group')
      world.server.seed(VectorCluster.resource, stored({ computePlan: 'none', storageSize: '20Gi' }) as KubeObject)
      const facade = await world.facade()
      expect(usage(facade)).to.include({ storage: '0', resources: 0 })
      const spec = { computePlan: 'vector-dev', storageSize: '20Gi' }
      expect(await facade.create(VectorCluster, 'one', spec)).to.equal(201)
      await world.stop()
      world = new Facades({ storage: '30Gi' }, 'group')
      world.server.seed(
        VectorCluster.resource,
        stored({ computePlan: 'vector-dev', storageSize: '20Gi' }) as KubeObject,
      )
      expect(await (await world.facade()).create(VectorCluster, 'one', spec)).to.equal(422)
    })
  })

  for (const at of ['group', 'boundary'] as const) {
    it(`counts resources that ran before the ${at} quota was set`, async () => {
      world = new Facades({ pods: 5 }, at)
      const seed = (name: string, day: number, replicas: number) =>
        world.server.seed(VectorCluster.resource, {
          apiVersion: VectorCluster.apiVersion,
          kind: VectorCluster.kind,
          metadata: { name, namespace: HOME, creationTimestamp: `2026-01-0${day}T00:00:00Z` },
          spec: VectorCluster.spec.parse({ computePlan: 'vector-dev', replicas }) as object,
          status: { firstReadyAt: '2026-01-03T00:00:00Z' },
        } as KubeObject)
      seed('older', 1, 1)
      seed('newer', 2, 2)
      const { context } = await world.facade()
      const grow = (replicas: number) =>
        withReservedQuota(
          VectorCluster,
          { boundaryId: B, resourceGroup: GROUP, name: 'older' },
          context,
          async (reserve) => {
            await reserve(VectorCluster.spec.parse({ computePlan: 'vector-dev', replicas }) as object)
            return 'granted'
          },
        ).catch((error: PlatformError) => error.message)
      const refusal = await grow(4)
      expect(refusal).to.match(/^The quota pods of .* is 5; 3 is used and 3 more was requested\.$/)
      expect(await grow(3)).to.equal('granted')
    })
  }

  it('refuses to start or grow a resource beyond the quota, and allows to stop it', async () => {
    world = new Facades({ storage: '35Gi' }, 'group')
    const plan = { computePlan: 'vector-dev', replicas: 1 }
    const grown = { ...plan, storageSize: '60Gi', running: false }
    world.server.seed(VectorCluster.resource, {
      apiVersion: VectorCluster.apiVersion,
      kind: VectorCluster.kind,
      metadata: { name: 'one', namespace: HOME, creationTimestamp: '2026-01-01T00:00:00Z' },
      spec: VectorCluster.spec.parse(grown) as object,
      status: { firstReadyAt: '2026-01-01T00:00:00Z' },
    } as KubeObject)
    const grant = { cpu: '0', memory: '0', storage: '10Gi', pods: 0, at: '2025-12-31T00:00:00Z' }
    world.server.seed(QuotaLedger.resource, {
      apiVersion: QuotaLedger.apiVersion,
      kind: QuotaLedger.kind,
      metadata: { name: 'quota', namespace: boundaryNamespace(B) },
      spec: { grants: { [`vectorclusters/${GROUP}/one`]: grant } },
    } as KubeObject)
    const { context } = await world.facade()
    const change = (spec: object) =>
      withReservedQuota(
        VectorCluster,
        { boundaryId: B, resourceGroup: GROUP, name: 'one' },
        context,
        async (reserve) => {
          await reserve(VectorCluster.spec.parse(spec) as object)
          return 202
        },
      ).catch((error: PlatformError) => error.status)
    expect(await change({ ...grown, running: true }), 'start').to.equal(422)
    expect(await change({ ...grown, storageSize: '61Gi' }), 'growth').to.equal(422)
    expect(await change(grown), 'stop').to.equal(202)
    expect(await change({ ...plan, storageSize: '30Gi' }), 'a start within the quota').to.equal(202)
  })

  it('refuses another change of a resource that outgrew its recent grant', async () => {
    world = new Facades({ storage: '30Gi', cpu: '2' }, 'group')
    const facade = await world.facade()
    const plan = { computePlan: 'vector-dev', replicas: 1 }
    expect(await facade.create(VectorCluster, 'one', { ...plan, storageSize: '10Gi' })).to.equal(201)
    const grown = { ...plan, storageSize: '900Gi' }
    const ref = { namespace: HOME, name: 'one' }
    await world.server.mergePatch(VectorCluster.resource, ref, { spec: grown })
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    const change = withReservedQuota(
      VectorCluster,
      { boundaryId: B, resourceGroup: GROUP, name: 'one' },
      facade.context,
      async (reserve) => {
        await reserve(VectorCluster.spec.parse({ ...grown, cpuRequest: '300m' }) as object)
        return 202
      },
    )
    expect(await change.catch((error: PlatformError) => error.status)).to.equal(422)
  })

  it('releases the grant of a refused write at once', async () => {
    world = new Facades({ resources: 1 }, 'group')
    const facade = await world.facade()
    const refuse = () => {
      throw new PlatformError('VAULT_NAME_TAKEN', 'taken')
    }
    expect(await facade.create(SecretVault, 'one', {}, refuse)).to.equal(409)
    expect(await facade.create(SecretVault, 'two', {})).to.equal(201)
  })

  it('releases the grant of a crashed facade after UNSEEN_GRANT_TTL_MS', async () => {
    world = new Facades({ resources: 1 }, 'group')
    const facade = await world.facade()
    await facade.create(SecretVault, 'one', {}, () => {
      throw new Error('the process ends')
    })
    expect(await facade.create(SecretVault, 'two', {})).to.equal(422)
    world.now += UNSEEN_GRANT_TTL_MS
    expect(await facade.create(SecretVault, 'two', {})).to.equal(201)
    const [ledger] = (await world.server.list(QuotaLedger.resource)).items as unknown as QuotaLedger[]
    const keys = Object.keys(ledger?.spec.grants ?? {}).map((key) => key.split('/').at(-1))
    expect(keys, 'only "two" has a grant').to.deep.equal(['two'])
  })

  it('evaluates a function whose namespace another facade has just created', async () => {
    world = new Facades({ pods: 5 }, 'boundary')
    const [one, other] = [await world.facade(), await world.facade(false)]
    expect(await one.create(FunctionNamespace, 'home', { runtime: 'nodejs' })).to.equal(201)
    const spec = { namespaceName: 'home', functionName: 'huge', handler: 'index', maxReplicas: 6 }
    expect(await other.create(ServerlessFunction, 'home.huge', spec)).to.equal(422)
    expect(await other.create(ServerlessFunction, 'home.huge', { ...spec, maxReplicas: 5 })).to.equal(201)
  })

  it('writes no ledger without a quota', async () => {
    world = new Facades({}, 'group')
    const facade = await world.facade()
    await facade.create(SecretVault, 'one', {})
    expect(await world.server.list(QuotaLedger.resource).then(({ items }) => items)).to.deep.equal([])
  })

  it('admits exactly as many as fit in random sequences of creations and deletions', async () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const random = new SeededRandom(seed)
      world = new Facades({ resources: 3 }, seed % 2 === 0 ? 'group' : 'boundary')
      const facades = await Promise.all([world.facade(), world.facade()])
      for (let round = 0; round < 6; round += 1) {
        const before = await world.count(SecretVault)
        const requests = Array.from({ length: 1 + random.below(5) }, (_, index) =>
          facades[index % 2]?.create(SecretVault, `one-${round}-${index}`, {}),
        )
        const made = (await Promise.all(requests)).filter((code) => code === 201).length
        expect(made, `seed ${seed}, round ${round}`).to.equal(Math.min(requests.length, 3 - before))
        expect(await world.count(SecretVault), `seed ${seed}`).to.be.at.most(3)
        for (const { metadata } of (await world.server.list(SecretVault.resource)).items) {
          if (random.chance(0.5)) continue
          await world.server.remove(SecretVault.resource, metadata)
          // As the controller does at the end of a teardown.
          const grants = { [`secretvaults/${GROUP}/${metadata.name}`]: null }
          const ref = { namespace: boundaryNamespace(B), name: 'quota' }
          await world.server.mergePatch(QuotaLedger.resource, ref, { spec: { grants } })
        }
        for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
      }
      await world.stop()
    }
  })
})
