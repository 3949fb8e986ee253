import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { makeAccounts } from '../../../test/make/accounts.ts'
import { ANNA } from '../../../test/make/authorizationRecords.ts'
import { ManualClock } from '../../../test/make/clock.ts'
import { codeOf, makeFacade } from '../../../test/worlds/facade.ts'
import { PasswordReset } from '../../crds/invitations.ts'
import { AttemptLimit } from '../people/attemptLimit.ts'
import { maskedAddress } from '../people/passwordRecord.ts'
import { passwordRoutes } from './index.ts'

const PASSWORD = 'Correct-horse-7'
const EMAIL = 'anna@example.com'

function open({ mail = true } = {}) {
  const clock = new ManualClock()
  const { accounts, users, mailer } = makeAccounts({ clock, mail })
  const facade = makeFacade({}, { clock, accounts })
  users.put({ id: ANNA, userName: 'anna', email: EMAIL })
  const call = (method: string, path: string, request: object = {}) =>
    facade.call(passwordRoutes, method, path, request) as Promise<{ status: number; body: Record<string, string> }>
  const ask = (email: string, address = '192.0.2.1') =>
    call('POST', '/identity/password-reset', { body: { email }, address })
  const token = async () => {
    await ask(EMAIL)
    await accounts.outbox.whenIdle()
    await accounts.outbox.whenIdle()
    return /password-reset\/(\S+)/.exec(mailer.sent.at(-1)?.text ?? '')?.[1] ?? ''
  }
  const confirm = (link: string, password = PASSWORD) =>
    call('POST', `/identity/password-reset/${link}`, { body: { password } })
  const change = (password: string, request: object = {}) =>
    call('POST', '/identity/change-password', {
      body: { password },
      claims: { authTime: clock.now() - 1000 },
      ...request,
    })
  return { ...facade, clock, accounts, users, mailer, call, ask, token, confirm, change }
}

describe('password resets over REST', () => {
  it('answer the same before anything is looked up, whoever is asked for', async () => {
    const { ask, users, accounts, mailer, records } = open()
    let lookedUp = 0
    const find = users.findByEmail.bind(users)
    users.findByEmail = (email) => {
      lookedUp += 1
      return find(email)
    }
    const answers = [ask(EMAIL), ask('nobody@example.com'), ask(''), ask('no address')]
    expect(lookedUp).to.equal(0)
    expect(new Set((await Promise.all(answers)).map((answer) => JSON.stringify(answer))).size).to.equal(1)
    await accounts.outbox.whenIdle()
    await accounts.outbox.whenIdle()
    expect(mailer.sent.map(({ to }) => to)).to.deep.equal([EMAIL])
    const link = /password-reset\/(\S+)/.exec(mailer.sent[0]?.text ?? '')?.[1] ?? 'none'
    expect(JSON.stringify(records.peekAll(PasswordReset))).to.not.contain(link)
  })

  it('set the password once', async () => {
    const { token, confirm, users, call } = open()
    const link = await token()
    expect((await call('GET', `/identity/password-reset/${link}`)).body).to.include({ email: 'a***@example.com' })
    expect((await confirm(link)).body).to.have.property('signInUrl')
    expect(users.passwords.get(ANNA)).to.equal(PASSWORD)
    expect((await codeOf(confirm(link))).code).to.equal('not_found')
    expect((await codeOf(call('GET', `/identity/password-reset/${link}`))).code).to.equal('NOT_FOUND')
  })

  it('let one of two calls at once through', async () => {
    const { token, confirm } = open()
    const link = await token()
    const codes = await Promise.all([confirm(link), confirm(link, 'Another-horse-8')].map((each) => codeOf(each)))
    expect(codes.map(({ code }) => code).sort()).to.deep.equal(['none', 'not_found'])
  })

  const ends: [string, (world: ReturnType<typeof open>, other: string) => Promise<unknown>][] = [
    ['another link set the password', ({ confirm }, other) => confirm(other, 'Another-horse-8')],
    [
      'the person changed the password',
      ({ change, users }) => {
        users.passwords.set(ANNA, PASSWORD)
        return change('Another-horse-8')
      },
    ],
    [
      'the account was made anew under the same id and address',
      async ({ users, records }) => {
        for (const { metadata, spec } of records.peekAll(PasswordReset))
          records.put(PasswordReset, { ...metadata, creationTimestamp: '2026-01-01T00:00:00Z' }, spec)
        users.put({ id: ANNA, userName: 'anna', email: EMAIL, createdAt: Date.UTC(2026, 0, 1, 0, 0, 1) })
      },
    ],
  ]
  for (const [title, end] of ends) {
    it(`end where ${title}`, async () => {
      const world = open()
      const [link, other] = [await world.token(), await world.token()]
      await end(world, other)
      const before = world.users.passwords.get(ANNA)
      expect((await codeOf(world.confirm(link, 'Stolen-horse-9'))).code).to.equal('not_found')
      expect(world.users.passwords.get(ANNA)).to.equal(before)
    })
  }

  it('are not found once their record is gone, as after another replica used it', async () => {
    const { token, confirm, records } = open()
    const link = await token()
    const update = records.update.bind(records)
    records.update = async (kind, ref, request) => {
      if (kind.kind === PasswordReset.kind) await records.remove(kind, ref, request)
      return update(kind, ref, request)
    }
    expect((await codeOf(confirm(link))).code).to.equal('not_found')
  })

  it('keep the link where the password is not good, and say every broken rule', async () => {
    const { token, confirm } = open()
    const link = await token()
    const { code, extras } = await codeOf(confirm(link, ''))
    expect([code, (extras.violations as string[]).length]).to.deep.equal(['password_policy', 5])
    expect((await confirm(link)).status).to.equal(200)
  })

  it('end after 60 minutes', async () => {
    const { token, confirm, clock, call } = open()
    const link = await token()
    await clock.advance(3_600_000)
    for (let time = 1; time <= 2; time += 1) expect((await codeOf(confirm(link))).code).to.equal('expired')
    expect((await codeOf(call('GET', `/identity/password-reset/${link}`))).code).to.equal('NOT_FOUND')
  })

  it('are nothing for invented links, and for an address that now belongs to another person', async () => {
    const { token, confirm, users } = open()
    const link = await token()
    expect((await codeOf(confirm(`${link.slice(1)}A`))).code).to.equal('not_found')
    users.put({ id: ANNA, userName: 'anna', email: 'new@example.com' })
    expect((await codeOf(confirm(link))).code).to.equal('not_found')
  })

  it('are nothing any more for an account that signs in elsewhere by now', async () => {
    const { token, confirm, users } = open()
    const link = await token()
    const user = await users.findByEmail(EMAIL)
    if (user !== undefined) users.put({ ...user, isExternal: true })
    expect((await codeOf(confirm(link))).code).to.equal('not_found')
  })

  it('are not sent to disabled or external accounts', async () => {
    const { ask, users, accounts, mailer } = open()
    users.put({ userName: 'd', email: 'd@example.com', isEnabled: false })
    users.put({ userName: 'e', email: 'e@example.com', isExternal: true })
    await Promise.all([ask('d@example.com'), ask('e@example.com')])
    await accounts.outbox.whenIdle()
    expect(mailer.sent).to.deep.equal([])
  })

  it('go five times an hour to an address, without a word about the sixth', async () => {
    const { ask, accounts, mailer } = open()
    for (let time = 1; time <= 7; time += 1) expect((await ask(EMAIL, `192.0.2.${time}`)).status).to.equal(202)
    await accounts.outbox.whenIdle()
    await accounts.outbox.whenIdle()
    expect(mailer.sent).to.have.length(5)
  })

  it('are refused to one client after twenty in an hour', async () => {
    const { ask, clock } = open()
    for (let time = 1; time <= 20; time += 1) await ask(`a${time}@example.com`)
    const { code, extras } = await codeOf(Promise.resolve().then(() => ask('b@example.com')))
    expect([code, extras.retryAfterSeconds]).to.deep.equal(['REQUEST_FAILED', 3600])
    expect((await ask('b@example.com', '192.0.2.2')).status).to.equal(202)
    await clock.advance(3_600_000)
    expect((await ask('b@example.com')).status).to.equal(202)
  })
})

