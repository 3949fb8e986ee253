import { expect } from 'chai'
import { BOUNDARY_ID, ControllerBench } from '../../test/worlds/controllers.ts'
import { INCARNATION_ANNOTATION } from '../core/labels.ts'
import { SYSTEM_NAMESPACE } from '../core/names.ts'
import type { AnyKind } from '../crds/define.ts'
import { ServerlessFunction } from '../crds/functions.ts'
import { MemberInvitation, PasswordReset } from '../crds/invitations.ts'
import { PlatformJob } from '../crds/jobs.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import { invitationController, passwordResetController } from './invitations.ts'

const ID = '7b0c5d6e-1f2a-4b3c-8d4e-5f6a7b8c9d0e'
const HOUR = 3_600_000

describe('MemberInvitation and PasswordReset controllers', () => {
  let bench: ControllerBench
  const at = (milliseconds: number) => new Date(bench.clock.now() + milliseconds).toISOString()
  const invitation = (spec: object) => {
    const namespace = bench.seedGroup('orders').boundarySpace
    bench.seed(
      MemberInvitation,
      ID,
      {
        email: 'a@example.com',
        roleDefinitionName: 'Reader',
        scope: `/boundaries/${BOUNDARY_ID}`,
        invitedBy: ID,
        hasAccount: false,
        tokenHash: '0'.repeat(64),
        state: 'Pending',
        resendCount: 0,
        expiryAnswered: false,
        ...spec,
      },
      { namespace },
    )
    return async () => (await bench.find(MemberInvitation.resource, ID, namespace))?.spec as { state: string }
  }
  const reset = (spec: object) => {
    bench.seed(
      PasswordReset,
      ID,
      { userId: ID, email: 'a@example.com', tokenHash: '0'.repeat(64), ...spec },
      { namespace: SYSTEM_NAMESPACE },
    )
    return () => bench.find(PasswordReset.resource, ID, SYSTEM_NAMESPACE)
  }

  beforeEach(() => {
    bench = new ControllerBench([invitationController, passwordResetController])
  })
  afterEach(() => bench.stop())

  for (const state of ['Pending', 'AwaitingLogin']) {
    it(`set an invitation in state ${state} to Expired at its time and write nothing before or after`, async () => {
      const read = invitation({ state, expiresAt: at(HOUR) })
      await bench.start()
      bench.writes()
      await bench.clock.advance(HOUR - 1000)
      await bench.rest()
      expect(bench.writes()).to.deep.equal([])
      await bench.clock.advance(2000)
      await bench.rest()
      expect((await read()).state).to.equal('Expired')
      bench.writes()
      await bench.clock.advance(100 * HOUR)
      await bench.rest()
      expect(bench.writes()).to.deep.equal([])
    })
  }

  for (const state of ['Accepted', 'Revoked']) {
    it(`keep the state ${state} of an invitation past its time`, async () => {
      const read = invitation({ state, expiresAt: at(-HOUR) })
      await bench.start()
      expect((await read()).state).to.equal(state)
    })
  }

  it('expire an invitation after 4 days', async () => {
    const read = invitation({ expiresAt: at(4 * 24 * HOUR) })
    await bench.start()
    for (let day = 1; day <= 4; day += 1) {
      expect((await read()).state).to.equal('Pending')
      await bench.clock.advance(24 * HOUR)
      await bench.rest()
    }
    await bench.clock.advance(1000)
    await bench.rest()
    expect((await read()).state).to.equal('Expired')
  })

  const SHOP = `/boundaries/${BOUNDARY_ID}/resourcegroups/shop`
  const places: [title: string, scope: string, kind: AnyKind, name: string, space: 'boundarySpace' | 'groupSpace'][] = [
    ['its group', SHOP, ResourceGroup, 'shop', 'boundarySpace'],
    ['its resource', `${SHOP}/resources/jobs/report`, PlatformJob, 'report', 'groupSpace'],
    ['its function', `${SHOP}/resources/functions/web-hello`, ServerlessFunction, 'web-hello', 'groupSpace'],
  ]
  for (const [title, scope, kind, name, space] of places)
    for (const state of ['Pending', 'AwaitingLogin', 'Accepted'])
      it(`revoke an invitation in state ${state} when ${title} is deleted, unless it was accepted`, async () => {
        const ref = { namespace: bench.seedGroup('shop')[space], name }
        const annotations = { [INCARNATION_ANNOTATION]: 'first' }
        bench.seed(kind as never, name, { image: 'busybox', computePlan: 'small' }, { ...ref, annotations })
        const read = invitation({ state, scope, scopeIncarnation: 'first', expiresAt: at(HOUR) })
        await bench.start()
        expect((await read()).state).to.equal(state)
        await bench.client.remove(kind.resource, ref)
        await bench.rest()
        expect((await read()).state).to.equal(state === 'Accepted' ? state : 'Revoked')
      })

  it('revoke an invitation whose group was recreated while no controller ran', async () => {
    const annotations = { [INCARNATION_ANNOTATION]: 'second' }
    bench.seed(ResourceGroup as never, 'shop', {}, { namespace: bench.seedGroup('shop').boundarySpace, annotations })
    const read = invitation({ scope: SHOP, scopeIncarnation: 'first', expiresAt: at(HOUR) })
    await bench.start()
    expect((await read()).state).to.equal('Revoked')
  })

  it('delete a used reset', async () => {
    const find = reset({ expiresAt: at(HOUR), usedAt: at(0) })
    await bench.start()
    expect(await find()).to.equal(undefined)
  })

  it('delete a reset a day after it expired', async () => {
    const find = reset({ expiresAt: at(HOUR) })
    await bench.start()
    await bench.clock.advance(24 * HOUR)
    await bench.rest()
    expect(await find()).to.not.equal(undefined)
    await bench.clock.advance(HOUR + 1000)
    await bench.rest()
    expect(await find()).to.equal(undefined)
  })
})
