import { expect } from 'chai'
import { ManualClock } from '../../../test/make/clock.ts'
import { FakeUserDirectory } from '../../adapters/identity/fake.ts'
import type { UserRecord } from '../../adapters/identity/port.ts'
import { directoryPrincipalStatus } from './directoryPrincipalStatus.ts'

const NOBODY = '22222222-2222-4222-8222-222222222222'

describe('the standing of principals of an identity provider that keeps people itself', () => {
  function open() {
    const users = new FakeUserDirectory()
    const clock = new ManualClock()
    const state = { asked: 0, find: (id: string): Promise<UserRecord | undefined> => users.find(id) }
    const find = (id: string) => {
      state.asked += 1
      return state.find(id)
    }
    return { users, clock, state, standing: directoryPrincipalStatus({ users: { find }, clock }) }
  }

  it('ends within a minute of their being disabled or deleted there, for which it is asked once a minute', async () => {
    const { users, clock, state, standing } = open()
    const [ada, bob] = [users.put({ userName: 'ada' }), users.put({ userName: 'bob' })]
    for (let time = 0; time < 3; time += 1) {
      expect(await standing.endOf(ada.id, 'User')).to.equal(undefined)
      expect(await standing.endOf(bob.id, 'User')).to.equal(undefined)
    }
    expect(state.asked).to.equal(2)
    users.put({ ...ada, isEnabled: false })
    state.find = async (id) => (id === bob.id ? undefined : users.find(id))
    await clock.advance(60_001)
    expect(await standing.endOf(ada.id, 'User')).to.equal('disabled')
    // As kubectl calls, of which the kind of principal is not known.
    expect(await standing.endOf(bob.id)).to.equal('deleted')
  })

  it('is ended for people who are not there, and not for service accounts that have no user there', async () => {
    const { standing } = open()
    expect(await standing.endOf(NOBODY, 'ServicePrincipal')).to.equal(undefined)
    expect(await open().standing.endOf(NOBODY, 'User')).to.equal('deleted')
    expect(await standing.endOf('x/../y', 'User')).to.equal(undefined)
  })

  it('is what was said last where the provider does not answer, and nobody waits for it for long', async () => {
    const { users, clock, state, standing } = open()
    const ada = users.put({ userName: 'ada', isEnabled: false })
    expect(await standing.endOf(ada.id, 'User')).to.equal('disabled')
    state.find = () => Promise.reject(new Error('It is down.'))
    await clock.advance(60_001)
    expect(await standing.endOf(ada.id, 'User')).to.equal('disabled')
    expect(await standing.endOf(NOBODY, 'User')).to.equal(undefined)
    state.find = () => new Promise(() => {})
    await clock.advance(10_001)
    const asked = Promise.all([standing.endOf(ada.id, 'User'), standing.endOf(ada.id, 'User')])
    await clock.advance(301)
    expect(await asked).to.deep.equal(['disabled', 'disabled'])
    expect(state.asked).to.equal(4)
  })
})
