import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type { InvitationDto } from '../../src/api/invitations/record.ts'
import { newLinkToken } from '../../src/core/linkToken.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import { PlatformUser } from '../../src/crds/identity.ts'
import { MemberInvitation, PasswordReset } from '../../src/crds/invitations.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { makePerson, personToken, type TestPerson, tokenFromMail } from '../make/people.ts'
import { type CallOptions, call, expectCall, itemsOf, makeBoundary, uniqueName, until } from '../worlds/platform.ts'
import { administrator } from '../worlds/tenant.ts'

const PASSWORD = 'Correct-horse-7'
const anonymous = { token: null }
const past = () => new Date(Date.now() - 60_000).toISOString()

describe('refusals of links in mails', () => {
  let admin: KubeClient
  let boundaryId: string
  let path: string
  before(async () => {
    admin = await administrator()
    boundaryId = (await makeBoundary()).id
    path = `/boundaries/${boundaryId}/providers/authorization/invitations`
  })
  after(() => admin.close())

  const untilKnown = (userId: string) =>
    until('the person is known', async () => (await call('GET', `/admin/users/${userId}`)).status === 200)
  const known = async (): Promise<TestPerson & { email: string }> => {
    const person = await makePerson(admin)
    await untilKnown(person.userId)
    return { ...person, email: `${person.userName}@example.com` }
  }
  const invite = async (email: string) => {
    const body = { email, roleDefinitionName: 'Reader' }
    return (await expectCall<InvitationDto>(201, 'POST', path, body)).body
  }
  const refused = async (wanted: [number, string], route: string, body?: object, options: CallOptions = {}) => {
    const answer = await call('POST', route, body, options)
    expect([answer.status, answer.body.code], `POST ${route}: ${answer.text}`).to.deep.equal(wanted)
  }
  const accept = async (wanted: [number, string], token: string, userId: string) =>
    refused(wanted, '/invitations/accept', { token }, { token: await personToken(userId) })

  it('returns 429 for a fourth mail within a day', async () => {
    const { id } = await invite(`${uniqueName('often')}@example.com`)
    for (let count = 1; count <= 3; count += 1) await expectCall(200, 'POST', `${path}/${id}/resend`)
    await refused([429, 'resend_limit'], `${path}/${id}/resend`, undefined, { isPatient: false })
  })

  it('returns 409 for set-password if the address already has an account', async () => {
    const email = `${uniqueName('taken')}@example.com`
    await invite(email)
    const token = await tokenFromMail(email)
    const name = randomUUID()
    await admin.create(PlatformUser.resource, {
      apiVersion: PlatformUser.apiVersion,
      kind: PlatformUser.kind,
      metadata: { namespace: SYSTEM_NAMESPACE, name },
      spec: { userName: uniqueName('taken'), email, emailVerified: true },
    })
    await untilKnown(name)
    const person = { password: PASSWORD, firstName: 'Anna', lastName: 'Arnold' }
    await refused([409, 'user_already_exists'], `/invitations/${token}/set-password`, person, anonymous)
  })

  it('returns 404 for an unknown link, and 409 for a link to another address, which stays valid', async () => {
    const [invited, other] = [await known(), await known()]
    const nowhere = newLinkToken([boundaryId, randomUUID()]).token
    await accept([404, 'not_found'], nowhere, other.userId)
    await invite(invited.email)
    const token = await tokenFromMail(invited.email)
    await accept([409, 'email_mismatch'], token, other.userId)
    const options = { token: await personToken(invited.userId) }
    await expectCall(200, 'POST', '/invitations/accept', { token }, options)
  })

  it('returns 400 for a caller without a verified address, before it reads the link', async () => {
    const { userId } = await known()
    const ref = { namespace: SYSTEM_NAMESPACE, name: userId }
    await admin.mergePatch(PlatformUser.resource, ref, { spec: { emailVerified: false } })
    await until('the address counts as unverified', async () => {
      const { body } = await call<{ emailVerified: boolean }>('GET', `/admin/users/${userId}`)
      return !body.emailVerified
    })
    await accept([400, 'email_not_verified'], newLinkToken([boundaryId, randomUUID()]).token, userId)
  })

  it('returns 410 once for an expired invitation, and then 400', async () => {
    const { userId, email } = await known()
    const { id } = await invite(email)
    const token = await tokenFromMail(email)
    const ref = { namespace: boundaryNamespace(boundaryId), name: id }
    await admin.mergePatch(MemberInvitation.resource, ref, { spec: { expiresAt: past() } })
    await accept([410, 'expired'], token, userId)
    await accept([400, 'invalid_state'], token, userId)
  })

  it('returns 410 for an expired link of a password reset', async () => {
    const { userId, email } = await known()
    const name = randomUUID()
    const { token, hash } = newLinkToken([name])
    // expiresAt of a reset cannot be changed, so this one is created after it.
    await admin.create(PasswordReset.resource, {
      apiVersion: PasswordReset.apiVersion,
      kind: PasswordReset.kind,
      metadata: { namespace: SYSTEM_NAMESPACE, name },
      spec: { userId, email, tokenHash: hash, expiresAt: past() },
    })
    await refused([410, 'expired'], `/identity/password-reset/${token}`, { password: PASSWORD }, anonymous)
  })

  it('returns 404 for the link of an invitation that was purged with its boundary', async () => {
    const { userId, email } = await known()
    const { id } = await makeBoundary()
    const base = `/boundaries/${id}/providers/authorization`
    await expectCall(201, 'POST', `${base}/invitations`, { email, roleDefinitionName: 'Reader' })
    const token = await tokenFromMail(email)
    const { body } = await expectCall<{ invitations: number }>(200, 'POST', `${base}/purge`)
    expect(body.invitations).to.equal(1)
    expect(await itemsOf(`${base}/invitations`)).to.deep.equal([])
    expect((await call('GET', `/invitations/${token}`, undefined, anonymous)).status).to.equal(404)
    await accept([404, 'not_found'], token, userId)
  })

  it('returns 400 for the link of a person who was removed from the boundary meanwhile', async () => {
    const [{ userId, email }, other] = [await known(), await known()]
    const boundary = `/boundaries/${boundaryId}`
    await expectCall(201, 'POST', `${boundary}/members`, { principalId: userId, roleDefinitionName: 'Reader' })
    const body = { email: email.toUpperCase(), roleDefinitionName: 'Contributor' }
    const { id } = (await expectCall<InvitationDto>(201, 'POST', path, body)).body
    const { id: kept } = await invite(other.email)
    const token = await tokenFromMail(email.toUpperCase())
    await expectCall(204, 'DELETE', `${boundary}/iam/members/${userId}`)
    const states = new Map((await itemsOf<InvitationDto>(path)).map((one) => [one.id, one.status]))
    expect([states.get(id), states.get(kept)]).to.deep.equal(['Revoked', 'Pending'])
    await accept([400, 'invalid_state'], token, userId)
    const options = { token: await personToken(userId) }
    expect((await call('GET', boundary, undefined, options)).status).to.equal(403)
  })
})
