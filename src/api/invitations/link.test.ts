import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { B1, BERT } from '../../../test/make/authorizationRecords.ts'
import { codeOf } from '../../../test/worlds/facade.ts'
import {
  BOUNDARY,
  CARL,
  invitationsWorld as open,
  PASSWORD,
  PATH,
  person,
  TENANT,
} from '../../../test/worlds/invitations.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { MemberInvitation } from '../../crds/invitations.ts'
import { PlatformTenant } from '../../crds/rbac.ts'
import { invitationPages } from './pages.ts'

describe('the link of an invitation', () => {
  it('creates an account, then grants the role once', async () => {
    const { invite, tokenOf, setPassword, accept, users, assignments, call } = open()
    const made = await invite()
    const token = tokenOf(made)
    const shown = (await call('GET', `/invitations/${token}`)).body
    expect(shown).to.include({ email: CARL, requiresPassword: true, hasAccount: false })
    for (let time = 1; time <= 2; time += 1)
      expect((await setPassword(token)).body).to.include({ status: 'AwaitingLogin', email: CARL })
    const [user] = [...users.users.values()]
    if (user === undefined) throw new Error('There is no account.')
    expect(user).to.include({ email: CARL, emailVerified: true, firstName: 'Carl' })
    const { body } = await accept(token, user.id)
    const [assignment] = assignments()
    expect(assignment?.metadata.name).to.equal(body.assignmentId)
    expect(assignment?.spec).to.include({ principalId: user.id, roleDefinitionName: 'Reader', scope: B1 })
    expect((await codeOf(accept(token, user.id))).code).to.equal('invalid_state')
    expect((await codeOf(call('GET', `/invitations/${token}`))).code).to.equal('NOT_FOUND')
  })

  it('completes set-password after a crash, with one account', async () => {
    const { invite, tokenOf, setPassword, users, records } = open()
    const token = tokenOf(await invite())
    const update = records.update.bind(records)
    records.update = async () => {
      records.update = update
      throw new Error('killed')
    }
    await setPassword(token).catch(() => {})
    expect(users.users.size).to.equal(1)
    expect((await setPassword(token)).body).to.include({ status: 'AwaitingLogin' })
    expect(users.users.size).to.equal(1)
  })

  it('creates one account with the first of two concurrent passwords', async () => {
    const { invite, tokenOf, setPassword, users } = open()
    const token = tokenOf(await invite())
    const other = { ...person, password: 'Another-horse-7' }
    const answers = await Promise.all([setPassword(token), setPassword(token, other)])
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200])
    expect([...users.passwords.values()]).to.deep.equal([PASSWORD])
  })

  it('shows the welcome page to both of two concurrent submissions', async () => {
    const { invite, tokenOf, services, assignments } = open()
    const token = tokenOf(await invite())
    const given = new Map(Object.entries(person))
    const fields = (name: string) => given.get(name) ?? ''
    const browser = { address: '::1', search: '', cookie: () => undefined, setCookie: () => {} }
    const pages = await Promise.all([1, 2].map(() => invitationPages.submit(services, token, fields, browser)))
    expect(pages.map(({ html }) => html.includes('Welcome'))).to.deep.equal([true, true])
    expect(assignments()).to.have.length(1)
  })

  it('accepts names of the maxlength of its page', async () => {
    const { invite, tokenOf, services } = open()
    const token = tokenOf(await invite())
    const browser = { address: '::1', search: '', cookie: () => undefined, setCookie: () => {} }
    const { html } = await invitationPages.show(services, token, browser)
    const longest = (name: string) => Number(new RegExp(`id="${name}"[^>]*maxlength="(\\d+)"`).exec(html)?.[1])
    const fields = (name: string) => (name.endsWith('Name') ? 'x'.repeat(longest(name)) : (given.get(name) ?? ''))
    const given = new Map(Object.entries(person))
    expect((await invitationPages.submit(services, token, fields, browser)).html).to.include('Welcome')
  })

  it('grants nothing if the tenant is removed meanwhile', async () => {
    const { invite, tokenOf, accept, users, records, assignments } = open()
    const { id } = users.put({ userName: 'carl', email: CARL })
    const token = tokenOf(await invite())
    records.exclusively = async (key, work) => {
      if (key.endsWith(TENANT)) await records.remove(PlatformTenant, { name: TENANT }, {} as never)
      return work()
    }
    expect((await codeOf(accept(token, id))).code).to.equal('invalid_state')
    expect([assignments(), users.users.get(id)?.tenantIds]).to.deep.equal([[], []])
  })

  it('completes accept after a crash, with one assignment', async () => {
    const { invite, tokenOf, accept, users, records, assignments } = open()
    const { id } = users.put({ userName: 'carl', email: CARL })
    const token = tokenOf(await invite())
    const update = records.update.bind(records)
    records.update = async () => {
      records.update = update
      throw new Error('killed')
    }
    await accept(token, id).catch(() => {})
    await accept(token, id)
    expect(assignments()).to.have.length(1)
  })

  it('grants the role once for four concurrent accepts', async () => {
    const { invite, tokenOf, accept, users, records, assignments } = open()
    const { id } = users.put({ userName: 'carl', email: CARL })
    const token = tokenOf(await invite())
    // Like replicas: each reads the invitation before one writes it.
    const update = records.update.bind(records)
    records.update = (async (...given: Parameters<typeof update>) => {
      for (let turn = 0; turn < 4; turn += 1) await setImmediate()
      return update(...given)
    }) as typeof records.update
    const codes = await Promise.all([1, 2, 3, 4].map(async () => (await codeOf(accept(token, id))).code))
    expect(codes.sort()).to.deep.equal([...Array(3).fill('invalid_state'), 'none'])
    expect(assignments()).to.have.length(1)
  })

  it('grants nothing if it is revoked during accept', async () => {
    const { invite, tokenOf, accept, users, records, assignments, call } = open()
    const { id: userId } = users.put({ userName: 'carl', email: CARL })
    const made = await invite()
    const create = records.create.bind(records)
    records.create = (async (...given: Parameters<typeof create>) => {
      const answer = await create(...given)
      records.create = create
      const ref = { name: made.id, namespace: boundaryNamespace(BOUNDARY) }
      const stored = records.peek(MemberInvitation, ref)
      if (stored !== undefined) records.put(MemberInvitation, stored.metadata, { ...stored.spec, state: 'Revoked' })
      return answer
    }) as typeof records.create
    expect((await codeOf(accept(tokenOf(made), userId))).code).to.equal('invalid_state')
    expect(assignments()).to.deep.equal([])
    expect((await codeOf(call('DELETE', `${PATH}/${made.id}`))).code).to.equal('already_revoked')
  })

  it('returns not_found if it is removed during set-password, resend, revoke or accept', async () => {
    const { invite, tokenOf, setPassword, accept, call, users, records, clock } = open()
    const update = records.update.bind(records)
    const removed = async (
      ask: (token: string, id: string) => Promise<unknown>,
      before?: (token: string) => Promise<unknown>,
    ) => {
      const made = await invite()
      await before?.(tokenOf(made))
      records.update = async (kind, ref, request) => {
        if (kind.kind === MemberInvitation.kind) await records.remove(kind, ref, request)
        return update(kind, ref, request)
      }
      const { code } = await codeOf(ask(tokenOf(made), made.id))
      records.update = update
      return code
    }
    expect(await removed((token) => setPassword(token))).to.equal('not_found')
    expect(await removed((_token, id) => call('POST', `${PATH}/${id}/resend`))).to.equal('not_found')
    expect(await removed((_token, id) => call('DELETE', `${PATH}/${id}`))).to.equal('not_found')
    const [user] = [...users.users.values()].filter(({ email }) => email === CARL)
    expect(await removed((token) => accept(token, user?.id ?? ''))).to.equal('not_found')
    const late = async () => clock.advance(8 * 86_400_000)
    expect(await removed((token) => accept(token, user?.id ?? ''), late)).to.equal('not_found')
  })

  it('returns email_mismatch for another account', async () => {
    const { invite, tokenOf, accept, users } = open()
    users.put({ userName: 'carl', email: CARL })
    users.put({ id: BERT, userName: 'bert', email: 'bert@example.com' })
    const token = tokenOf(await invite())
    expect((await codeOf(accept(token, BERT))).code).to.equal('email_mismatch')
    const service = { principalType: 'ServicePrincipal' }
    expect((await codeOf(accept(token, BERT, service))).code).to.equal('email_mismatch')
  })

  it('checks for a verified address before the token', async () => {
    const { accept, users } = open()
    users.put({ id: BERT, userName: 'bert', email: CARL, emailVerified: false })
    expect((await codeOf(accept('nonsense', BERT))).code).to.equal('email_not_verified')
    users.put({ id: BERT, userName: 'bert', email: CARL })
    expect((await codeOf(accept('nonsense', BERT))).code).to.equal('not_found')
  })

  it('accepts the verified email of the token for an external account', async () => {
    const { invite, tokenOf, accept, users } = open()
    users.put({ userName: 'carl', email: CARL })
    const token = tokenOf(await invite())
    expect((await accept(token, BERT, { email: 'Carl@Example.com' })).status).to.equal(200)
  })

  it('creates no account for an address that has one', async () => {
    const { invite, tokenOf, setPassword, users, call } = open()
    const made = await invite()
    users.put({ userName: 'carl', email: CARL })
    expect((await codeOf(setPassword(tokenOf(made)))).code).to.equal('user_already_exists')
    await call('DELETE', `${PATH}/${made.id}`)
    expect((await codeOf(setPassword(tokenOf(await invite())))).code).to.equal('invalid_state')
  })

  it('returns password_policy for a weak password and creates no account', async () => {
    const { invite, tokenOf, setPassword, users } = open()
    const token = tokenOf(await invite())
    for (const password of ['', 'short', `${PASSWORD}${CARL}`])
      expect((await codeOf(setPassword(token, { ...person, password }))).code).to.equal('password_policy')
    expect(users.users.size).to.equal(0)
  })

  it('returns expired once, then invalid_state', async () => {
    const { invite, tokenOf, setPassword, clock, call } = open()
    const token = tokenOf(await invite({ expiresInDays: 1 }))
    await clock.advance(86_400_000)
    expect((await codeOf(call('GET', `/invitations/${token}`))).code).to.equal('NOT_FOUND')
    expect((await codeOf(setPassword(token))).code).to.equal('expired')
    expect((await codeOf(setPassword(token))).code).to.equal('invalid_state')
  })

  it('returns not_found for a changed token', async () => {
    const { invite, tokenOf, setPassword } = open()
    const token = tokenOf(await invite())
    const last = token.endsWith('A') ? 'B' : 'A'
    for (const wrong of [token.slice(1), token.toLowerCase(), `${token.slice(0, -9)}${last.repeat(8)}${token.at(-1)}`])
      expect((await codeOf(setPassword(wrong))).code, wrong).to.equal('not_found')
  })
})