describe('changing a password', () => {
  const cases: [string, object, string][] = [
    ['a token of nobody', { caller: randomUUID() }, 'unknown_user'],
    ['a token of nobody, before its age', { caller: randomUUID(), claims: {} }, 'unknown_user'],
    ['a service account', { claims: { principalType: 'ServicePrincipal' } }, 'not_locally_authenticated'],
    ['a sign-in that is not known', { claims: {} }, 'reauth_required'],
    ['a sign-in before the password', { claims: {}, body: { password: '' } }, 'reauth_required'],
    ['a weak password', { body: { password: EMAIL } }, 'password_policy'],
  ]
  for (const [title, request, code] of cases) {
    it(`refuses ${title} with ${code}`, async () => {
      const { change, users } = open()
      users.passwords.set(ANNA, PASSWORD)
      expect((await codeOf(change('Another-horse-8', request))).code).to.equal(code)
      expect(users.passwords.get(ANNA)).to.equal(PASSWORD)
    })
  }

  it('keeps the session that made the change, and a reset keeps none', async () => {
    const { change, confirm, token, users, clock } = open()
    users.passwords.set(ANNA, PASSWORD)
    await change('Another-horse-8', { claims: { authTime: clock.now() - 1000, sessionId: 'mine' } })
    expect(users.keptSession).to.equal('mine')
    await confirm(await token(), `${PASSWORD}-2`)
    expect(users.keptSession).to.equal(undefined)
  })

  it('takes a sign-in of five minutes ago, and none a moment older', async () => {
    const { change, users, clock } = open()
    users.passwords.set(ANNA, PASSWORD)
    const at = (age: number) => ({ claims: { authTime: clock.now() - age } })
    expect((await codeOf(change('Another-horse-8', at(300_001)))).code).to.equal('reauth_required')
    expect((await change('Another-horse-8', at(300_000))).body).to.have.property('changedAt')
    expect(users.passwords.get(ANNA)).to.equal('Another-horse-8')
  })

  it('is not for accounts that sign in elsewhere', async () => {
    const { change, users } = open()
    expect((await codeOf(change(PASSWORD))).code).to.equal('not_locally_authenticated')
    users.put({ id: ANNA, userName: 'anna', isExternal: true })
    users.passwords.set(ANNA, PASSWORD)
    expect((await codeOf(change(PASSWORD))).code).to.equal('not_locally_authenticated')
  })
})

describe('limits of attempts', () => {
  it('count within a sliding window, what is refused not', async () => {
    const clock = new ManualClock()
    const limit = new AttemptLimit(2, clock, 10_000)
    expect(limit.take('a')).to.equal(undefined)
    await clock.advance(4000)
    expect(limit.take('a')).to.equal(undefined)
    expect(limit.take('a')).to.equal(6)
    expect(limit.take('b')).to.equal(undefined)
    await clock.advance(6000)
    expect(limit.take('a')).to.equal(undefined)
    expect(limit.take('a')).to.equal(4)
  })
})

describe('masked addresses', () => {
  it('show the first letter and the domain', () => {
    expect(maskedAddress('anna@example.com')).to.equal('a***@example.com')
    expect(maskedAddress('😀b@example.com')).to.equal('😀***@example.com')
  })
})
