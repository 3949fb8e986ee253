import { expect } from 'chai'
import { BOUNDARY_ID, ControllerBench } from '../../test/make/controllers.ts'
import type { AnyKind } from '../crds/define.ts'
import { DenyAssignment, JitRequest, RoleAssignment } from '../crds/rbac.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import { grantControllers } from './rbac.ts'

const PRINCIPAL = '7c1b2f7e-15c2-4f60-8f43-2f4d6f0c9a11'
const SCOPE = `/boundaries/${BOUNDARY_ID}`
const SHOP = `${SCOPE}/resourcegroups/shop`
const HOUR = 3_600_000

describe('the controllers of grants', () => {
  let bench: ControllerBench
  let space: string
  const inFuture = (milliseconds: number) => new Date(bench.clock.now() + milliseconds).toISOString()
  const seed = (kind: AnyKind, name: string, spec: object) =>
    bench.seed(kind, name, { principalId: PRINCIPAL, principalType: 'User', ...spec }, { namespace: space })
  const assign = (name: string, spec: object) =>
    seed(RoleAssignment, name, { roleDefinitionName: 'Reader', scope: SCOPE, ...spec })
  const names = async (kind: AnyKind) =>
    (await bench.client.list(kind.resource)).items.map(({ metadata }) => metadata.name)

  beforeEach(() => {
    bench = new ControllerBench(grantControllers)
    space = bench.seedGroup('shop').boundarySpace
  })
  afterEach(() => bench.stop())

  it('remove what has expired at its time, and leave what has not', async () => {
    assign('for-ever', {})
    assign('hour', { expiresAt: inFuture(HOUR) })
    assign('over', { expiresAt: inFuture(-1) })
    seed(DenyAssignment, 'held', {
      isEveryone: false,
      actions: ['jobs/write'],
      scope: SCOPE,
      expiresAt: inFuture(HOUR),
    })
    await bench.start()
    expect(await names(RoleAssignment)).to.deep.equal(['for-ever', 'hour'])
    await bench.clock.advance(HOUR - 1000)
    await bench.rest()
    expect(await names(RoleAssignment)).to.deep.equal(['for-ever', 'hour'])
    await bench.clock.advance(2000)
    await bench.rest()
    expect(await names(RoleAssignment)).to.deep.equal(['for-ever'])
    expect(await names(DenyAssignment)).to.deep.equal([])
  })

  it('obey an end that was put off', async () => {
    assign('hour', { expiresAt: inFuture(HOUR) })
    await bench.start()
    bench.client.edit(RoleAssignment.resource, { namespace: space, name: 'hour' }, (object) => {
      Object.assign(object.spec as object, { expiresAt: inFuture(3 * HOUR) })
    })
    await bench.rest()
    await bench.clock.advance(2 * HOUR)
    await bench.rest()
    expect(await names(RoleAssignment)).to.deep.equal(['hour'])
  })

  it('remove a request that nobody decided within a day', async () => {
    const name = '8c1d6e7f-2a3b-4c4d-9e5f-6a7b8c9d0e1f'
    seed(JitRequest, name, { roleDefinitionName: 'Reader', scope: SCOPE, justification: 'x', durationMinutes: 60 })
    await bench.start()
    expect(await names(JitRequest)).to.deep.equal([name])
    await bench.clock.advance(24 * HOUR)
    await bench.rest()
    expect(await names(JitRequest)).to.deep.equal([])
  })

  it('tie a grant in a group to the group, and not to another life of it', async () => {
    const annotations = { 'freehold.dev/incarnation': 'now' }
    const group = bench.seed(ResourceGroup, 'shop', { tags: {}, quota: {} }, { namespace: space, annotations })
    assign('in-group', { scope: SHOP, scopeIncarnation: 'now' })
    assign('in-resource', { scope: `${SHOP}/resources/vectorclusters/index` })
    assign('of-earlier', { scope: SHOP, scopeIncarnation: 'before' })
    assign('at-boundary', {})
    await bench.start()
    const ownersOf = async (name: string) =>
      (await bench.find(RoleAssignment.resource, name, space))?.metadata.ownerReferences?.map(({ uid }) => uid)
    expect(await ownersOf('in-group')).to.deep.equal([group.metadata.uid])
    expect(await ownersOf('in-resource')).to.deep.equal([group.metadata.uid])
    expect(await ownersOf('of-earlier')).to.equal(undefined)
    expect(await ownersOf('at-boundary')).to.equal(undefined)
  })

  it('make no request at rest', async () => {
    assign('for-ever', {})
    await bench.start()
    bench.writes()
    await bench.clock.advance(30 * 24 * HOUR)
    await bench.rest()
    expect(bench.writes()).to.deep.equal([])
  })
})
