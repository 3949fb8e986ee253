import { expect } from 'chai'
import type { ControllerBench } from '../../test/worlds/controllers.ts'
import { GrantsBench, HOUR, LIFE, PRINCIPAL, REQUEST, SHOP } from '../../test/worlds/grantsWorld.ts'
import { uuidV5 } from '../core/ids.ts'
import { PRINCIPAL_INCARNATIONS_ANNOTATION } from '../core/labels.ts'
import { SYSTEM_NAMESPACE } from '../core/names.ts'
import type { KubeObject } from '../core/object.ts'
import type { AnyKind } from '../crds/define.ts'
import { PlatformUser } from '../crds/identity.ts'
import { JitRequest, RoleAssignment } from '../crds/rbac.ts'

describe('JitRequest controllers', () => {
  let world: GrantsBench
  let bench: ControllerBench
  let space: string
  const inFuture = (milliseconds: number) => world.inFuture(milliseconds)
  const assign = (name: string, spec: object) => world.assign(name, spec)
  const names = (kind: AnyKind) => world.names(kind)
  const ask = (spec: object) => world.ask(spec)
  const stateOf = async () =>
    ((await bench.find(JitRequest.resource, REQUEST, space))?.status as { state?: string } | undefined)?.state

  beforeEach(() => {
    world = new GrantsBench()
    ;({ bench, space } = world)
  })
  afterEach(() => bench.stop())

  it('expire an undecided request after a day and delete it a day later', async () => {
    ask({})
    await bench.start()
    expect(await stateOf()).to.equal('Pending')
    await bench.clock.advance(24 * HOUR)
    await bench.rest()
    expect(await stateOf()).to.equal('Expired')
    await bench.clock.advance(24 * HOUR)
    await bench.rest()
    expect(await names(JitRequest)).to.deep.equal([])
  })

  describe('for an approved request', () => {
    const approved = () => ({ decision: 'Approved', decidedAt: inFuture(0), decidedBy: PRINCIPAL })
    const grants = async () =>
      (await bench.client.list<RoleAssignment & KubeObject>(RoleAssignment.resource)).items.map(({ spec }) => spec)

    /** As if the facade had died before it wrote the assignment. */
    const startWithoutFacade = async () => {
      await bench.start()
      await bench.clock.advance(2000)
      await bench.rest()
    }

    it('leave the assignment to the facade for 2 seconds', async () => {
      ask(approved())
      await bench.start()
      await bench.clock.advance(1000)
      await bench.rest()
      expect(await grants()).to.deep.equal([])
      await bench.clock.advance(1000)
      await bench.rest()
      expect(await grants()).to.have.length(1)
    })

    it('assign the role until its end', async () => {
      ask(approved())
      const until = new Date(bench.clock.now() + HOUR).toISOString().replace('.000', '')
      await startWithoutFacade()
      const [grant, ...others] = await grants()
      expect(others).to.deep.equal([])
      expect(grant).to.include({ scope: SHOP, scopeIncarnation: 'now', jitRequestId: REQUEST, expiresAt: until })
      expect(await stateOf()).to.equal('Active')
      await bench.clock.advance(HOUR)
      await bench.rest()
      expect(await grants()).to.deep.equal([])
      expect(await stateOf()).to.equal('Ended')
      const said = bench.events.filter(({ key }) => key.endsWith(REQUEST)).map(({ reason }) => reason)
      expect(said).to.include.members(['Available', 'Stopped'])
    })

    it('assign nothing to another incarnation of the requester', async () => {
      bench.seed(PlatformUser, PRINCIPAL, { userName: 'anew' }, { namespace: SYSTEM_NAMESPACE, annotations: LIFE })
      const named = { [PRINCIPAL_INCARNATIONS_ANNOTATION]: JSON.stringify({ [PRINCIPAL]: 'before' }) }
      ask(approved())
      bench.client.edit(JitRequest.resource, { namespace: space, name: REQUEST }, ({ metadata }) => {
        metadata.annotations = { ...metadata.annotations, ...named }
      })
      await startWithoutFacade()
      expect(await grants()).to.deep.equal([])
    })

    it('revoke the role when the request is ended', async () => {
      ask(approved())
      await startWithoutFacade()
      expect(await grants()).to.have.length(1)
      bench.client.edit(JitRequest.resource, { namespace: space, name: REQUEST }, (object) => {
        Object.assign(object.spec as object, { decision: 'Ended' })
      })
      await bench.rest()
      expect(await grants()).to.deep.equal([])
      expect(await stateOf()).to.equal('Ended')
    })

    it('revoke the role before the deleted request is removed', async () => {
      ask(approved())
      await startWithoutFacade()
      expect(await grants()).to.have.length(1)
      bench.client.fail('delete', RoleAssignment.resource, () => {
        throw new Error('the API server went away')
      })
      await bench.client.remove(JitRequest.resource, { namespace: space, name: REQUEST })
      await bench.rest()
      expect(await names(JitRequest)).to.deep.equal([REQUEST])
      await bench.clock.advance(10_000)
      await bench.rest()
      expect(await grants()).to.deep.equal([])
      expect(await names(JitRequest)).to.deep.equal([])
    })

    it('revoke a role that the facade assigned while the request was being deleted', async () => {
      ask(approved())
      await bench.start()
      await bench.client.remove(JitRequest.resource, { namespace: space, name: REQUEST })
      await bench.rest()
      expect(await names(JitRequest)).to.deep.equal([REQUEST])
      const name = uuidV5(`jit/${REQUEST}`)
      assign(name, { scope: SHOP, jitRequestId: REQUEST })
      await bench.clock.advance(2_000)
      await bench.rest()
      expect(await names(RoleAssignment)).to.deep.equal([])
      expect(await names(JitRequest)).to.deep.equal([])
    })

    it('do not reassign a role that was revoked by hand', async () => {
      ask(approved())
      await startWithoutFacade()
      const [name = ''] = await names(RoleAssignment)
      await bench.client.remove(RoleAssignment.resource, { namespace: space, name })
      await bench.rest()
      await bench.clock.advance(HOUR / 2)
      await bench.rest()
      expect(await grants()).to.deep.equal([])
      expect(await stateOf()).to.equal('Ended')
    })

    it('assign nothing at a recreated group', async () => {
      ask({ ...approved(), scopeIncarnation: 'before' })
      await startWithoutFacade()
      expect(await grants()).to.deep.equal([])
    })
  })
})
