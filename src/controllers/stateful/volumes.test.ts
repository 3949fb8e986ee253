import { expect } from 'chai'
import { StatefulWorld } from '../../../test/worlds/statefulWorld.ts'
import { RETAINED_FOR_ANNOTATION } from '../../core/labels.ts'
import { type KubeObject, keyOf } from '../../core/object.ts'
import { DEFAULT_PLANS } from '../../crds/defaultPlans.ts'
import type { AnyKind } from '../../crds/define.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { SqlInstance } from '../../crds/sql.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { persistentVolumeClaim, pod, service, statefulSet } from '../../kube/builtin.ts'

type Requests = { storageClassName?: string; resources: { requests: { storage: string } } }
type Claim = KubeObject & { spec: Requests; status?: { capacity?: object } }
type Workload = KubeObject & {
  spec: {
    volumeClaimTemplates: [{ spec: Requests }]
    template: { spec: { containers: [{ resources: { requests: { cpu: string } } }] } }
  }
}

const NAME = 'books'

/** Each kind that runs as a StatefulSet, the rest of its spec, and a plan to vary. */
const KINDS: [kind: AnyKind, spec: object, plan: (typeof DEFAULT_PLANS)[string] | undefined][] = [
  [VectorCluster, {}, DEFAULT_PLANS['vector-dev']],
  [SqlInstance, { engine: 'MariaDb' }, DEFAULT_PLANS['sql-dev']],
]

