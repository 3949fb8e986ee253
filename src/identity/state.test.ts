import { expect } from 'chai'
import { ManualClock, settle } from '../../test/make/clock.ts'
import { silentLog } from '../core/log.ts'
import { secret } from '../kube/builtin.ts'
import { FakeKubeClient } from '../kube/fake.ts'
import { type StateRecord, secretStateStore, sessionIdOf, stateName } from './state.ts'
import { type RequestSession, stateAdapter, tokenIdOf } from './stateAdapter.ts'
import { createSweeper } from './sweeper.ts'

const record = (id: string, expiresAt: number, more: Partial<StateRecord> = {}): StateRecord => ({
  name: stateName('Session', id),
  entries: { value: { exp: expiresAt } },
  expiresAt,
  ...more,
})

const pending = { begin: () => {}, end: () => {} }

describe('secretStateStore', () => {
  let kube: FakeKubeClient
  beforeEach(() => {
    kube = new FakeKubeClient()
  })
  const left = async () => (await kube.list(secret)).items.map(({ metadata }) => metadata.name)

  it('reads a record by its name and its index', async () => {
    const store = secretStateStore(kube)
    const written = record('a', 2_000_000_000, { index: 'session-1', userId: 'u' })
    await store.write(written)
    expect(await store.read(written.name)).to.deep.equal(written)
    expect(await store.findByIndex('session-1')).to.deep.equal(written)
    expect(await store.findByIndex('session-2')).to.equal(undefined)
    expect(await store.read(stateName('Session', 'b'))).to.equal(undefined)
  })

  it('keeps all of three concurrent changes', async () => {
    const [one, other] = [secretStateStore(kube), secretStateStore(kube)]
    await one.write(record('a', 2_000_000_000))
    const name = stateName('Session', 'a')
    const add = (key: string) => (found: StateRecord) => ({ ...found, entries: { ...found.entries, [key]: {} } })
    await Promise.all([one.change(name, add('x')), other.change(name, add('y')), one.change(name, add('z'))])
    expect(Object.keys((await one.read(name))?.entries ?? {})).to.have.members(['value', 'x', 'y', 'z'])
  })

  describe('with sessions of oidc-provider', () => {
    const session = { uid: 'u1', accountId: 'u', loginTs: 1 }
    let store: ReturnType<typeof secretStateStore>
    let current: RequestSession | undefined
    const sessions = () => {
      const adapter = stateAdapter('Session', {
        state: store,
        pending,
        revokesOne: () => false,
        session: () => current,
      })
      if (adapter === undefined) throw new Error('sessions are stored')
      return adapter
    }
    /** What oidc-provider does with a session that a request found; `after` may end it meanwhile. */
    const request = async (after: () => Promise<void>, oldId?: string) => {
      const adapter = sessions()
      current = undefined
      await adapter.upsert('a', session, 600)
      const found = await adapter.find('a')
      await after()
      current = { iat: 1, oldId }
      if (oldId !== undefined) await adapter.destroy(oldId)
      await adapter.upsert(oldId === undefined ? 'a' : 'b', { ...found, amr: ['pwd'] }, 600)
    }
    beforeEach(() => {
      store = secretStateStore(kube)
    })

    for (const oldId of [undefined, 'a']) {
      const title = oldId === undefined ? 'with its id' : 'with another id'
      it(`does not store a session ${title} that ended during the request`, async () => {
        await request(() => store.removeOf('u'), oldId)
        expect(await left()).to.deep.equal([])
      })

      it(`stores a session ${title} that the request found`, async () => {
        await request(async () => {}, oldId)
        const id = oldId === undefined ? 'a' : 'b'
        expect(await left()).to.deep.equal([stateName('Session', id)])
        await sessions().upsert(id, { ...session, amr: ['otp'] }, 600)
        expect((await sessions().find(id))?.amr, 'once more in the request').to.deep.equal(['otp'])
      })
    }
  })

  for (const [sentence, lifetime, found] of [
    ['ends a grant when a refresh token is shown that was used long ago', 600, undefined],
    ['keeps a grant when an expired refresh token is shown, which may be unused', 0, 'ann'],
  ] as const)
    it(sentence, async () => {
      const options = { state: secretStateStore(kube), pending, revokesOne: () => false, session: () => undefined }
      const [grants, tokens] = [stateAdapter('Grant', options), stateAdapter('RefreshToken', options)]
      await grants?.upsert('grant', { accountId: 'ann' }, 600)
      await tokens?.upsert(tokenIdOf('grant', 600), { grantId: 'grant' }, 600)
      expect(await tokens?.find(tokenIdOf('grant', lifetime))).to.equal(undefined)
      expect((await grants?.find('grant'))?.accountId).to.equal(found)
    })

  it('returns a taken record to one of three concurrent callers', async () => {
    const [one, other] = [secretStateStore(kube), secretStateStore(kube)]
    const written = record('a', 2_000_000_000)
    await one.write(written)
    const taken = await Promise.all([one.take(written.name), other.take(written.name), one.take(written.name)])
    expect(taken.filter((found) => found !== undefined)).to.deep.equal([written])
    expect(await left()).to.deep.equal([])
  })

  it('keeps the newest hundred sign-ins and grants of a user, and all of others', async () => {
    let clock = Date.UTC(2026, 0, 1)
    const timed = new FakeKubeClient({ now: () => (clock += 1_000) })
    const store = secretStateStore(timed)
    const options = { state: store, pending, revokesOne: () => false, session: () => undefined }
    const [sessions, grants] = [stateAdapter('Session', options), stateAdapter('Grant', options)]
    await sessions?.upsert('other', { uid: 'o', accountId: 'someone-else' }, 600)
    for (let at = 0; at < 70; at += 1) {
      await sessions?.upsert(`session-${at}`, { uid: `u${at}`, accountId: 'u' }, 600)
      await grants?.upsert(`grant-${at}`, { accountId: 'u' }, 6_000)
    }
    expect((await timed.list(secret)).items).to.have.length(101)
    const known = async (at: number) => (await sessions?.find(`session-${at}`)) !== undefined
    expect([await known(0), await known(19), await known(20), await known(69)]).to.deep.equal([
      false,
      false,
      true,
      true,
    ])
    expect(await sessions?.find('other')).not.to.equal(undefined)
  })

  it('removes the records of one user only', async () => {
    const store = secretStateStore(kube)
    await store.write(record('a', 2_000_000_000, { userId: 'u' }))
    await store.write(record('b', 2_000_000_000, { userId: 'v' }))
    await store.removeOf('u')
    expect(await left()).to.deep.equal([stateName('Session', 'b')])
  })

  it('removes the records of a user except one grant and its session', async () => {
    const store = secretStateStore(kube)
    const grant = (id: string) => ({ ...record(id, 2_000_000_000, { userId: 'u' }), name: stateName('Grant', id) })
    const session = (id: string, grantId: string) =>
      record(id, 2_000_000_000, {
        userId: 'u',
        entries: { value: { authorizations: { 'freehold-cli': { grantId } } } },
      })
    for (const one of [grant('kept'), grant('other'), session('a', 'kept'), session('b', 'other')])
      await store.write(one)
    await store.removeOf('u', sessionIdOf('kept'))
    expect(await left()).to.have.members([stateName('Grant', 'kept'), stateName('Session', 'a')])
  })

  it('removes expired records, and has no timer without records', async () => {
    const clock = new ManualClock()
    const seconds = () => Math.floor(clock.now() / 1000)
    const store = secretStateStore(kube, (expiresAt) => sweeper.expects(expiresAt))
    const sweeper = createSweeper({ clock, log: silentLog, store: () => store })
    await clock.advance(0)
    await settle()
    expect(clock.pending, 'nothing to wait for').to.equal(0)
    await store.write(record('a', seconds() + 600))
    await store.write(record('b', seconds() + 3_600))
    await clock.advance(700_000)
    await settle()
    expect(await left()).to.deep.equal([stateName('Session', 'b')])
    await clock.advance(3_600_000)
    await settle()
    expect(await left()).to.deep.equal([])
    expect(clock.pending).to.equal(0)
    sweeper.stop()
  })

  it('removes expired records a minute after a failure', async () => {
    const clock = new ManualClock()
    const store = secretStateStore(kube)
    kube.fail('list', secret, 'Unavailable')
    await store.write(record('a', Math.floor(clock.now() / 1000) - 1))
    const sweeper = createSweeper({ clock, log: silentLog, store: () => store })
    await clock.advance(0)
    await settle()
    expect(await left()).to.have.length(1)
    await clock.advance(60_000)
    await settle()
    expect(await left()).to.deep.equal([])
    sweeper.stop()
  })
})
