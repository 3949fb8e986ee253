import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { makeAccounts } from '../../../test/make/accounts.ts'
import { ANNA, assign, B1, BERT, deny, type Given } from '../../../test/make/authorizationRecords.ts'
import { ManualClock } from '../../../test/make/clock.ts'
import { codeOf, makeFacade } from '../../../test/worlds/facade.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { PlatformUser } from '../../crds/identity.ts'
import { MemberInvitation } from '../../crds/invitations.ts'
import { PlatformTenant, RoleAssignment, RoleDefinition } from '../../crds/rbac.ts'
import { BUILT_IN_ROLES } from '../../iam/roles.ts'
import { invitationRoutes } from './index.ts'
import { invitationPages } from './pages.ts'

const BOUNDARY = B1.slice('/boundaries/'.length)
const TENANT = '55555555-5555-4555-8555-555555555555'
const PATH = `${B1}/providers/authorization/invitations`
const PASSWORD = 'Correct-horse-7'
const CARL = 'carl@example.com'
const person = { password: PASSWORD, firstName: 'Carl', lastName: 'Cramer' }

type Shown = { id: string; status: string; link: string | null; canResend: boolean; nextResendAt: string | null }

function open(
  given: Given = { assignments: [assign('Owner', B1)] },
  { mail = false, tenantId = TENANT as string | null } = {},
) {
  const clock = new ManualClock()
  const { accounts, users, mailer } = makeAccounts({ clock, mail })
  const facade = makeFacade({ roles: [...BUILT_IN_ROLES], ...given }, { clock, accounts })
  facade.records.put(PlatformTenant, { name: TENANT }, { displayName: 'Acme' })
  facade.boundary(BOUNDARY, tenantId === null ? {} : { tenantId })
  for (const [name, userName] of [
    [ANNA, 'anna'],
    [BERT, 'bert'],
  ] as const)
    facade.records.put(PlatformUser, { namespace: SYSTEM_NAMESPACE, name }, { userName })
  for (const { name, ...spec } of BUILT_IN_ROLES) facade.records.put(RoleDefinition, { name }, spec)
  const call = (method: string, path: string, request: object = {}) =>
    facade.call(invitationRoutes, method, path, request) as Promise<{
      status: number
      headers: Record<string, string>
      body: Shown & Record<string, string>
    }>
  const invite = async (body: object = {}) =>
    (await call('POST', PATH, { body: { email: CARL, roleDefinitionName: 'Reader', ...body } })).body
  const refusal = async (body: object) => (await codeOf(invite(body))).code
  const tokenOf = ({ link }: Shown) => link?.split('/').at(-1) ?? ''
  const setPassword = (token: string, body: object = person) =>
    call('POST', `/invitations/${token}/set-password`, { body })
  const accept = (token: string, userId: string, claims: object = {}) =>
    call('POST', '/invitations/accept', { body: { token }, caller: userId, claims })
  const assignments = () => facade.records.peekAll(RoleAssignment)
  return { ...facade, clock, accounts, users, mailer, call, invite, refusal, tokenOf, setPassword, accept, assignments }
}

