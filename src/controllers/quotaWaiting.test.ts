import { expect } from 'chai'
import { ControllerBench } from '../../test/worlds/controllers.ts'
import { LEDGER_NAME } from '../core/sizing/ledger.ts'
import { ComputePlan } from '../crds/plans.ts'
import { QuotaLedger } from '../crds/quotas.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import { VectorCluster } from '../crds/vector.ts'
import { controller } from './engine/controller.ts'
import { checkQuota, quotaObservers } from './quota.ts'
import { LEDGER_RIGHTS } from './quotaLedger.ts'

const WAITING = 40
const SPEC = {
  cpuRequest: '1',
  cpuLimit: '1',
  memoryRequest: '1Gi',
  memoryLimit: '1Gi',
  storageSize: '1Gi',
  replicas: 1,
}

/** Databases that only ask for quota, in a group whose quota of resources is taken. */
describe('resources that wait for quota', () => {
  let bench: ControllerBench
  let passes: string[]
  let space: string
  let boundarySpace: string

  beforeEach(async () => {
    passes = []
    const asking = controller(VectorCluster, {
      observes: quotaObservers(VectorCluster),
      reads: [ComputePlan.resource],
      writes: [LEDGER_RIGHTS],
      reconcile: (pass) => {
        passes.push(pass.object.metadata.name)
        return checkQuota(pass)
      },
    })
    bench = new ControllerBench([asking])
    const spaces = bench.seedGroup('shop')
    space = spaces.groupSpace
    boundarySpace = spaces.boundarySpace
    bench.seed(
      ResourceGroup,
      'shop',
      { displayName: 'Shop', quota: { resources: 2 }, tags: {} },
      { namespace: boundarySpace },
    )
    for (let index = 0; index < 2 + WAITING; index += 1)
      bench.seed(VectorCluster, `one-${String(index).padStart(2, '0')}`, SPEC, {
        namespace: space,
        creationTimestamp: `2026-01-01T00:00:${String(index).padStart(2, '0')}Z`,
      })
    await bench.start()
    bench.clock.advance?.(60_000)
    await bench.rest()
    passes = []
  })
  afterEach(() => bench.stop())

  const change = async (name: string, make: (spec: Record<string, unknown>) => void) => {
    bench.client.edit(VectorCluster.resource, { namespace: space, name }, (one) => make(one.spec as never))
    await bench.rest()
  }

  it('are not asked again after a change that leaves no room for them', async () => {
    await change('one-00', (spec) => {
      spec.cpuRequest = '500m'
    })
    expect(new Set(passes)).to.deep.equal(new Set(['one-00']))
  })

  it('get the room that another one leaves, the oldest first', async () => {
    await bench.client.remove(VectorCluster.resource, { namespace: space, name: 'one-00' })
    await bench.client.mergePatch(
      QuotaLedger.resource,
      { namespace: boundarySpace, name: LEDGER_NAME },
      { spec: { grants: { 'vectorclusters/shop/one-00': null } } },
    )
    await bench.rest()
    const ledger = await bench.find<QuotaLedger & { metadata: never }>(QuotaLedger.resource, LEDGER_NAME, boundarySpace)
    expect(Object.keys(ledger?.spec.grants ?? {})).to.deep.equal([
      'vectorclusters/shop/one-01',
      'vectorclusters/shop/one-02',
    ])
  })

  it('do not make one that has its grant look at all of them', async () => {
    let listed = 0
    const { records } = bench.environment
    const { cache } = records
    Object.assign(records, {
      cache: (of: never) => {
        const view = cache.call(records, of)
        return {
          ...view,
          get: view.get.bind(view),
          byIndex: view.byIndex.bind(view),
          list: (filter: object) => {
            const found = view.list(filter)
            listed += found.length
            return found
          },
        }
      },
    })
    await change('one-00', (spec) => {
      spec.cpuRequest = '500m'
    })
    expect(listed).to.be.lessThan(WAITING)
  })

  it('share a write of the ledger if they ask at the same time', async () => {
    const before = bench.client.calls.length
    const ref = { namespace: boundarySpace, name: 'shop' }
    bench.client.edit(ResourceGroup.resource, ref, (group) => {
      group.spec = { ...(group.spec as object), quota: { resources: 2 + WAITING } }
    })
    await bench.rest()
    const ledger = await bench.find<QuotaLedger & { metadata: never }>(QuotaLedger.resource, LEDGER_NAME, boundarySpace)
    expect(Object.keys(ledger?.spec.grants ?? {})).to.have.length(2 + WAITING)
    const ofLedger = bench.client.calls.slice(before).filter(({ resource }) => resource.startsWith(QuotaLedger.plural))
    expect(ofLedger).to.have.length.within(1, 0.75 * WAITING)
  })
})
