// @alone: kills the operator of a platform of its own.
import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { uuidV5 } from '../../src/core/ids.ts'
import { boundaryNamespace, groupNamespace } from '../../src/core/names.ts'
import { Boundary } from '../../src/crds/boundaries.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import { OwnPlatform } from '../cluster/platform.ts'
import type { ProxiedRequest } from '../faults/proxy.ts'
import { isReady, objectOf } from '../make/fleet.ts'
import { differences, snapshot } from '../make/snapshot.ts'
import { until } from '../make/until.ts'

const KILLS = 10
const SPEC = { computePlan: 'vector-medium', enableLoadBalancer: true }
const isWrite = ({ verb }: ProxiedRequest) => ['create', 'update', 'patch', 'delete'].includes(verb)

/** Makes a boundary, a group and a database as a Git tool does: each as soon as the server takes it. */
async function create(own: OwnPlatform, boundaryId: string): Promise<string> {
  const { admin } = own
  const home = groupNamespace(boundaryId, 'search')
  await admin.create(
    Boundary.resource,
    objectOf(Boundary, boundaryId, undefined, {
      displayName: 'Crash',
      initialOwner: { principalId: uuidV5('somebody'), principalType: 'User' },
    }),
  )
  const admitted = (make: () => Promise<unknown>) =>
    until('the API server takes it', async () => (await make()) !== undefined, 60_000)
  await admitted(() =>
    admin.create(ResourceGroup.resource, objectOf(ResourceGroup, 'search', boundaryNamespace(boundaryId), {})),
  )
  await admitted(() => admin.create(VectorCluster.resource, objectOf(VectorCluster, 'products', home, SPEC)))
  return home
}

async function untilReady(own: OwnPlatform, boundaryId: string, home: string): Promise<void> {
  const refs = [
    [Boundary, { name: boundaryId }],
    [ResourceGroup, { namespace: boundaryNamespace(boundaryId), name: 'search' }],
    [VectorCluster, { namespace: home, name: 'products' }],
  ] as const
  for (const [kind, ref] of refs) {
    await until(`${kind.kind} is ready`, async () => isReady(await own.admin.get(kind.resource, ref)), 60_000)
  }
}

const replaced = (boundaryId: string, home: string) => ({
  [home]: 'GROUP',
  [boundaryId]: 'BOUNDARY',
  [home.slice(-10)]: 'HASH',
})

describe('an operator that is killed in the middle of a creation', function () {
  this.timeout(300_000)
  let own: OwnPlatform
  let expected: Record<string, unknown>
  let writes: number

  before(async () => {
    own = await OwnPlatform.prepare({ proxied: true })
    await own.startOperator()
    const boundaryId = randomUUID()
    own.proxies?.controllers.reset()
    const home = await create(own, boundaryId)
    await untilReady(own, boundaryId, home)
    writes = own.proxies?.controllers.requests().filter(isWrite).length ?? 0
    expected = await snapshot(own.admin, [boundaryNamespace(boundaryId), home], replaced(boundaryId, home))
  })
  after(() => own.stop())

  it('has written enough to be killed in ten places', () => {
    expect(writes).to.be.greaterThan(KILLS)
    expect(Object.keys(expected)).to.have.length.greaterThan(10)
  })

  for (let kill = 1; kill <= KILLS; kill += 1) {
    const kind = kill % 2 === 0 ? ('drop' as const) : ('loseAnswer' as const)
    it(`ends in the same state, killed ${kind === 'drop' ? 'before' : 'after'} a write, the ${kill}. of ${KILLS} along the way`, async () => {
      const boundaryId = randomUUID()
      // Passes that meet are one, so that some creations take fewer writes than others: the last place is before the end.
      const at = Math.max(1, Math.floor((kill * writes) / (KILLS + 2)))
      let seen = 0
      let killed: Promise<void> | undefined
      const lift = own.proxies?.controllers.fault({
        fault: { kind },
        when: (request) => {
          if (isWrite(request)) seen += 1
          return isWrite(request) && seen === at
        },
        times: 1,
        onStrike: () => {
          killed = own.endOperator('SIGKILL')
        },
      })
      const making = create(own, boundaryId)
      await until('the operator is killed', () => killed !== undefined, 60_000)
      await killed
      lift?.()
      await own.startOperator()
      const home = await making
      await untilReady(own, boundaryId, home)
      const ended = await snapshot(own.admin, [boundaryNamespace(boundaryId), home], replaced(boundaryId, home))
      const found = differences(expected, ended)
      expect(found, found.join('\n')).to.deep.equal([])
    })
  }
})
