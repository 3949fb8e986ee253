import { expect } from 'chai'
import { ManualClock } from '../../../test/make/clock.ts'
import { FakeUserDirectory } from '../../adapters/identity/fake.ts'
import type { UserRecord } from '../../adapters/identity/port.ts'
import { directoryPrincipalStatus } from './directoryPrincipalStatus.ts'

const NOBODY = '22222222-2222-4222-8222-222222222222'

describe('directoryPrincipalStatus', () => {
  function open() {
    const users = new FakeUserDirectory()
    const clock = new ManualClock()
    const state = { queries: 0, find: (id: string): Promise<UserRecord | undefined> => users.find(id) }
    const find = (id: string) => {
      state.queries += 1
      return state.find(id)
    }
    return { users, clock, state, standing: directoryPrincipalStatus({ users: { find }, clock }) }
  }

  it('reports disabled and deleted users after a minute, with one query per user and minute', async () => {
    const { users, clock, state, standing } = open()
    const [ada, bob] = [users.put({ userName: 'ada' }), users.put({ userName: 'bob' })]
    for (let time = 0; time < 3; time += 1) {
      expect(await standing.endOf(ada.id, 'User')).to.equal(undefined)
      expect(await standing.endOf(bob.id, 'User')).to.equal(undefined)
    }
    expect(state.queries).to.equal(2)
    users.put({ ...ada, isEnabled: false })
    state.find = async (id) => (id === bob.id ? undefined : users.find(id))
    await clock.advance(60_001)
    expect(await standing.endOf(ada.id, 'User')).to.equal('disabled')
    // The type of principal is unknown for calls of kubectl.
    expect(await standing.endOf(bob.id)).to.equal('deleted')
  })

  it('reports missing users as deleted, but not missing service accounts', async () => {
    const { standing } = open()
    expect(await standing.endOf(NOBODY, 'ServicePrincipal')).to.equal(undefined)
    expect(await open().standing.endOf(NOBODY, 'User')).to.equal('deleted')
    expect(await standing.endOf('x/../y', 'User')).to.equal(undefined)
  })

  it('returns the last known status within 300 ms while the provider does not answer', async () => {
    const { users, clock, state, standing } = open()
    const ada = users.put({ userName: 'ada', isEnabled: false })
    expect(await standing.endOf(ada.id, 'User')).to.equal('disabled')
    state.find = () => Promise.reject(new Error('It is down.'))
    await clock.advance(60_001)
    expect(await standing.endOf(ada.id, 'User')).to.equal('disabled')
    expect(await standing.endOf(NOBODY, 'User')).to.equal(undefined)
    state.find = () => new Promise(() => {})
    await clock.advance(10_001)
    const statuses = Promise.all([standing.endOf(ada.id, 'User'), standing.endOf(ada.id, 'User')])
    await clock.advance(301)
    expect(await statuses).to.deep.equal(['disabled', 'disabled'])
    expect(state.queries).to.equal(4)
  })
})
