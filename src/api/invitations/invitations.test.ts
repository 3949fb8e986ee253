import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { ANNA, assign, B1, BERT, deny } from '../../../test/make/authorizationRecords.ts'
import { codeOf } from '../../../test/worlds/facade.ts'
import { BOUNDARY, CARL, invitationsWorld as open, PATH, TENANT } from '../../../test/worlds/invitations.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { MemberInvitation } from '../../crds/invitations.ts'
import { RoleAssignment } from '../../crds/rbac.ts'
import { BUILT_IN_ROLES } from '../../iam/roles.ts'

describe('invitations', () => {
  describe('create', () => {
    it('is refused by a deny at the group', async () => {
      const group = `${B1}/resourcegroups/shop`
      const denies = [deny(group, ['boundaries/invitations/*'])]
      const { refusal } = open({ assignments: [assign('Owner', B1)], denies })
      expect(await refusal({ scope: group })).to.equal('forbidden')
    })

    it('returns 201 with the link without mail, and stores only its hash', async () => {
      const { invite, records } = open()
      const made = await invite()
      expect(made).to.include({ status: 'Pending', canResend: true, nextResendAt: null })
      expect(made.link).to.match(/^https:\/\/cloud\.example\.test\/invitations\/[\w-]{86}$/)
      const stored = JSON.stringify(records.peekAll(MemberInvitation))
      expect(stored).to.not.contain(made.link?.split('/').at(-1))
    })

    it('returns the ETag, also for a resend', async () => {
      const { call } = open()
      const made = await call('POST', PATH, { body: { email: CARL, roleDefinitionName: 'Reader' } })
      const again = await call('POST', `${PATH}/${made.body.id}/resend`)
      for (const { headers } of [made, again]) expect(headers.etag).to.match(/^"\d+-\d+-\w+"$/)
    })

    it('sends the link by mail only, with mail configured', async () => {
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
      ['a role in lower case', { roleDefinitionName: 'reader' }, 'unknown_role'],
      ['an invalid scope', { scope: `${B1}/` }, 'invalid_state'],
      ['the root for a role of boundaries', { scope: '/' }, 'invalid_state'],
      ['a scope in another boundary', { scope: `/boundaries/${TENANT}` }, 'invalid_state'],
      ['a missing group', { scope: `${B1}/resourcegroups/none` }, 'invalid_state'],
      ['a root role at the boundary', { roleDefinitionName: 'Platform Reader' }, 'invalid_state'],
      [
        'a root role from a caller without Owner at the root',
        { roleDefinitionName: 'Platform Reader', scope: '/' },
        'forbidden',
      ],
      ['an empty e-mail before an unknown role', { email: '', roleDefinitionName: 'Emperor' }, 'invalid_state'],
    ]
    for (const [title, body, code] of cases) {
      it(`rejects ${title} with ${code}`, async () => expect(await open().refusal(body)).to.equal(code))
    }

    it('checks the tenant after the role and before the scope', async () => {
      const { refusal } = open(undefined, { tenantId: null })
      expect(await refusal({ roleDefinitionName: 'Emperor' })).to.equal('unknown_role')
      expect(await refusal({ scope: '/' })).to.equal('tenant_resolution_failed')
    })

    it('rejects a role with more permissions than the caller, and lists them', async () => {
      const { invite } = open({ assignments: [assign('Contributor', B1)] })
      const { code, extras } = await codeOf(invite({ roleDefinitionName: 'Owner' }))
      expect(code).to.equal('forbidden')
      expect(extras.actions)
        .to.include.members(['rbac/members/write', 'secretvault/readSecrets'])
        .and.not.include('vectorcluster/write')
    })

    it('lets a Platform Owner invite others to any role, but not themselves', async () => {
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

    it('rejects a second open invitation of the address in another case, with another role', async () => {
      const { invite, refusal, call } = open()
      const { id } = await invite()
      expect(await refusal({ email: 'CARL@Example.com', roleDefinitionName: 'Contributor' })).to.equal(
        'duplicate_pending',
      )
      await call('DELETE', `${PATH}/${id}`)
      expect(await refusal({})).to.equal('none')
    })

    it('accepts one of six concurrent invitations, and one more after its revocation', async () => {
      const { refusal, call, records } = open()
      const six = ['carl', 'Carl', 'CARL', 'cArl', 'caRl', 'carL'].map((name) => ({ email: `${name}@example.com` }))
      // Like replicas: all send a call before one is answered, and have all answers before the next call.
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

    it('rejects a duplicate that another replica has just created', async () => {
      const { invite, records } = open()
      const list = records.list.bind(records)
      records.list = (async (...given: Parameters<typeof list>) => {
        // Another replica was faster.
        const spec = { email: CARL, roleDefinitionName: 'Reader', scope: B1, invitedBy: ANNA, hasAccount: false }
        const more = { tokenHash: '0'.repeat(64), expiresAt: '2100-01-01T00:00:00Z' }
        const namespace = boundaryNamespace(BOUNDARY)
        records.put(MemberInvitation, { name: randomUUID(), namespace }, { ...spec, ...more })
        return list(...given)
      }) as typeof records.list
      expect((await codeOf(invite())).code).to.equal('duplicate_pending')
      expect(records.peekAll(MemberInvitation)).to.have.length(1)
    })

    it('rejects a user who has the role at the scope already', async () => {
      const { users, refusal, records } = open()
      const { id: principalId } = users.put({ userName: 'carl', email: 'Carl@example.com' })
      const spec = { principalId, principalType: 'User', roleDefinitionName: 'Reader', scope: B1 }
      records.put(RoleAssignment, { name: 'a', namespace: boundaryNamespace(BOUNDARY) }, spec)
      expect(await refusal({})).to.equal('already_member')
      expect(await refusal({ roleDefinitionName: 'Contributor' })).to.equal('none')
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

    it('does not return the link to a caller who may not grant the role', async () => {
      const { invite, call, records } = open(given)
      const made = await invite({ roleDefinitionName: 'Owner' })
      const before = records.peekAll(MemberInvitation)[0]?.spec.tokenHash
      const refused = call('POST', `${PATH}/${made.id}/resend`, { caller: BERT })
      expect((await codeOf(refused)).code).to.equal('forbidden')
      expect(records.peekAll(MemberInvitation)[0]?.spec.tokenHash).to.equal(before)
    })

    it('mails the link of any role for any caller who may resend', async () => {
      const { invite, call } = open(given, { mail: true })
      const made = await invite({ roleDefinitionName: 'Owner' })
      const answer = await call('POST', `${PATH}/${made.id}/resend`, { caller: BERT })
      expect([answer.status, answer.body.link]).to.deep.equal([200, null])
    })

    it('replaces the link up to 3 times, and again after a day', async () => {
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

    it('returns not_found for a missing invitation, like revoke', async () => {
      const { call } = open()
      for (const id of [TENANT, 'nonsense']) {
        expect((await codeOf(call('POST', `${PATH}/${id}/resend`))).code).to.equal('not_found')
        expect((await codeOf(call('DELETE', `${PATH}/${id}`))).code).to.equal('not_found')
      }
    })
  })
})
