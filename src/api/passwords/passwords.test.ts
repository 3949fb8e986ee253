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

describe('password resets', () => {
  it('answer equally before any lookup, for known and unknown addresses', async () => {
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

  it('succeed for one of two concurrent calls', async () => {
    const { token, confirm } = open()
    const link = await token()
    const codes = await Promise.all([confirm(link), confirm(link, 'Another-horse-8')].map((each) => codeOf(each)))
    expect(codes.map(({ code }) => code).sort()).to.deep.equal(['none', 'not_found'])
  })

  const causes: [string, (world: ReturnType<typeof open>, other: string) => Promise<unknown>][] = [
    ['another link set the password', ({ confirm }, other) => confirm(other, 'Another-horse-8')],
    [
      'the user changed the password',
      ({ change, users }) => {
        users.passwords.set(ANNA, PASSWORD)
        return change('Another-horse-8')
      },
    ],
    [
      'the account was created again with the same id and address',
      async ({ users, records }) => {
        for (const { metadata, spec } of records.peekAll(PasswordReset))
          records.put(PasswordReset, { ...metadata, creationTimestamp: '2026-01-01T00:00:00Z' }, spec)
        users.put({ id: ANNA, userName: 'anna', email: EMAIL, createdAt: Date.UTC(2026, 0, 1, 0, 0, 1) })
      },
    ],
  ]
  for (const [title, cause] of causes) {
    it(`return not_found if ${title}`, async () => {
      const world = open()
      const [link, other] = [await world.token(), await world.token()]
      await cause(world, other)
      const before = world.users.passwords.get(ANNA)
      expect((await codeOf(world.confirm(link, 'Stolen-horse-9'))).code).to.equal('not_found')
      expect(world.users.passwords.get(ANNA)).to.equal(before)
    })
  }

  it('return not_found if another replica used the link meanwhile', async () => {
    const { token, confirm, records } = open()
    const link = await token()
    const update = records.update.bind(records)
    records.update = async (kind, ref, request) => {
      if (kind.kind === PasswordReset.kind) await records.remove(kind, ref, request)
      return update(kind, ref, request)
    }
    expect((await codeOf(confirm(link))).code).to.equal('not_found')
  })

  it('return all violated password rules and keep the link valid', async () => {
    const { token, confirm } = open()
    const link = await token()
    const { code, extras } = await codeOf(confirm(link, ''))
    expect([code, (extras.violations as string[]).length]).to.deep.equal(['password_policy', 5])
    expect((await confirm(link)).status).to.equal(200)
  })

  it('return expired after 60 minutes', async () => {
    const { token, confirm, clock, call } = open()
    const link = await token()
    await clock.advance(3_600_000)
    for (let time = 1; time <= 2; time += 1) expect((await codeOf(confirm(link))).code).to.equal('expired')
    expect((await codeOf(call('GET', `/identity/password-reset/${link}`))).code).to.equal('NOT_FOUND')
  })

  it('return not_found for an invented link and a changed address', async () => {
    const { token, confirm, users } = open()
    const link = await token()
    expect((await codeOf(confirm(`${link.slice(1)}A`))).code).to.equal('not_found')
    users.put({ id: ANNA, userName: 'anna', email: 'new@example.com' })
    expect((await codeOf(confirm(link))).code).to.equal('not_found')
  })

  it('return not_found for an account that has become external', async () => {
    const { token, confirm, users } = open()
    const link = await token()
    const user = await users.findByEmail(EMAIL)
    if (user !== undefined) users.put({ ...user, isExternal: true })
    expect((await codeOf(confirm(link))).code).to.equal('not_found')
  })

  it('send no mail to disabled and external accounts', async () => {
    const { ask, users, accounts, mailer } = open()
    users.put({ userName: 'd', email: 'd@example.com', isEnabled: false })
    users.put({ userName: 'e', email: 'e@example.com', isExternal: true })
    await Promise.all([ask('d@example.com'), ask('e@example.com')])
    await accounts.outbox.whenIdle()
    expect(mailer.sent).to.deep.equal([])
  })

  it('send at most 5 mails an hour to an address, and always answer 202', async () => {
    const { ask, accounts, mailer } = open()
    for (let time = 1; time <= 7; time += 1) expect((await ask(EMAIL, `192.0.2.${time}`)).status).to.equal(202)
    await accounts.outbox.whenIdle()
    await accounts.outbox.whenIdle()
    expect(mailer.sent).to.have.length(5)
  })

  it('reject more than 20 requests an hour of one client address', async () => {
    const { ask, clock } = open()
    for (let time = 1; time <= 20; time += 1) await ask(`a${time}@example.com`)
    const { code, extras } = await codeOf(Promise.resolve().then(() => ask('b@example.com')))
    expect([code, extras.retryAfterSeconds]).to.deep.equal(['REQUEST_FAILED', 3600])
    expect((await ask('b@example.com', '192.0.2.2')).status).to.equal(202)
    await clock.advance(3_600_000)
    expect((await ask('b@example.com')).status).to.equal(202)
  })
})

describe('POST /identity/change-password', () => {
  const cases: [string, object, string][] = [
    ['an unknown user', { caller: randomUUID() }, 'unknown_user'],
    ['an unknown user without authTime', { caller: randomUUID(), claims: {} }, 'unknown_user'],
    ['a service account', { claims: { principalType: 'ServicePrincipal' } }, 'not_locally_authenticated'],
    ['a token without authTime', { claims: {} }, 'reauth_required'],
    ['a token without authTime before a weak password', { claims: {}, body: { password: '' } }, 'reauth_required'],
    ['a weak password', { body: { password: EMAIL } }, 'password_policy'],
  ]
  for (const [title, request, code] of cases) {
    it(`rejects ${title} with ${code}`, async () => {
      const { change, users } = open()
      users.passwords.set(ANNA, PASSWORD)
      expect((await codeOf(change('Another-horse-8', request))).code).to.equal(code)
      expect(users.passwords.get(ANNA)).to.equal(PASSWORD)
    })
  }

  it('keeps the current session, unlike a reset', async () => {
    const { change, confirm, token, users, clock } = open()
    users.passwords.set(ANNA, PASSWORD)
    await change('Another-horse-8', { claims: { authTime: clock.now() - 1000, sessionId: 'mine' } })
    expect(users.keptSession).to.equal('mine')
    await confirm(await token(), `${PASSWORD}-2`)
    expect(users.keptSession).to.equal(undefined)
  })

  it('accepts a sign-in of 5 minutes ago, and no older one', async () => {
    const { change, users, clock } = open()
    users.passwords.set(ANNA, PASSWORD)
    const at = (age: number) => ({ claims: { authTime: clock.now() - age } })
    expect((await codeOf(change('Another-horse-8', at(300_001)))).code).to.equal('reauth_required')
    expect((await change('Another-horse-8', at(300_000))).body).to.have.property('changedAt')
    expect(users.passwords.get(ANNA)).to.equal('Another-horse-8')
  })

  it('rejects accounts without a local password', async () => {
    const { change, users } = open()
    expect((await codeOf(change(PASSWORD))).code).to.equal('not_locally_authenticated')
    users.put({ id: ANNA, userName: 'anna', isExternal: true })
    users.passwords.set(ANNA, PASSWORD)
    expect((await codeOf(change(PASSWORD))).code).to.equal('not_locally_authenticated')
  })
})

describe('AttemptLimit', () => {
  it('counts accepted attempts in a sliding window', async () => {
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

describe('maskedAddress', () => {
  it('keeps the first letter and the domain', () => {
    expect(maskedAddress('anna@example.com')).to.equal('a***@example.com')
    expect(maskedAddress('😀b@example.com')).to.equal('😀***@example.com')
  })
})
