import { expect } from 'chai'
import { BOUNDARY_ID, type ControllerBench } from '../../test/worlds/controllers.ts'
import { GrantsBench } from '../../test/worlds/grantsWorld.ts'
import { INCARNATION_ANNOTATION } from '../core/labels.ts'
import { SYSTEM_NAMESPACE } from '../core/names.ts'
import { Boundary } from '../crds/boundaries.ts'
import { BoundaryTrust } from '../crds/rbac.ts'

const OTHER_ID = '00000000-0000-4000-8000-000000000009'

describe('the controller of trusts', () => {
  let world: GrantsBench
  let bench: ControllerBench

  beforeEach(() => {
    world = new GrantsBench()
    ;({ bench } = world)
    seedBoundary('now')
  })
  afterEach(() => bench.stop())

  function seedBoundary(life: string | undefined, name = OTHER_ID) {
    const annotations = life === undefined ? {} : { [INCARNATION_ANNOTATION]: life }
    bench.seed(Boundary, name, { displayName: 'Other' }, { annotations })
  }

  function trust(lives: object) {
    const spec = { boundaryId: BOUNDARY_ID, trustedBoundaryId: OTHER_ID, actions: ['apps/read'], ...lives }
    bench.seed(BoundaryTrust, 'lent', spec, { namespace: SYSTEM_NAMESPACE })
  }

  const named = { boundaryIncarnation: 'now', trustedBoundaryIncarnation: 'now' }
  for (const [sentence, lives] of [
    ['that names their lives', named],
    ['of kubectl or Git that names none', {}],
  ] as const) {
    for (const [side, gone] of [
      ['that grants', BOUNDARY_ID],
      ['that is trusted', OTHER_ID],
    ] as const) {
      it(`removes a trust ${sentence} with the boundary ${side}`, async () => {
        trust(lives)
        await bench.start()
        expect(await world.names(BoundaryTrust)).to.deep.equal(['lent'])
        await bench.client.remove(Boundary.resource, { name: gone })
        await bench.rest()
        expect(await world.names(BoundaryTrust)).to.deep.equal([])
      })
    }
  }

  it('removes a trust in a boundary that was made anew while nobody looked', async () => {
    trust({ ...named, trustedBoundaryIncarnation: 'before' })
    await bench.start()
    expect(await world.names(BoundaryTrust)).to.deep.equal([])
  })

  it('leaves a trust of which it hears before it hears of the boundary', async () => {
    for (const name of [BOUNDARY_ID, OTHER_ID]) await bench.client.remove(Boundary.resource, { name })
    const tell = bench.holdBack(Boundary.resource)
    await bench.start()
    for (const name of [BOUNDARY_ID, OTHER_ID]) seedBoundary('now', name)
    trust(named)
    await bench.rest()
    expect(await world.names(BoundaryTrust)).to.deep.equal(['lent'])
    tell()
  })

  it('leaves a trust in a boundary that has not been given its life yet', async () => {
    await bench.client.remove(Boundary.resource, { name: OTHER_ID })
    seedBoundary(undefined)
    trust(named)
    await bench.start()
    expect(await world.names(BoundaryTrust)).to.deep.equal(['lent'])
  })
})