describe('invitations over REST', () => {
  describe('create', () => {
    it('holds a deny at a group against an invitation to it', async () => {
      const group = `${B1}/resourcegroups/shop`
      const denies = [deny(group, ['boundaries/invitations/*'])]
      const { refusal } = open({ assignments: [assign('Owner', B1)], denies })
      expect(await refusal({ scope: group })).to.equal('forbidden')
    })

    it('answers 201 with the link if no mail is configured, and stores only its hash', async () => {
      const { invite, records } = open()
      const made = await invite()
      expect(made).to.include({ status: 'Pending', canResend: true, nextResendAt: null })
      expect(made.link).to.match(/^https:\/\/cloud\.example\.test\/invitations\/[\w-]{86}$/)
      const stored = JSON.stringify(records.peekAll(MemberInvitation))
      expect(stored).to.not.contain(made.link?.split('/').at(-1))
    })

    it('names the version of what it answers, made or sent again', async () => {
      const { call } = open()
      const made = await call('POST', PATH, { body: { email: CARL, roleDefinitionName: 'Reader' } })
      const again = await call('POST', `${PATH}/${made.body.id}/resend`)
      for (const { headers } of [made, again]) expect(headers.etag).to.match(/^"\d+-\d+-\w+"$/)
    })

    it('sends the link by mail and shows it to nobody where mail is configured', async () => {
      const { invite, mailer, accounts } = open(undefined, { mail: true })
      expect((await invite({ message: 'Hi\nthere', firstName: 'Carl' })).link).to.equal(null)
      await accounts.outbox.whenIdle()
      const [mail] = mailer.sent
      expect(mail?.to).to.equal(CARL)
      expect(mail?.text).to.contain('> there').and.to.contain('https://cloud.example.test/invitations/')
    })

    const cases: [string, object, string][] = [
      ['an empty e-mail', { email: '  ' }, 'invalid_state'],
      ['an invalid e-mail address', { email: 'carl' }, 'BAD_REQUEST'],
      ['an unknown role', { roleDefinitionName: 'Emperor' }, 'unknown_role'],
      ['a role in other letters', { roleDefinitionName: 'reader' }, 'unknown_role'],
      ['an invalid scope', { scope: `${B1}/` }, 'invalid_state'],
      ['the root for a role of boundaries', { scope: '/' }, 'invalid_state'],
      ['another boundary', { scope: `/boundaries/${TENANT}` }, 'invalid_state'],
      ['a group that is not there', { scope: `${B1}/resourcegroups/none` }, 'invalid_state'],
      ['a root role at the boundary', { roleDefinitionName: 'Platform Reader' }, 'invalid_state'],
      [
        'a root role from a caller who is not an Owner there',
        { roleDefinitionName: 'Platform Reader', scope: '/' },
        'forbidden',
      ],
      ['the e-mail before the role', { email: '', roleDefinitionName: 'Emperor' }, 'invalid_state'],
    ]
    for (const [title, body, code] of cases) {
      it(`refuses ${title} with ${code}`, async () => expect(await open().refusal(body)).to.equal(code))
    }

    it('looks for the tenant after the role and before the scope', async () => {
      const { refusal } = open(undefined, { tenantId: null })
      expect(await refusal({ roleDefinitionName: 'Emperor' })).to.equal('unknown_role')
      expect(await refusal({ scope: '/' })).to.equal('tenant_resolution_failed')
    })

    it('refuses a role that holds more than the caller, and says what', async () => {
      const { invite } = open({ assignments: [assign('Contributor', B1)] })
      const { code, extras } = await codeOf(invite({ roleDefinitionName: 'Owner' }))
      expect(code).to.equal('forbidden')
      expect(extras.actions)
        .to.include.members(['rbac/members/write', 'secretvault/readSecrets'])
        .and.not.include('vectorcluster/write')
    })

    it('lets a Platform Owner give any role to others, not to themselves', async () => {
      const { invite, refusal, users, records } = open({ assignments: [assign('Platform Owner', '/')] })
      const spec = { principalId: ANNA, principalType: 'User', roleDefinitionName: 'Platform Owner', scope: '/' }
      records.put(RoleAssignment, { name: 'root', namespace: SYSTEM_NAMESPACE }, spec)
      users.put({ id: ANNA, userName: 'anna', email: 'anna@example.com' })
      expect(await invite({ roleDefinitionName: 'Owner' })).to.include({ status: 'Pending' })
      expect(await refusal({ roleDefinitionName: 'Owner', email: 'anna@example.com' })).to.equal('forbidden')
      expect(await refusal({ roleDefinitionName: 'Platform Reader', scope: '/', email: 'd@example.com' })).to.equal(
        'none',
      )
    })

    it('refuses a second open invitation of the address, whatever its case, role or scope', async () => {
      const { invite, refusal, call } = open()
      const { id } = await invite()
      expect(await refusal({ email: 'CARL@Example.com', roleDefinitionName: 'Contributor' })).to.equal(
        'duplicate_pending',
      )
      await call('DELETE', `${PATH}/${id}`)
      expect(await refusal({})).to.equal('none')
    })

    it('lets one of six at once through, and again once that one is revoked', async () => {
      const { refusal, call, records } = open()
      const six = ['carl', 'Carl', 'CARL', 'cArl', 'caRl', 'carL'].map((name) => ({ email: `${name}@example.com` }))
      // As over replicas: all have sent a call before one is answered, and have their answers before the next call.
      const others = async () => {
        for (let turn = 0; turn < six.length; turn += 1) await setImmediate()
      }
      const together =
        <Given extends unknown[], Result>(call: (...given: Given) => Promise<Result>) =>
        async (...given: Given) => {
          await others()
          return call(...given).finally(others)
        }
      records.create = together(records.create.bind(records)) as typeof records.create
      records.list = together(records.list.bind(records)) as typeof records.list
      for (const round of [1, 2]) {
        const codes = await Promise.all(six.map(refusal))
        expect(codes.sort()).to.deep.equal([...Array(5).fill('duplicate_pending'), 'none'])
        const made = records.peekAll(MemberInvitation)
        expect(made).to.have.length(round)
        const pending = made.find(({ spec }) => spec.state === 'Pending')
        await call('DELETE', `${PATH}/${pending?.metadata.name}`)
      }
    })

    it('refuses one that another replica made a moment before', async () => {
      const { invite, records } = open()
      const list = records.list.bind(records)
      records.list = (async (...given: Parameters<typeof list>) => {
        // As if another replica had been faster.
        const spec = { email: CARL, roleDefinitionName: 'Reader', scope: B1, invitedBy: ANNA, hasAccount: false }
        const more = { tokenHash: '0'.repeat(64), expiresAt: '2100-01-01T00:00:00Z' }
        const namespace = boundaryNamespace(BOUNDARY)
        records.put(MemberInvitation, { name: randomUUID(), namespace }, { ...spec, ...more })
        return list(...given)
      }) as typeof records.list
      expect((await codeOf(invite())).code).to.equal('duplicate_pending')
      expect(records.peekAll(MemberInvitation)).to.have.length(1)
    })

    it('refuses who has the role there already', async () => {
      const { users, refusal, records } = open()
      const { id: principalId } = users.put({ userName: 'carl', email: 'Carl@example.com' })
      const spec = { principalId, principalType: 'User', roleDefinitionName: 'Reader', scope: B1 }
      records.put(RoleAssignment, { name: 'a', namespace: boundaryNamespace(BOUNDARY) }, spec)
      expect(await refusal({})).to.equal('already_member')
      expect(await refusal({ roleDefinitionName: 'Contributor' })).to.equal('none')
    })
  })

  describe('the link', () => {
    it('leads a person without an account to the role', async () => {
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

    it('makes the account again after a call that was cut off before its end', async () => {
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

    it('makes one account, with the first password, where the form is sent twice at once', async () => {
      const { invite, tokenOf, setPassword, users } = open()
      const token = tokenOf(await invite())
      const other = { ...person, password: 'Another-horse-7' }
      const answers = await Promise.all([setPassword(token), setPassword(token, other)])
      expect(answers.map(({ status }) => status)).to.deep.equal([200, 200])
      expect([...users.passwords.values()]).to.deep.equal([PASSWORD])
    })

    it('welcomes a person once more whose form on the page is sent twice at once', async () => {
      const { invite, tokenOf, services, assignments } = open()
      const token = tokenOf(await invite())
      const given = new Map(Object.entries(person))
      const fields = (name: string) => given.get(name) ?? ''
      const browser = { address: '::1', search: '', cookie: () => undefined, setCookie: () => {} }
      const pages = await Promise.all([1, 2].map(() => invitationPages.submit(services, token, fields, browser)))
      expect(pages.map(({ html }) => html.includes('Welcome'))).to.deep.equal([true, true])
      expect(assignments()).to.have.length(1)
    })

    it('takes nobody into a tenant that is removed at that moment, and gives nothing', async () => {
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

    it('is accepted again after a call that was cut off before its end, with one assignment', async () => {
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

    it('gives the role once where it is accepted four times at once', async () => {
      const { invite, tokenOf, accept, users, records, assignments } = open()
      const { id } = users.put({ userName: 'carl', email: CARL })
      const token = tokenOf(await invite())
      // As over replicas: each has read the invitation before one has written it.
      const update = records.update.bind(records)
      records.update = (async (...given: Parameters<typeof update>) => {
        for (let turn = 0; turn < 4; turn += 1) await setImmediate()
        return update(...given)
      }) as typeof records.update
      const codes = await Promise.all([1, 2, 3, 4].map(async () => (await codeOf(accept(token, id))).code))
      expect(codes.sort()).to.deep.equal([...Array(3).fill('invalid_state'), 'none'])
      expect(assignments()).to.have.length(1)
    })

    it('gives nothing where it is revoked at the same moment', async () => {
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

    it('is for the account of the address only', async () => {
      const { invite, tokenOf, accept, users } = open()
      users.put({ userName: 'carl', email: CARL })
      users.put({ id: BERT, userName: 'bert', email: 'bert@example.com' })
      const token = tokenOf(await invite())
      expect((await codeOf(accept(token, BERT))).code).to.equal('email_mismatch')
      const service = { principalType: 'ServicePrincipal' }
      expect((await codeOf(accept(token, BERT, service))).code).to.equal('email_mismatch')
    })

    it('asks for a verified address before it looks at the token', async () => {
      const { accept, users } = open()
      users.put({ id: BERT, userName: 'bert', email: CARL, emailVerified: false })
      expect((await codeOf(accept('nonsense', BERT))).code).to.equal('email_not_verified')
      users.put({ id: BERT, userName: 'bert', email: CARL })
      expect((await codeOf(accept('nonsense', BERT))).code).to.equal('not_found')
    })

    it('takes the address that the issuer verified, of accounts that are kept elsewhere', async () => {
      const { invite, tokenOf, accept, users } = open()
      users.put({ userName: 'carl', email: CARL })
      const token = tokenOf(await invite())
      expect((await accept(token, BERT, { email: 'Carl@Example.com' })).status).to.equal(200)
    })

    it('makes no account if one was created meanwhile, and none for people who have one', async () => {
      const { invite, tokenOf, setPassword, users, call } = open()
      const made = await invite()
      users.put({ userName: 'carl', email: CARL })
      expect((await codeOf(setPassword(tokenOf(made)))).code).to.equal('user_already_exists')
      await call('DELETE', `${PATH}/${made.id}`)
      expect((await codeOf(setPassword(tokenOf(await invite())))).code).to.equal('invalid_state')
    })

    it('lists the broken rules of a password, and leaves the invitation as it is', async () => {
      const { invite, tokenOf, setPassword, users } = open()
      const token = tokenOf(await invite())
      for (const password of ['', 'short', `${PASSWORD}${CARL}`])
        expect((await codeOf(setPassword(token, { ...person, password }))).code).to.equal('password_policy')
      expect(users.users.size).to.equal(0)
    })

    it('tells its expiry once', async () => {
      const { invite, tokenOf, setPassword, clock, call } = open()
      const token = tokenOf(await invite({ expiresInDays: 1 }))
      await clock.advance(86_400_000)
      expect((await codeOf(call('GET', `/invitations/${token}`))).code).to.equal('NOT_FOUND')
      expect((await codeOf(setPassword(token))).code).to.equal('expired')
      expect((await codeOf(setPassword(token))).code).to.equal('invalid_state')
    })

    it('of another invitation, cut short or invented is unknown', async () => {
      const { invite, tokenOf, setPassword } = open()
      const token = tokenOf(await invite())
      const last = token.endsWith('A') ? 'B' : 'A'
      for (const wrong of [
        token.slice(1),
        token.toLowerCase(),
        `${token.slice(0, -9)}${last.repeat(8)}${token.at(-1)}`,
      ])
        expect((await codeOf(setPassword(wrong))).code, wrong).to.equal('not_found')
    })
  })

  describe('resend', () => {
    const inviter = {
      ...{ name: 'inviter', displayName: 'Inviter', description: '', assignableScopes: ['/boundaries/*'] as const },
      ...{ actions: ['boundaries/invitations/*'], notActions: [], dataActions: [], notDataActions: [] },
    }
    const given = {
      roles: [...BUILT_IN_ROLES, inviter],
      assignments: [assign('Owner', B1), { ...assign('Inviter', B1), id: 'bert', principalId: BERT }],
    }

    it('shows the link of a role to nobody who may not give it', async () => {
      const { invite, call, records } = open(given)
      const made = await invite({ roleDefinitionName: 'Owner' })
      const before = records.peekAll(MemberInvitation)[0]?.spec.tokenHash
      const refused = call('POST', `${PATH}/${made.id}/resend`, { caller: BERT })
      expect((await codeOf(refused)).code).to.equal('forbidden')
      expect(records.peekAll(MemberInvitation)[0]?.spec.tokenHash).to.equal(before)
    })

    it('sends the link of any role to the invited address, whoever asks', async () => {
      const { invite, call } = open(given, { mail: true })
      const made = await invite({ roleDefinitionName: 'Owner' })
      const answer = await call('POST', `${PATH}/${made.id}/resend`, { caller: BERT })
      expect([answer.status, answer.body.link]).to.deep.equal([200, null])
    })

    it('replaces the link, three times at once and then after a day', async () => {
      const { invite, tokenOf, call, clock } = open()
      const made = await invite({ expiresInDays: 30 })
      const resend = () => call('POST', `${PATH}/${made.id}/resend`)
      const links = [made.link]
      for (let time = 1; time <= 3; time += 1) links.push((await resend()).body.link)
      expect(new Set(links).size).to.equal(4)
      expect((await codeOf(call('GET', `/invitations/${tokenOf(made)}`))).code).to.equal('NOT_FOUND')
      const { code, extras } = await codeOf(resend())
      expect([code, extras.retryAfterSeconds]).to.deep.equal(['resend_limit', undefined])
      await clock.advance(86_400_000)
      expect((await resend()).body).to.include({ canResend: false })
      expect((await codeOf(resend())).code).to.equal('resend_limit')
    })

    it('and revoke of what is not there are not_found', async () => {
      const { call } = open()
      for (const id of [TENANT, 'nonsense']) {
        expect((await codeOf(call('POST', `${PATH}/${id}/resend`))).code).to.equal('not_found')
        expect((await codeOf(call('DELETE', `${PATH}/${id}`))).code).to.equal('not_found')
      }
    })
  })
})
