import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type { z } from 'zod'
import type { InvitationDto } from '../../src/api/invitations/record.ts'
import type { UserDto } from '../../src/api/users/index.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { PlatformUser } from '../../src/crds/identity.ts'
import { MemberInvitation, PasswordReset } from '../../src/crds/invitations.ts'
import { DEFAULT_TENANT_ID } from '../../src/crds/rbac.ts'
import { secret } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import type { PagedListResponse } from '../make/page.ts'
import { mailsTo, personToken, tokenFromMail } from '../make/people.ts'
import { objectOf } from '../worlds/fleet.ts'
import { call, expectCall, itemsOf, makeBoundary, makeCaller, uniqueName, until } from '../worlds/platform.ts'
import { administrator, testPlatform } from '../worlds/tenant.ts'

const PASSWORD = 'Correct-horse-7'
const anonymous = { token: null }
type User = z.output<typeof UserDto>

describe('invitations', () => {
  let admin: KubeClient
  let boundaryId: string
  let path: string
  const address = () => `${uniqueName('anna')}@example.com`
  const invite = async (body: object) => (await expectCall<InvitationDto>(201, 'POST', path, body)).body
  const read = async (id: string) => (await itemsOf<InvitationDto>(path)).find((one) => one.id === id)

  before(async () => {
    admin = await administrator()
    const boundary = await makeBoundary()
    boundaryId = boundary.id
    path = `/boundaries/${boundaryId}/providers/authorization/invitations`
  })
  after(() => admin.close())

  it('leads from the mail to account, password, login and role', async () => {
    const email = address()
    const made = await invite({ email, roleDefinitionName: 'Reader', message: 'Look at this', firstName: 'Anna' })
    expect(made).to.include({ status: 'Pending', hasAccount: false, canResend: true, link: null, resendCount: 0 })
    const token = await tokenFromMail(email)
    const [mail] = mailsTo(email)
    expect(mail?.text).to.contain('> Look at this')

    const shown = await expectCall<object>(200, 'GET', `/invitations/${token}`, undefined, anonymous)
    expect(shown.body).to.include({ email, roleDefinitionName: 'Reader', requiresPassword: true, status: 'Pending' })
    const weak = await call<{ code: string; error: string }>(
      'POST',
      `/invitations/${token}/set-password`,
      { password: '', firstName: 'Anna', lastName: 'Arnold' },
      anonymous,
    )
    expect([weak.status, weak.body.code]).to.deep.equal([422, 'password_policy'])
    expect(weak.body.error).to.contain(';')
    const person = { password: PASSWORD, firstName: 'Anna', lastName: 'Arnold' }
    for (let time = 1; time <= 2; time += 1) {
      const { body } = await expectCall<object>(200, 'POST', `/invitations/${token}/set-password`, person, anonymous)
      expect(body).to.include({ email, status: 'AwaitingLogin' })
    }

    const user = await until('the user is listed', async () => {
      const { body } = await call<PagedListResponse<User>>(
        'GET',
        `/admin/users?search=${encodeURIComponent(email)}&max=5`,
      )
      return body.items.find((one) => one.email === email)
    })
    expect(user).to.include({ displayName: 'Anna Arnold', emailVerified: true, isExternal: false })
    expect((await expectCall<User>(200, 'GET', `/admin/users/${user.id}`)).body).to.deep.equal(user)

    const options = { token: await personToken(user.id) }
    expect((await call('GET', `/boundaries/${boundaryId}`, undefined, options)).status).to.equal(403)
    const accepted = await expectCall<{ assignmentId: string }>(200, 'POST', '/invitations/accept', { token }, options)
    expect(accepted.body).to.include({ boundaryId, roleDefinitionName: 'Reader', scope: `/boundaries/${boundaryId}` })
    await until('the role is effective', async () => {
      return (await call('GET', `/boundaries/${boundaryId}`, undefined, options)).status === 200
    })
    expect(await read(made.id)).to.include({ status: 'Accepted', canResend: false })
    expect((await call('POST', '/invitations/accept', { token }, options)).body.code).to.equal('invalid_state')
    expect((await call('DELETE', `${path}/${made.id}`)).body.code).to.equal('already_accepted')
    expect((await call('POST', `${path}/${made.id}/resend`)).body.code).to.equal('invalid_state')
    expect((await call('GET', `/invitations/${token}`, undefined, anonymous)).status).to.equal(404)
    const again = await call('POST', path, { email: email.toUpperCase(), roleDefinitionName: 'Reader' })
    expect([again.status, again.body.code]).to.deep.equal([409, 'already_member'])
    await expectNowhere([token, PASSWORD])
  })

  it('adds a person to the tenant, which outlives the role, until an administrator removes the membership', async () => {
    const email = address()
    await invite({ email, roleDefinitionName: 'Reader' })
    const token = await tokenFromMail(email)
    const person = { password: PASSWORD, firstName: 'Anna', lastName: 'Arnold' }
    await expectCall(200, 'POST', `/invitations/${token}/set-password`, person, anonymous)
    const user = await until('the user is listed', async () => {
      const { body } = await call<PagedListResponse<User>>('GET', `/admin/users?search=${encodeURIComponent(email)}`)
      return body.items.find((one) => one.email === email)
    })
    const options = { token: await personToken(user.id) }
    await expectCall(200, 'POST', '/invitations/accept', { token }, options)
    const colleague = randomUUID()
    await admin.create(
      PlatformUser.resource,
      objectOf(PlatformUser, colleague, SYSTEM_NAMESPACE, {
        userName: uniqueName('bert'),
        tenantIds: [DEFAULT_TENANT_ID],
      }),
    )
    const sees = async () => (await call('GET', `/admin/users/${colleague}`, undefined, options)).status
    await until('people of the tenant are seen', async () => (await sees()) === 200)

    await until('the member is listed', async () => {
      return (await call('DELETE', `/boundaries/${boundaryId}/iam/members/${user.id}`)).status === 204
    })
    expect((await call('GET', `/boundaries/${boundaryId}`, undefined, options)).status).to.equal(403)
    const checks = { principalId: user.id, action: 'boundaries/read' }
    const check = `/boundaries/${boundaryId}/providers/authorization/checkAccess`
    const { body } = await expectCall<{ results: { allowed: boolean }[] }>(200, 'POST', check, checks)
    expect(body.results[0]?.allowed).to.equal(false)
    expect((await expectCall<User>(200, 'GET', `/admin/users/${user.id}`)).body.tenantIds).to.deep.equal([
      DEFAULT_TENANT_ID,
    ])
    expect(await sees()).to.equal(200)

    const membership = `/admin/iam/members/${user.id}/${DEFAULT_TENANT_ID}`
    expect((await call('DELETE', membership, undefined, options)).status).to.equal(403)
    await expectCall(204, 'DELETE', membership)
    expect((await expectCall<User>(200, 'GET', `/admin/users/${user.id}`)).body.tenantIds).to.deep.equal([])
    await until('the tenant is seen no more', async () => (await sees()) === 404)
  })

  /** Not in any object but the Secret's hash, nor in the log. */
  async function expectNowhere(secrets: string[]) {
    const lists = await Promise.all([
      admin.list(MemberInvitation.resource),
      admin.list(PasswordReset.resource),
      admin.list(PlatformUser.resource),
      admin.list(secret, { namespace: SYSTEM_NAMESPACE }),
    ])
    const decoded = lists[3].items.map((one) =>
      Object.values((one as KubeObject & { data?: Record<string, string> }).data ?? {})
        .map((text) => Buffer.from(text, 'base64').toString())
        .join(),
    )
    const log = readFileSync(join(testPlatform().folder, 'logs', 'freehold.log'), 'utf8')
    const everything = JSON.stringify(lists) + decoded.join() + log
    for (const one of secrets) expect(everything.includes(one)).to.equal(false)
  }

  it('sends a new link at most three times a day', async () => {
    const email = address()
    const { id } = await invite({ email, roleDefinitionName: 'Reader' })
    const first = await tokenFromMail(email)
    for (let count = 1; count <= 3; count += 1) {
      const { body } = await expectCall<InvitationDto>(200, 'POST', `${path}/${id}/resend`)
      expect(body.resendCount).to.equal(count)
    }
    const last = await tokenFromMail(email, 4)
    expect((await call('GET', `/invitations/${first}`, undefined, anonymous)).status).to.equal(404)
    expect((await call('GET', `/invitations/${last}`, undefined, anonymous)).status).to.equal(200)
    expect(await read(id)).to.include({ canResend: false, resendCount: 3 })
    const { namespace, name } = { namespace: boundaryNamespace(boundaryId), name: id }
    const lastSentAt = new Date(Date.now() - 24 * 3_600_000).toISOString()
    await admin.mergePatch(MemberInvitation.resource, { namespace, name }, { spec: { lastSentAt } })
    await until('a day has passed', async () => (await read(id))?.canResend === true)
    expect((await call('POST', `${path}/${id}/resend`)).status).to.equal(200)
  })

  it('revokes once, and returns 404 for the link of a revoked invitation', async () => {
    const email = address()
    const { id } = await invite({ email, roleDefinitionName: 'Reader' })
    const token = await tokenFromMail(email)
    const second = await call('POST', path, { email: email.toUpperCase(), roleDefinitionName: 'Contributor' })
    expect([second.status, second.body.code]).to.deep.equal([409, 'duplicate_pending'])
    await expectCall(204, 'DELETE', `${path}/${id}`)
    expect((await call('DELETE', `${path}/${id}`)).body.code).to.equal('already_revoked')
    expect((await call('GET', `/invitations/${token}`, undefined, anonymous)).status).to.equal(404)
    const revoked = await itemsOf<InvitationDto>(`${path}?status=Revoked`)
    expect(revoked.map((one) => one.id)).to.include(id)
    await invite({ email, roleDefinitionName: 'Reader' })
  })

  it('returns 410 once for the link of an expired invitation', async () => {
    const email = address()
    const { id } = await invite({ email, roleDefinitionName: 'Reader' })
    const token = await tokenFromMail(email)
    const ref = { namespace: boundaryNamespace(boundaryId), name: id }
    const expiresAt = new Date(Date.now() + 1500).toISOString()
    await admin.mergePatch(MemberInvitation.resource, ref, { spec: { expiresAt } })
    await until('the controller saw the time', async () => {
      return ((await admin.get(MemberInvitation.resource, ref)).spec as { state: string }).state === 'Expired'
    })
    const set = () =>
      call(
        'POST',
        `/invitations/${token}/set-password`,
        { password: PASSWORD, firstName: 'A', lastName: 'B' },
        anonymous,
      )
    const [first, second] = [await set(), await set()]
    expect([first.status, first.body.code]).to.deep.equal([410, 'expired'])
    expect([second.status, second.body.code]).to.deep.equal([400, 'invalid_state'])
  })

  it('refuses roles beyond those of the inviter, and roles of the root in a boundary', async () => {
    const caller = await makeCaller({ Contributor: `/boundaries/${boundaryId}` })
    const body = { email: address(), roleDefinitionName: 'Owner' }
    expect((await call('POST', path, body, { token: caller.token })).status).to.equal(403)
    const root = { email: address(), roleDefinitionName: 'Platform Reader' }
    expect((await call('POST', path, root)).body.code).to.equal('invalid_state')
    await invite({ ...root, scope: '/' })
    const owner = await makeCaller({ Owner: `/boundaries/${boundaryId}` })
    const refused = await call('POST', path, { ...root, email: address(), scope: '/' }, { token: owner.token })
    expect([refused.status, refused.body.code]).to.deep.equal([403, 'forbidden'])
  })

  it('returns 503 tenant_resolution_failed in a boundary without a tenant', async () => {
    const { id, tenantId } = await makeBoundary()
    // The first Owner belongs to no tenant: the boundary gets the installation's own.
    expect(tenantId).to.equal(DEFAULT_TENANT_ID)
    await expectCall(200, 'POST', `/boundaries/${id}/tenant`, { tenantId: null })
    const other = path.replace(boundaryId, id)
    const { status, body } = await call('POST', other, { email: address(), roleDefinitionName: 'Reader' })
    expect([status, body.code]).to.deep.equal([503, 'tenant_resolution_failed'])
    expect((await call('POST', other, { email: '', roleDefinitionName: 'Reader' })).body.code).to.equal('invalid_state')
    expect((await call('POST', other, { email: address(), roleDefinitionName: 'reader' })).body.code).to.equal(
      'unknown_role',
    )
  })

  it('returns the rules for passwords without a token', async () => {
    const [one, other] = await Promise.all(
      ['/invitations/password-policy', '/identity/password-policy'].map((route) =>
        expectCall<{ minLength: number }>(200, 'GET', route, undefined, anonymous),
      ),
    )
    expect(one?.body.minLength).to.equal(12)
    expect(other?.body).to.deep.equal(one?.body)
  })
})