for (const [kind, base, plan] of KINDS) {
  const workload = `${kind.shortNames[0]}-${NAME}`
  const claimName = `storage-${workload}-0`

  describe(`volume of a ${kind.kind}`, () => {
    let world: StatefulWorld
    beforeEach(async () => {
      world = await new StatefulWorld().start()
      for (const [name, storageSize, cpuRequest, storageClass] of [
        ['little', '10Gi', '500m', ''],
        ['large', '40Gi', '2', ''],
        ['tiny', '5Gi', '500m', ''],
        ['strong', '10Gi', '2', ''],
        ['elsewhere', '40Gi', '2', 'fast'],
      ] as const) {
        const sizes = { storageSize, cpuRequest, cpuLimit: '4', storageClass }
        world.bench.seed(ComputePlan, name, { ...plan, ...sizes, isDefault: false })
      }
      await world.create(kind, NAME, { ...base, computePlan: 'little' })
    })
    afterEach(() => world.stop())

    const template = async () => (await world.find<Workload>(statefulSet, workload))?.spec.volumeClaimTemplates[0].spec
    /** The size of the claim and of the template, and the CPU request of the pod. */
    const sizes = async () => {
      const claim = await world.find<Claim>(persistentVolumeClaim, claimName)
      const set = await world.find<Workload>(statefulSet, workload)
      return [
        claim?.spec.resources.requests.storage,
        set?.spec.volumeClaimTemplates[0].spec.resources.requests.storage,
        set?.spec.template.spec.containers[0].resources.requests.cpu,
      ].join(' ')
    }
    const says = () => world.says(kind, NAME)
    /** Sets the status of a volume that has grown. */
    const resize = () =>
      world.edit(persistentVolumeClaim, claimName, (claim) => {
        claim.status = { capacity: (claim as Claim).spec.resources.requests }
      })

    const cases: {
      sentence: string
      change: object
      rigid?: boolean
      sizes: string
      says: RegExp
      /** Whether the StatefulSet is recreated. */
      isRemade: boolean
      afterwards?: RegExp
    }[] = [
      {
        sentence: 'grows with storageSize in claim and template while the pod keeps running',
        change: { storageSize: '20Gi' },
        sizes: '20Gi 20Gi 500m',
        says: /^Updating WaitingForVolume: Growing to 20Gi: storage-\w+-books-0\.$/,
        isRemade: true,
        afterwards: /^Running Available/,
      },
      {
        sentence: 'grows with a larger plan, and the pod gets the rest of the plan',
        change: { computePlan: 'large' },
        sizes: '40Gi 40Gi 2',
        says: /^Updating WaitingForVolume: Growing to 40Gi/,
        isRemade: true,
        afterwards: /^Running Available/,
      },
      {
        sentence: 'stays the same with a plan of the same storage',
        change: { computePlan: 'strong' },
        sizes: '10Gi 10Gi 2',
        says: /^Running Available/,
        isRemade: false,
      },
      {
        sentence: 'stays the same with the same size in other units',
        change: { storageSize: '10240Mi' },
        sizes: '10Gi 10240Mi 500m',
        says: /^Running Available/,
        isRemade: false,
      },
      {
        sentence: 'has the size of the spec instead of the plan',
        change: { computePlan: 'tiny', storageSize: '30Gi' },
        sizes: '30Gi 30Gi 500m',
        says: /^Updating WaitingForVolume/,
        isRemade: true,
        afterwards: /^Running Available/,
      },
      {
        sentence: 'does not grow in a class without expansion, but the rest of the plan applies',
        change: { computePlan: 'large' },
        rigid: true,
        sizes: '10Gi 10Gi 2',
        says: /^Degraded ConfigurationInvalid: Storage class "standard" does not let volumes grow .* storageSize stays at 10Gi\.$/,
        isRemade: false,
      },
      {
        sentence: 'does not shrink with a smaller plan, which is ignored entirely',
        change: { computePlan: 'tiny' },
        sizes: '10Gi 10Gi 500m',
        says: /^Degraded StorageCannotShrink: The volumes have 10Gi and cannot shrink to 5Gi\. Set storageSize to at least 10Gi\.$/,
        isRemade: false,
      },
    ]
    for (const given of cases) {
      it(given.sentence, async () => {
        const before = (await world.find(statefulSet, workload))?.metadata.uid
        const podBefore = (await world.find(pod, `${workload}-0`))?.metadata.uid
        world.setExpansion(given.rigid !== true)
        await world.change(kind, NAME, given.change)
        expect(await sizes()).to.equal(given.sizes)
        expect(await says()).to.match(given.says)
        expect((await world.find(statefulSet, workload))?.metadata.uid !== before).to.equal(given.isRemade)
        const isSamePod = given.sizes.endsWith(' 500m')
        expect((await world.find(pod, `${workload}-0`))?.metadata.uid === podBefore).to.equal(isSamePod)
        if (given.afterwards === undefined) return
        await resize()
        expect(await says()).to.match(given.afterwards)
        expect(await sizes()).to.equal(given.sizes)
      })
    }

    it('keeps its class with a plan of another class and gets the rest of that plan', async () => {
      await world.change(kind, NAME, { computePlan: 'elsewhere' })
      await resize()
      expect(await says()).to.match(/^Running Available/)
      expect(await sizes()).to.equal('40Gi 40Gi 2')
      expect((await template())?.storageClassName).to.equal(undefined)
      await world.create(kind, 'others', { ...base, computePlan: 'elsewhere' })
      const others = await world.find<Workload>(statefulSet, `${kind.shortNames[0]}-others`)
      expect(others?.spec.volumeClaimTemplates[0].spec.storageClassName).to.equal('fast')
      await world.change(kind, 'others', { computePlan: 'large', storageSize: '40Gi' })
      const after = await world.find<Workload>(statefulSet, `${kind.shortNames[0]}-others`)
      expect(after?.spec.volumeClaimTemplates[0].spec.storageClassName).to.equal('fast')
    })

    it('grows after a change of the object once the class allows expansion', async () => {
      world.setExpansion(false)
      await world.change(kind, NAME, { storageSize: '20Gi' })
      expect(await sizes()).to.equal('10Gi 10Gi 500m')
      world.setExpansion(true)
      // The next pass of the object sees the class.
      await world.edit(kind.resource, NAME, ({ metadata }) => {
        metadata.annotations = { ...metadata.annotations, looked: 'again' }
      })
      expect(await sizes()).to.equal('20Gi 20Gi 500m')
    })

    it('is not awaited while it is not bound', async () => {
      await world.edit(persistentVolumeClaim, claimName, (claim) => {
        claim.status = { phase: 'Pending' }
      })
      await world.change(kind, NAME, { storageSize: '20Gi' })
      expect(await sizes()).to.equal('20Gi 20Gi 500m')
      expect(await says()).to.match(/^Running Available/)
    })

    describe('whose template size the API server changes', () => {
      const removals = () => world.bench.client.count('delete', statefulSet)
      /** Causes a pass without a change of the spec. */
      const look = (times: number) =>
        world.edit(kind.resource, NAME, ({ metadata }) => {
          metadata.annotations = { ...metadata.annotations, looked: `${times}` }
        })
      const isQuiet = async () => {
        world.bench.writes()
        await world.bench.clock.advance(3_600_000)
        await world.converge()
        expect(world.bench.writes(), 'in an hour').to.deep.equal([])
      }

      for (const [stored, remedy] of [
        ['25Gi', 'Set storageSize to 25Gi.'],
        ['15Gi', 'Whatever changes it, such as an admission webhook, must leave it alone.'],
      ] as const) {
        it(`is recreated once, then reported and left alone: ${stored} for 20Gi`, async () => {
          world.storeTemplatesOf('20Gi', stored)
          await world.change(kind, NAME, { storageSize: '20Gi' })
          await resize()
          const said = `Degraded ConfigurationInvalid: storageSize is 20Gi, which the API server stores as ${stored}. ${remedy}`
          expect([await says(), await sizes(), removals()]).to.deep.equal([said, `20Gi ${stored} 500m`, 1])
          await isQuiet()
          for (const times of [1, 2, 3]) await look(times)
          expect([await says(), removals()]).to.deep.equal([said, 1])
          await isQuiet()
          await world.change(kind, NAME, { computePlan: 'strong' })
          expect([await sizes(), removals()], 'the rest of the spec counts').to.deep.equal([`20Gi ${stored} 2`, 1])
        })
      }

      it('is recreated once for each new size', async () => {
        world.storeTemplatesOf('20Gi', '25Gi')
        await world.change(kind, NAME, { storageSize: '20Gi' })
        await world.change(kind, NAME, { storageSize: '25Gi' })
        await resize()
        expect(await says()).to.match(/^Running Available/)
        expect([await sizes(), removals()]).to.deep.equal(['25Gi 25Gi 500m', 1])
        world.storeTemplatesOf('30Gi', '35Gi')
        await world.change(kind, NAME, { storageSize: '30Gi' })
        await resize()
        expect(await says()).to.match(
          /^Degraded ConfigurationInvalid: storageSize is 30Gi, .* Set storageSize to 35Gi\.$/,
        )
        expect(removals()).to.equal(2)
        await isQuiet()
      })

      it('is not recreated if it was created with the other size', async () => {
        world.storeTemplatesOf('20Gi', '15Gi')
        await world.create(kind, 'others', { ...base, computePlan: 'little', storageSize: '20Gi' })
        expect(await world.says(kind, 'others')).to.match(/^Degraded ConfigurationInvalid: storageSize is 20Gi/)
        expect(removals()).to.equal(0)
        await isQuiet()
      })
    })

    it('grows when its class allows expansion', async () => {
      world.setExpansion(false)
      await world.change(kind, NAME, { storageSize: '20Gi' })
      await world.converge()
      expect(await says()).to.match(
        /^Degraded ConfigurationInvalid: Storage class "standard" does not let volumes grow/,
      )
      world.setExpansion(true)
      await world.bench.rest()
      expect((await sizes()).split(' ')[0]).to.equal('20Gi')
    })

    it('grows once all volumes of its StatefulSet exist', async () => {
      const change = async (spec: object) => {
        await world.bench.client.mergePatch(kind.resource, { namespace: world.home, name: NAME }, { spec })
        await world.bench.rest()
      }
      // The second change comes before the StatefulSet controller sees the first.
      await change({ computePlan: 'strong' })
      await change({ storageSize: '20Gi' })
      expect(await sizes(), 'the template waits').to.equal('20Gi 10Gi 2')
      await world.converge()
      await resize()
      expect([await sizes(), world.bench.client.count('delete', statefulSet)]).to.deep.equal(['20Gi 20Gi 2', 1])
      expect(await says()).to.match(/^Running Available/)
    })

    it('is not adopted by a new resource that requests less, until that requests as much', async () => {
      await world.change(kind, NAME, { storageSize: '20Gi', onDelete: 'Retain' })
      await resize()
      await world.bench.client.remove(kind.resource, { namespace: world.home, name: NAME })
      await world.converge()
      await world.create(kind, NAME, { ...base, computePlan: 'little' })
      expect(await says()).to.match(/^\w+ StorageCannotShrink: The volumes have 20Gi/)
      const { items } = await world.bench.client.list(persistentVolumeClaim, { namespace: world.home })
      const isKept = ({ metadata }: KubeObject) => metadata.annotations?.[RETAINED_FOR_ANNOTATION] !== undefined
      expect(items.some(isKept), 'it still counts with what it takes').to.equal(true)
      await world.change(kind, NAME, { storageSize: '20Gi' })
      expect(await says()).to.match(/^Running Available/)
      expect(await sizes()).to.equal('20Gi 20Gi 500m')
    })
  })
}

