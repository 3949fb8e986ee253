import { expect } from 'chai'
import { BOUNDARY_ID, ControllerBench } from '../../test/worlds/controllers.ts'
import { FINALIZER, LEAVING_LABEL, PRINCIPAL_INCARNATIONS_ANNOTATION } from '../core/labels.ts'
import { reservedNamespaceObject } from '../core/namespaces.ts'
import type { KubeObject } from '../core/object.ts'
import { Boundary } from '../crds/boundaries.ts'
import { RoleAssignment } from '../crds/rbac.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import { namespace, networkPolicy } from '../kube/builtin.ts'
import { boundaryController } from './boundaries.ts'

const SPACE = `boundary-${BOUNDARY_ID}`
const OWNER = { principalId: '7c1b2f7e-15c2-4f60-8f43-2f4d6f0c9a11', principalType: 'User' }

describe('Boundary controller', () => {
  let bench: ControllerBench
  const seed = (spec: object = {}) =>
    bench.seed(Boundary, BOUNDARY_ID, { displayName: 'Shop', quota: {}, tags: {}, ...spec })
  const stored = async () => (await bench.find(Boundary.resource, BOUNDARY_ID)) as Boundary & KubeObject
  const assignments = async () => (await bench.client.list(RoleAssignment.resource)).items

  beforeEach(() => {
    bench = new ControllerBench([boundaryController()])
  })
  afterEach(() => bench.stop())

  it('creates the namespace, its NetworkPolicy and the Owner assignment of the initial owner', async () => {
    seed({ initialOwner: OWNER })
    await bench.start()
    expect((await bench.find(namespace, SPACE))?.metadata.labels).to.include({ 'freehold.dev/boundary': BOUNDARY_ID })
    expect(await bench.find(networkPolicy, 'freehold-default', SPACE)).not.to.equal(undefined)
    const [assignment] = await assignments()
    expect(assignment?.spec).to.include({ roleDefinitionName: 'Owner', scopeIncarnation: 'incarnation-1' })
    expect((await stored()).status).to.include({ namespace: SPACE, status: 'Running' })
    expect((await stored()).metadata.finalizers).to.deep.equal([FINALIZER])
  })

  it('assigns Owner to the incarnation of the initial owner that the boundary recorded', async () => {
    const annotations = { [PRINCIPAL_INCARNATIONS_ANNOTATION]: JSON.stringify({ [OWNER.principalId]: 'first' }) }
    const spec = { displayName: 'Shop', quota: {}, tags: {}, initialOwner: OWNER }
    bench.seed(Boundary, BOUNDARY_ID, spec, { annotations })
    await bench.start()
    const [assignment] = await assignments()
    expect(assignment?.metadata.annotations).to.include(annotations)
  })

  it('adopts the namespace that was reserved for it', async () => {
    const reserved = reservedNamespaceObject({ for: 'Boundary', name: SPACE })
    bench.client.seed(namespace, reserved)
    seed()
    await bench.start()
    const home = await bench.find(namespace, SPACE)
    expect(home?.metadata.labels).to.include({ ...reserved.metadata.labels, 'freehold.dev/boundary': BOUNDARY_ID })
    expect(home?.metadata.annotations).to.include(reserved.metadata.annotations)
    expect((await stored()).status).to.include({ namespace: SPACE, status: 'Running' })
  })

  it('reports NameOccupied for a namespace that was reserved for a resource group', async () => {
    bench.client.seed(namespace, reservedNamespaceObject({ for: 'ResourceGroup', name: SPACE }))
    seed()
    await bench.start()
    expect(JSON.stringify((await stored()).status)).to.contain('NameOccupied')
  })

  it('writes nothing at rest', async () => {
    seed({ initialOwner: OWNER })
    await bench.start()
    bench.writes()
    await bench.clock.advance(86_400_000)
    expect(bench.writes()).to.deep.equal([])
  })

  it('does not restore the role of an Owner that was removed', async () => {
    seed({ initialOwner: OWNER })
    await bench.start()
    const [assignment] = await assignments()
    await bench.client.remove(RoleAssignment.resource, { namespace: SPACE, name: assignment?.metadata.name ?? '' })
    bench.client.edit<Boundary & KubeObject>(Boundary.resource, { name: BOUNDARY_ID }, ({ spec }) => {
      spec.displayName = 'Shop of others'
    })
    await bench.rest()
    expect(await assignments()).to.deep.equal([])
  })

  it('reports Ungoverned while nobody is Owner of the boundary', async () => {
    seed({ initialOwner: OWNER })
    await bench.start()
    const ready = async () => (await stored()).status?.conditions?.find(({ type }) => type === 'Ready')
    const told = () => bench.events.map(({ reason }) => reason)
    expect([(await ready())?.reason, told()]).to.deep.equal(['Available', ['Available']])
    const [first] = (await assignments()) as (RoleAssignment & KubeObject)[]
    if (first === undefined) return expect.fail('there is no Owner')
    await bench.client.remove(RoleAssignment.resource, { namespace: SPACE, name: first.metadata.name })
    await bench.rest()
    expect(await ready()).to.include({ status: 'True', reason: 'Ungoverned' })
    expect((await ready())?.message).to.match(/an Owner of the platform gives the role/)
    expect(told()).to.deep.equal(['Available', 'Ungoverned'])
    for (const [name, more] of [
      ['reads', { roleDefinitionName: 'Reader' }],
      ['below', { scope: `${first.spec.scope}/resourcegroups/shop` }],
    ] as const)
      bench.seed(RoleAssignment, name, { ...first.spec, ...more }, { namespace: SPACE })
    await bench.rest()
    expect((await ready())?.reason).to.equal('Ungoverned')
    bench.seed(RoleAssignment, 'another', first.spec, { namespace: SPACE })
    await bench.rest()
    expect((await ready())?.reason).to.equal('Available')
  })

  it('does not report Ungoverned while the cache lags behind the assignment', async () => {
    const hear = bench.holdBack(RoleAssignment.resource)
    seed({ initialOwner: OWNER })
    await bench.start()
    expect(bench.events.map(({ reason }) => reason)).to.deep.equal(['Available'])
    hear()
    await bench.rest()
    expect(bench.events.map(({ reason }) => reason)).to.deep.equal(['Available'])
  })

  it('finishes after a crash between the Owner assignment and its annotation', async () => {
    seed({ initialOwner: OWNER })
    let refusals = 0
    bench.client.fail('create', RoleAssignment.resource, () => {
      refusals += 1
    })
    bench.client.fail(
      'patch',
      Boundary.resource,
      () => {
        if (refusals === 1 && bench.client.count('create', RoleAssignment.resource) === 1) {
          refusals = 2
          throw new Error('the process was killed')
        }
      },
      9,
    )
    await bench.start()
    await bench.clock.advance(10_000)
    expect(await assignments()).to.have.length(1)
    expect(Object.keys((await stored()).metadata.annotations ?? {})).to.include('freehold.dev/initial-owner-assigned')
    expect(refusals).to.equal(2)
  })

  it('adopts the namespace that the facade made together with the boundary', async () => {
    const { boundarySpace } = bench.seedGroup('orders')
    await bench.start()
    expect((await stored()).status).to.include({ namespace: boundarySpace, status: 'Running' })
  })

  it('never adopts a foreign namespace with its name', async () => {
    bench.client.seed(namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SPACE } })
    seed({ initialOwner: OWNER })
    await bench.start()
    expect((await stored()).status).to.include({ status: 'Failed', phase: 'NameOccupied' })
    expect((await bench.find(namespace, SPACE))?.metadata.labels).to.equal(undefined)
    expect(await assignments(), 'no right in a namespace that is not ours').to.deep.equal([])
    await bench.client.remove(namespace, { name: SPACE })
    await bench.rest()
    expect((await stored()).status).to.include({ status: 'Running' })
  })

  it('waits while its namespace is being deleted, then recreates it', async () => {
    seed()
    await bench.start()
    bench.client.edit(namespace, { name: SPACE }, ({ metadata }) => {
      metadata.finalizers = ['example.com/slow']
    })
    await bench.client.remove(namespace, { name: SPACE })
    await bench.rest()
    expect((await stored()).status).to.include({ status: 'Updating', phase: 'WaitingForDependency' })
    bench.client.edit(namespace, { name: SPACE }, ({ metadata }) => {
      metadata.finalizers = []
    })
    await bench.rest()
    expect((await stored()).status).to.include({ status: 'Running' })
  })

  describe('deletion', () => {
    const seedGroup = (name: string) => bench.seed(ResourceGroup, name, { quota: {}, tags: {} }, { namespace: SPACE })
    const remove = async () => {
      await bench.client.remove(Boundary.resource, { name: BOUNDARY_ID })
      await bench.rest()
    }

    it('deletes the namespace, then removes the finalizer', async () => {
      seed()
      await bench.start()
      await remove()
      expect(await bench.find(namespace, SPACE)).to.equal(undefined)
      expect(await stored()).to.equal(undefined)
    })

    it('lists exactly its groups in status.heldBy', async () => {
      seed()
      seedGroup('orders')
      await bench.start()
      expect((await stored()).status?.heldBy).to.deep.equal(['resourcegroups/orders'])
      seedGroup('search')
      await bench.rest()
      expect((await stored()).status?.heldBy).to.deep.equal(['resourcegroups/orders', 'resourcegroups/search'])
      await bench.client.remove(ResourceGroup.resource, { namespace: SPACE, name: 'orders' })
      await bench.rest()
      expect((await stored()).status?.heldBy).to.deep.equal(['resourcegroups/search'])
    })

    it('blocks and marks the namespace as leaving until the last group is gone', async () => {
      seed()
      seedGroup('orders')
      await bench.start()
      await remove()
      const { status } = await stored()
      expect(status).to.include({ status: 'Deleting', phase: 'DeletionBlocked' })
      expect(status?.statusMessage).to.equal(
        'The deletion waits, because this must be kept: resourcegroups/orders. Delete these resource groups; the deletion then continues.',
      )
      const home = await bench.find(namespace, SPACE)
      expect(home?.metadata.deletionTimestamp).to.equal(undefined)
      expect(home?.metadata.labels).to.include({ [LEAVING_LABEL]: 'true' })
      await bench.client.remove(ResourceGroup.resource, { namespace: SPACE, name: 'orders' })
      await bench.rest()
      expect(await stored()).to.equal(undefined)
      expect(await bench.find(namespace, SPACE)).to.equal(undefined)
    })

    it('blocks for a group that the cache does not show yet', async () => {
      const release = bench.holdBack(ResourceGroup.resource)
      seed()
      await bench.start()
      seedGroup('orders')
      await remove()
      const { status } = await stored()
      release()
      expect(status).to.include({ status: 'Deleting', phase: 'DeletionBlocked' })
      expect((await bench.find(namespace, SPACE))?.metadata.deletionTimestamp).to.equal(undefined)
      await bench.rest()
      await bench.client.remove(ResourceGroup.resource, { namespace: SPACE, name: 'orders' })
      await bench.rest()
      expect(await stored()).to.equal(undefined)
    })
  })
})
