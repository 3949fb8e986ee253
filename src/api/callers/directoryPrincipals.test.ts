import { expect } from 'chai'
import { ManualClock } from '../../../test/make/clock.ts'
import { FakeUserDirectory } from '../../adapters/identity/fake.ts'
import { directoryPrincipals } from './directoryPrincipals.ts'
import type { Principal, Principals } from './principals.ts'

const GROUP = '11111111-1111-4111-8111-111111111111'

describe('directoryPrincipals', () => {
  function open() {
    const users = new FakeUserDirectory()
    const clock = new ManualClock()
    let queries = 0
    const find = (id: string) => {
      queries += 1
      return users.find(id)
    }
    const group = { id: GROUP, principalType: 'Group', displayName: 'Staff', isEnabled: true } as Principal
    const recorded: Principals = {
      find: async (ids) => new Map([...ids].includes(GROUP) ? [[GROUP, group]] : []),
    }
    return { users, clock, principals: directoryPrincipals(recorded, { find }, clock), asked: () => queries }
  }

  it('finds users and service accounts of the provider and groups of the records', async () => {
    const { users, principals } = open()
    const ada = users.put({ userName: 'ada', firstName: 'Ada', lastName: 'Lovelace', tenantIds: [GROUP] })
    const pipeline = users.put({ userName: 'service-account-pipeline' })
    const found = await principals.find([ada.id, pipeline.id, GROUP, '22222222-2222-4222-8222-222222222222', 'x/../y'])
    expect(
      [...found.values()].map(({ principalType, displayName }) => `${principalType} ${displayName}`),
    ).to.have.members(['User Ada Lovelace', 'ServicePrincipal service-account-pipeline', 'Group Staff'])
    expect(found.get(ada.id)?.tenantIds).to.deep.equal([GROUP])
  })

  it('queries each id once in 10 s, missing ones too', async () => {
    const { users, principals, clock, asked } = open()
    const { id } = users.put({ userName: 'ada' })
    const missing = '22222222-2222-4222-8222-222222222222'
    for (let time = 0; time < 3; time += 1) await principals.find([id, missing])
    expect(asked()).to.equal(2)
    users.put({ id, userName: 'ada', isEnabled: false })
    await clock.advance(10_001)
    expect((await principals.find([id])).get(id)?.isEnabled).to.equal(false)
  })

  it('queries at most 10 ids at a time, each once, over all callers', async () => {
    const clock = new ManualClock()
    let [queries, now, most] = [0, 0, 0]
    const find = async () => {
      queries += 1
      now += 1
      most = Math.max(most, now)
      await new Promise(setImmediate)
      now -= 1
      return undefined
    }
    const principals = directoryPrincipals({ find: async () => new Map() }, { find }, clock)
    const ids = Array.from({ length: 100 }, (_, at) => `22222222-2222-4222-8222-${String(at).padStart(12, '0')}`)
    await Promise.all([principals.find(ids), principals.find(ids), principals.find(ids.slice(50))])
    expect(queries).to.equal(100)
    expect(most).to.be.at.most(10)
  })

  it('throws a failure of the provider, and queries again afterwards', async () => {
    const clock = new ManualClock()
    let fails = true
    const find = async () => {
      if (fails) throw new Error('away')
      return undefined
    }
    const principals = directoryPrincipals({ find: async () => new Map() }, { find }, clock)
    const ids = Array.from({ length: 30 }, (_, at) => `22222222-2222-4222-8222-${String(at).padStart(12, '0')}`)
    expect(await principals.find(ids).catch(({ message }) => message)).to.equal('away')
    fails = false
    expect((await principals.find(ids)).size).to.equal(0)
  })
})
