import { expect } from 'chai'
import { BOUNDARY_ID, type ControllerBench } from '../../test/worlds/controllers.ts'
import { GrantsBench } from '../../test/worlds/grantsWorld.ts'
import { INCARNATION_ANNOTATION } from '../core/labels.ts'
import { SYSTEM_NAMESPACE } from '../core/names.ts'
import type { KubeObject } from '../core/object.ts'
import { Boundary } from '../crds/boundaries.ts'
import { BoundaryTrust } from '../crds/rbac.ts'

const OTHER_ID = '00000000-0000-4000-8000-000000000009'

describe('BoundaryTrust controller', () => {
  let world: GrantsBench
  let bench: ControllerBench

  beforeEach(() => {
    world = new GrantsBench()
    ;({ bench } = world)
    for (const name of [BOUNDARY_ID, OTHER_ID]) seedBoundary('now', name)
  })
  afterEach(() => bench.stop())

  function seedBoundary(life: string | undefined, name = OTHER_ID) {
    const annotations = life === undefined ? {} : { [INCARNATION_ANNOTATION]: life }
    bench.seed(Boundary, name, { displayName: 'Other' }, { annotations })
  }

  function trust(lives: object, incarnations?: object) {
    const spec = { boundaryId: BOUNDARY_ID, trustedBoundaryId: OTHER_ID, actions: ['apps/read'], ...lives }
    const { apiVersion, kind, resource } = BoundaryTrust
    const metadata = { name: 'lent', namespace: SYSTEM_NAMESPACE }
    bench.client.seed(resource, { apiVersion, kind, metadata, spec, status: { incarnations } } as KubeObject)
  }
  const phase = async () =>
    (await bench.find<BoundaryTrust & KubeObject>(BoundaryTrust.resource, 'lent', SYSTEM_NAMESPACE))?.status?.phase

  const named = { boundaryIncarnation: 'now', trustedBoundaryIncarnation: 'now' }
  for (const [sentence, lives] of [
    ['with incarnations', named],
    ['without incarnations', {}],
  ] as const) {
    for (const [side, gone] of [
      ['that grants', BOUNDARY_ID],
      ['that is trusted', OTHER_ID],
    ] as const) {
      it(`deletes a trust ${sentence} when the boundary ${side} is deleted`, async () => {
        trust(lives)
        await bench.start()
        expect(await world.names(BoundaryTrust)).to.deep.equal(['lent'])
        await bench.client.remove(Boundary.resource, { name: gone })
        await bench.rest()
        expect(await world.names(BoundaryTrust)).to.deep.equal([])
      })
    }
  }

  for (const [sentence, lives] of [
    ['with incarnations', named],
    ['without incarnations', {}],
  ] as const)
    it(`deletes a trust ${sentence} if a boundary was recreated while no controller ran`, async () => {
      trust(lives, { [BOUNDARY_ID]: 'now', [OTHER_ID]: 'before' })
      await bench.start()
      expect(await world.names(BoundaryTrust)).to.deep.equal([])
    })

  it('keeps a trust that the cache shows before its boundary', async () => {
    for (const name of [BOUNDARY_ID, OTHER_ID]) await bench.client.remove(Boundary.resource, { name })
    const tell = bench.holdBack(Boundary.resource)
    await bench.start()
    for (const name of [BOUNDARY_ID, OTHER_ID]) seedBoundary('now', name)
    trust(named)
    await bench.rest()
    expect(await phase()).to.equal('Available')
    tell()
    await bench.rest()
    expect(await phase()).to.equal('Available')
  })

  for (const [sentence, lives, before] of [
    ['created before the boundary', {}, undefined],
    ['for another incarnation of the boundary', { trustedBoundaryIncarnation: 'before' }, 'other'],
  ] as const)
    it(`keeps a trust ${sentence} and reports ReferenceMissing`, async () => {
      await bench.client.remove(Boundary.resource, { name: OTHER_ID })
      if (before !== undefined) seedBoundary(before)
      trust(lives)
      await bench.start()
      expect(await phase()).to.equal('ReferenceMissing')
    })

  it('reports Available once the boundary has an incarnation, and deletes the trust with it', async () => {
    await bench.client.remove(Boundary.resource, { name: OTHER_ID })
    trust({})
    await bench.start()
    seedBoundary(undefined)
    await bench.rest()
    expect(await phase()).to.equal('ReferenceMissing')
    await bench.client.remove(Boundary.resource, { name: OTHER_ID })
    seedBoundary('now')
    await bench.rest()
    expect(await phase()).to.equal('Available')
    await bench.client.remove(Boundary.resource, { name: OTHER_ID })
    await bench.rest()
    expect(await world.names(BoundaryTrust)).to.deep.equal([])
  })
})