describe('passwords', () => {
  let admin: KubeClient
  before(async () => {
    admin = await administrator()
  })
  after(() => admin.close())

  async function makeUser(): Promise<{ id: string; email: string }> {
    const id = randomUUID()
    const email = `${uniqueName('user')}@example.com`
    await admin.create(PlatformUser.resource, {
      apiVersion: PlatformUser.apiVersion,
      kind: PlatformUser.kind,
      metadata: { namespace: SYSTEM_NAMESPACE, name: id },
      spec: { userName: email, email, emailVerified: true },
    })
    await until('the user is known', async () => (await call('GET', `/admin/users/${id}`)).status === 200)
    return { id, email }
  }

  it('resets a password by a link that works once, with the same answer for unknown addresses', async () => {
    const { email, id } = await makeUser()
    const ask = (address: string) => call<object>('POST', '/identity/password-reset', { email: address }, anonymous)
    const [known, unknown] = [await ask(email), await ask(`nobody-${email}`)]
    expect([known.status, known.text]).to.deep.equal([202, unknown.text])
    expect(unknown.status).to.equal(202)
    const token = await tokenFromMail(email)
    const link = `/identity/password-reset/${token}`
    const shown = await until('the link is known', async () => {
      const answer = await call<{ email: string }>('GET', link, undefined, anonymous)
      return answer.status === 200 && answer.body
    })
    expect(shown.email).to.equal('u***@example.com')
    const weak = await call<{ code: string; violations: string[] }>('POST', link, { password: 'short' }, anonymous)
    expect([weak.status, weak.body.code]).to.deep.equal([422, 'password_policy'])
    expect(weak.body.violations.length).to.be.greaterThan(1)
    const done = await expectCall<{ signInUrl: string }>(200, 'POST', link, { password: PASSWORD }, anonymous)
    expect(done.body.signInUrl).to.match(/^https:/)
    const again = await call('POST', link, { password: PASSWORD }, anonymous)
    expect([again.status, again.body.code]).to.deep.equal([404, 'not_found'])
    await until('the used link is cleaned up', async () => {
      const { items } = await admin.list(PasswordReset.resource, { namespace: SYSTEM_NAMESPACE })
      return !items.some((one) => (one.spec as { userId: string }).userId === id)
    })
    expect(mailsTo(`nobody-${email}`)).to.deep.equal([])
  })

  it('changes a password only after a recent sign-in with a password', async () => {
    const { id, email } = await makeUser()
    const change = async (token: string, password: string) =>
      call<{ code: string; changedAt: string }>('POST', '/identity/change-password', { password }, { token })
    const codeOf = async (token: string, password = PASSWORD) => (await change(token, password)).body.code
    const now = await personToken(id)
    expect(await codeOf(now)).to.equal('not_locally_authenticated')
    await call('POST', '/identity/password-reset', { email }, anonymous)
    const link = `/identity/password-reset/${await tokenFromMail(email)}`
    await expectCall(200, 'POST', link, { password: PASSWORD }, anonymous)
    expect(await codeOf(await personToken(id, 301))).to.equal('reauth_required')
    const nobody = await change(await personToken(randomUUID()), PASSWORD)
    expect([nobody.status, nobody.body.code]).to.deep.equal([401, 'unknown_user'])
    expect(await codeOf((await makeCaller()).token)).to.equal('not_locally_authenticated')
    expect(await codeOf(now, email)).to.equal('password_policy')
    const began = Date.now()
    const changed = await change(now, 'Another-horse-8')
    expect(changed.status).to.equal(200)
    // Times have whole seconds.
    expect(Date.parse(changed.body.changedAt)).to.be.within(began - 1000, Date.now())
  })
})