for (const [kind, base] of KINDS) {
  describe(`a ${kind.kind} that is deleted during its first pass`, () => {
    let world: StatefulWorld
    const ref = () => ({ namespace: world.home, name: NAME })
    beforeEach(async () => {
      world = await new StatefulWorld().start()
    })
    afterEach(() => world.stop())

    /** Acts at the write of the Service, which comes before the StatefulSet. */
    const meanwhile = (act: () => unknown) => {
      world.bench.client.fail('apply', service, act)
      return world.create(kind, NAME, base)
    }
    const left = async () =>
      (
        await Promise.all(
          [statefulSet, persistentVolumeClaim, pod].map((each) =>
            world.bench.client.list(each, { namespace: world.home }),
          ),
        )
      ).flatMap(({ items }) => items.map(keyOf))

    /** As an API server that handled the deletion before it saw the finalizer. */
    const overlookFinalizer = () => {
      world.bench.client.edit(kind.resource, ref(), ({ metadata }) => {
        metadata.finalizers = []
      })
      return world.bench.client.remove(kind.resource, ref())
    }

    it('creates no volume if it is deleted without its finalizer', async () => {
      await meanwhile(overlookFinalizer)
      expect(await world.find(kind.resource, NAME)).to.equal(undefined)
      expect(await left()).to.deep.equal([])
    })

    it('is torn down before a volume is created', async () => {
      await meanwhile(() => world.bench.client.remove(kind.resource, ref()))
      for (let wait = 0; wait < 5; wait += 1) await world.bench.clock.advance(1_000).then(() => world.converge())
      expect(await world.find(kind.resource, NAME)).to.equal(undefined)
      expect(await left()).to.deep.equal([])
    })
  })
}

describe('retained volume of a SqlInstance', () => {
  let world: StatefulWorld
  beforeEach(async () => {
    world = await new StatefulWorld().start()
    await world.create(SqlInstance, NAME, { engine: 'MariaDb', engineVersion: '11.4', onDelete: 'Retain' })
    await world.bench.client.remove(SqlInstance.resource, { namespace: world.home, name: NAME })
    await world.converge()
  })
  afterEach(() => world.stop())

  for (const [sentence, spec, says] of [
    ['is rejected for another engine', { engine: 'MsSql' }, /^Failed ConfigurationInvalid: .* create it with MariaDb/],
    [
      'is rejected for an older version',
      { engine: 'MariaDb', engineVersion: '10.11' },
      /^Failed ConfigurationInvalid: .* Set engineVersion to at least 11\.4/,
    ],
    ['is adopted by the default version, which is newer', { engine: 'MariaDb' }, /^Running Available/],
  ] as const) {
    it(sentence, async () => {
      await world.create(SqlInstance, NAME, spec)
      expect(await world.says(SqlInstance, NAME)).to.match(says)
    })
  }
})
