// @inTurn proxied: counts every request of the platform for a while.
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import type { KubeObject } from '../../src/core/object.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import { event } from '../../src/kube/builtin.ts'
import { borrowPlatform, giveBack } from '../cluster/lent.ts'
import type { OwnPlatform } from '../cluster/platform.ts'
import { TEST_CONFIG } from '../config.ts'
import { type Fleet, makeFleet, untilFleetIsReady } from '../worlds/fleet.ts'

const DATABASES = TEST_CONFIG.sized(40, 1_000)
const QUIET_SECONDS = TEST_CONFIG.sized(60, 120)

/** Allowed requests of an idle platform: watches, renewals of its lease, and counts of events from before its rest. */
const AT_REST = /^(watch |(get|update|patch) leases\.coordination\.k8s\.io$|patch events\.events\.k8s\.io$)/
type Series = KubeObject & { note?: string; series?: { lastObservedTime: string } }

describe(`an idle platform of ${DATABASES} vector databases, half of them stopped`, () => {
  let own: OwnPlatform
  let fleet: Fleet

  before(async () => {
    own = await borrowPlatform('proxied')
    await own.startOperator({ PLATFORM_LEADER_ELECTION: 'true' })
    const spec = (index: number) => ({ running: index % 2 === 0 })
    fleet = await makeFleet(own.admin, { groups: 4, databases: DATABASES, spec })
    await untilFleetIsReady(own.admin, fleet, 600_000)
    await untilQuiet(own)
  })
  after(() => giveBack(own))

  /** This test is about time itself: nothing may happen during it. */
  async function rest(): Promise<Date> {
    const since = new Date()
    const before = own.operatorPid
    for (const proxy of Object.values(own.proxies ?? {})) proxy.reset()
    await delay(QUIET_SECONDS * 1000)
    if (own.operatorPid === before) return since
    // On a busy machine it may have lost its lease and been restarted.
    await untilQuiet(own)
    return rest()
  }

  it('sends only watches and renewals of its leases', async () => {
    const since = await rest()
    const proxies = Object.values(own.proxies ?? {})
    const requests = proxies.flatMap((proxy) => proxy.requests())
    const counted = proxies.flatMap((proxy) => Object.entries(proxy.counts().by))
    const by: Record<string, number> = {}
    for (const [what, count] of counted) by[what] = (by[what] ?? 0) + count
    expect(
      Object.keys(by).filter((key) => !AT_REST.test(key)),
      JSON.stringify(by),
    ).to.deep.equal([])
    const { items } = await own.admin.list<Series>(event)
    const repeated = items.filter(({ series }) => series && new Date(series.lastObservedTime) > since)
    expect(repeated.map(({ note }) => note)).to.deep.equal([])
    const renewals = Object.entries(by).filter(([key]) => key.includes('leases'))
    // Two leases: that of the controllers' leader, and the activator's.
    expect(renewals.reduce((sum, [, count]) => sum + count, 0)).to.be.within(2, (2 * 30 * QUIET_SECONDS) / 60)
    // Streams are re-opened after minutes, not seconds.
    expect(requests.filter((request) => request.verb === 'watch').length).to.be.at.most(60)
  })

  it('keeps the status of every database', async () => {
    const lists = await Promise.all(
      fleet.namespaces.map((namespace) => own.admin.list(VectorCluster.resource, { namespace })),
    )
    const items = lists.flatMap((list) => list.items)
    const words = items.map((item) => (item.status as { status?: string } | undefined)?.status)
    expect(words.filter((word) => word === 'Running')).to.have.length(DATABASES / 2)
    expect(words.filter((word) => word === 'Stopped')).to.have.length(DATABASES / 2)
  })
})

/** Longer than a call may take: one hanging call must not look idle while others wait behind it. */
const REST_SECONDS = 15

/** Waits until the operator has written nothing for some time. */
async function untilQuiet(own: OwnPlatform): Promise<void> {
  const writes = () =>
    Object.entries(own.proxies?.controllers.counts().by ?? {})
      .filter(([key]) => !AT_REST.test(key))
      .reduce((sum, [, count]) => sum + count, 0)
  const deadline = performance.now() + 180_000
  for (let [before, since] = [writes(), performance.now()]; performance.now() < deadline; ) {
    await delay(1_000)
    const now = writes()
    if (now !== before) [before, since] = [now, performance.now()]
    else if (performance.now() - since > REST_SECONDS * 1000) return
  }
  throw new Error('The operator did not come to rest in three minutes.')
}
