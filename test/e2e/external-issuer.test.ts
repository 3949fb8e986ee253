// @inTurn plain: its people come from another issuer.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { PlatformUser } from '../../src/crds/identity.ts'
import { RoleAssignment } from '../../src/crds/rbac.ts'
import { roleBinding } from '../../src/kube/builtin.ts'
import { borrowPlatform, giveBack } from '../cluster/lent.ts'
import type { OwnPlatform } from '../cluster/platform.ts'
import { patiently, pauseAfterAnswer, replyTo } from '../make/patience.ts'
import { tokenFromMail } from '../make/people.ts'
import { until } from '../make/until.ts'
import { clientWithToken } from '../worlds/tenant.ts'
import { TokenIssuer } from '../worlds/tokenIssuer.ts'

/** The settings that an installation ships with, so that the test uses their `identityProvider`. */
const MANIFEST = join(import.meta.dirname, '../../deploy/manifests/configuration.yaml')

type Body = ReturnType<typeof JSON.parse>

describe('an issuer that the platform does not administer', () => {
  let own: OwnPlatform
  let issuer: TokenIssuer
  let boundary: string
  let authorization: string
  const [owner, friend] = [randomUUID(), randomUUID()]

  before(async () => {
    own = await borrowPlatform('plain')
    const { PLATFORM_ISSUER = '', ...files } = own.command.environment
    const read = (name: string) => readFileSync(files[name] ?? '')
    const certificate = { cert: read('PLATFORM_IDENTITY_CERTIFICATE'), key: read('PLATFORM_IDENTITY_KEY') }
    issuer = await TokenIssuer.start(PLATFORM_ISSUER, certificate)
    const asShipped = { PLATFORM_IDENTITY_PROVIDER: undefined, PLATFORM_PROJECT_RBAC: undefined }
    await own.startOperator({ PLATFORM_CONFIG_FILE: MANIFEST, ...asShipped })
    await own.admin.create(RoleAssignment.resource, {
      apiVersion: RoleAssignment.apiVersion,
      kind: RoleAssignment.kind,
      metadata: { name: owner, namespace: SYSTEM_NAMESPACE },
      spec: { principalId: owner, principalType: 'User', roleDefinitionName: 'Owner', scope: '/' },
    })
    const made = await until('the role of the first Owner is effective', async () => {
      const answer = await as(owner, 'POST', '/boundaries', { displayName: 'External' })
      return answer.status === 201 && answer
    })
    boundary = `/boundaries/${made.body.id}`
    authorization = `${boundary}/providers/authorization`
  })
  after(async () => {
    await own?.admin.remove(RoleAssignment.resource, { name: owner, namespace: SYSTEM_NAMESPACE })
    await giveBack(own)
    await issuer?.stop()
  })

  async function ask(token: string | undefined, method: string, path: string, body?: object) {
    const bearer = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const headers = { ...bearer, 'content-type': 'application/json' }
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
    const once = () => replyTo(fetch(`${own.platform.facadeUrl}${path}`, init))
    const { status, text } = await patiently(once, pauseAfterAnswer)
    return { status, body: (text === '' ? undefined : JSON.parse(text)) as Body }
  }
  const as = async (subject: string, method: string, path: string, body?: object) =>
    ask(await issuer.token(subject), method, path, body)
  /** The status of a read of the boundary at the API server. */
  async function statusAtApiServer(token: string): Promise<number> {
    const client = await clientWithToken(token, own.controlPlane.kubeconfigPath)
    const answer = await client.request({ path: `/apis/freehold.dev/v1alpha1${boundary}` })
    await answer.text()
    await client.close()
    return answer.status
  }
  const outcome = ({ status, body }: { status: number; body: Body }) => [status, body?.code]
  const give = (principalId: string, more: object = {}) =>
    as(owner, 'POST', `${boundary}/members`, { principalId, roleDefinitionName: 'Reader', ...more })
  const untilReads = (subject: string) =>
    until('the person may read', async () => (await as(subject, 'GET', boundary)).status === 200)

  it('rejects tokens of other issuers, keys, types and audiences, at the facade and the API server', async () => {
    const now = Math.floor(Date.now() / 1000)
    const refused = {
      'another audience': await issuer.token(owner, { aud: 'account' }),
      'an expired token': await issuer.token(owner, { iat: now - 1000, exp: now - 100 }),
      'an ID token': await issuer.token(owner, { typ: 'ID' }),
      'another issuer': await issuer.token(owner, { iss: `${issuer.url}-2` }),
      'another key': await issuer.forged(owner),
      'no key': issuer.unsigned(owner),
    }
    const good = await issuer.token(owner)
    await until('the API server knows the keys', async () => (await statusAtApiServer(good)) === 200)
    for (const [what, token] of Object.entries(refused)) {
      expect(outcome(await ask(token, 'GET', boundary)), what).to.deep.equal([401, 'UNAUTHORIZED'])
      expect(await statusAtApiServer(token), what).to.equal(401)
    }
  })

  it('grants roles to people without a PlatformUser, and projects them', async () => {
    expect((await as(friend, 'GET', boundary)).status, 'a stranger').to.be.oneOf([403, 404])
    expect((await give(friend)).status).to.equal(201)
    await untilReads(friend)
    const { body } = await as(owner, 'POST', `${authorization}/checkAccess`, {
      principalId: friend,
      action: 'apps/read',
    })
    expect(body.results[0]).to.include({ allowed: true, reason: 'AllowedByAssignment' })
    const members = await as(owner, 'GET', `${boundary}/iam/members`)
    expect(members.body.items.find(({ userId }: Body) => userId === friend)).to.include({ isEnabled: true })
    const namespace = boundary.replace('/boundaries/', 'boundary-')
    await until('the role is projected', async () => {
      const { items } = await own.admin.list<KubeObject & { subjects?: { name: string }[] }>(roleBinding, { namespace })
      return items.some(({ subjects = [] }) => subjects.some(({ name }) => name === `p:${friend}`))
    })
    const group = { displayName: 'Friends', memberIds: [friend] }
    expect((await as(owner, 'POST', `${authorization}/groups`, group)).status).to.equal(201)
  })

  it('grants roles to service accounts without a PlatformClient', async () => {
    const { status, body } = await give(randomUUID(), { principalType: 'ServicePrincipal' })
    expect([status, body.principalType]).to.deep.equal([201, 'ServicePrincipal'])
  })

  it('returns 422 for an unknown principal to an Owner who may not list all users', async () => {
    const helper = randomUUID()
    expect((await give(helper, { roleDefinitionName: 'Owner' })).status).to.equal(201)
    await untilReads(helper)
    const body = { principalId: randomUUID(), roleDefinitionName: 'Reader' }
    expect(outcome(await as(helper, 'POST', `${boundary}/members`, body))).to.deep.equal([422, 'PRINCIPAL_NOT_FOUND'])
  })

  it('lists no grant of its people as orphaned', async () => {
    await untilReads(friend)
    const orphans = await as(owner, 'GET', '/resourcegroups/orphaned-grants?pageSize=500')
    const missing = orphans.body.items.filter(({ reason }: Body) => reason === 'PrincipalMissing')
    expect(missing.map(({ principalId }: Body) => principalId)).not.to.include.members([friend])
    const purged = await as(owner, 'POST', '/resourcegroups/orphaned-grants/purge', { dryRun: true })
    expect(purged.body.purged.map(({ principalId }: Body) => principalId)).not.to.include(friend)
  })

  it('approves a temporary role', async () => {
    await untilReads(friend)
    const wanted = { roleDefinitionName: 'Contributor', scope: boundary, justification: 'A repair' }
    const { body: request } = await as(friend, 'POST', `${authorization}/jitRequests`, wanted)
    const approved = await as(owner, 'POST', `${authorization}/jitRequests/${request.id}/approve`)
    expect([approved.status, approved.body.status]).to.deep.equal([200, 'Active'])
  })

  it('accepts an invitation by the verified address of the token, without an account here', async () => {
    const email = `${randomUUID()}@example.com`
    const invited = await as(owner, 'POST', `${authorization}/invitations`, { email, roleDefinitionName: 'Reader' })
    expect([invited.status, invited.body.hasAccount]).to.deep.equal([201, true])
    const token = await tokenFromMail(email, 1, own.controlPlane.folder)
    const names = { firstName: 'Ada', lastName: 'Lovelace', password: 'Correct-horse-42-battery' }
    const password = await ask(undefined, 'POST', `/invitations/${token}/set-password`, names)
    expect(outcome(password)).to.deep.equal([400, 'invalid_state'])
    const guest = randomUUID()
    const stranger = await issuer.token(guest, { email: 'other@example.com', email_verified: true })
    expect(outcome(await ask(stranger, 'POST', '/invitations/accept', { token }))).to.deep.equal([
      409,
      'email_mismatch',
    ])
    const theirs = await issuer.token(guest, { email, email_verified: true })
    expect((await ask(theirs, 'POST', '/invitations/accept', { token })).status).to.equal(200)
    await untilReads(guest)
  })

  it('refuses to remove the last Owner, until there is another', async () => {
    const { body } = await as(owner, 'POST', '/boundaries', { displayName: 'Handed on' })
    const place = `/boundaries/${body.id}`
    const leave = () => as(owner, 'DELETE', `${place}/iam/members/${owner}`)
    expect(outcome(await leave())).to.deep.equal([409, 'last_owner'])
    const next = { principalId: friend, roleDefinitionName: 'Owner' }
    expect((await as(owner, 'POST', `${place}/members`, next)).status).to.equal(201)
    expect((await leave()).status).to.equal(204)
  })

  it('refuses changes of accounts, passwords and identity providers', async () => {
    const { body } = await as(owner, 'GET', boundary)
    const tenant = `/admin/tenants/${body.tenantId}`
    const provider = { alias: 'acme', displayName: 'Acme', protocol: 'Oidc', clientId: 'freehold', clientSecret: 'x' }
    const metadataUrl = 'https://login.acme.example/.well-known/openid-configuration'
    const made = await as(owner, 'POST', `${tenant}/sso/identity-providers`, { ...provider, metadataUrl })
    expect(outcome(made)).to.deep.equal([501, 'NOT_IMPLEMENTED'])
    const user = { userId: friend, tenantId: body.tenantId }
    expect(outcome(await as(owner, 'POST', '/admin/iam/members', user))).to.deep.equal([404, 'unknown_user'])
    const password = { password: 'Correct-horse-42-battery' }
    const changed = await as(owner, 'POST', '/identity/change-password', password)
    expect(outcome(changed)).to.deep.equal([401, 'unknown_user'])
  })

  it('rejects a person whose PlatformUser is disabled, by REST and by the API server', async () => {
    const person = randomUUID()
    const email = `${person}@example.com`
    const ref = { name: person, namespace: SYSTEM_NAMESPACE }
    await own.admin.create(PlatformUser.resource, {
      apiVersion: PlatformUser.apiVersion,
      kind: PlatformUser.kind,
      metadata: ref,
      spec: { userName: email, email, emailVerified: true },
    })
    await until('the person is known', async () => (await give(person)).status === 201)
    await untilReads(person)
    expect((await as(owner, 'GET', `/admin/users/${person}`)).body).to.include({ isExternal: true })
    const password = { password: 'Correct-horse-42-battery' }
    const changed = await as(person, 'POST', '/identity/change-password', password)
    expect(outcome(changed)).to.deep.equal([409, 'not_locally_authenticated'])
    const token = await issuer.token(person)
    expect(await statusAtApiServer(token)).to.equal(200)
    await own.admin.mergePatch(PlatformUser.resource, ref, { spec: { isEnabled: false } })
    const refused = await until('REST rejects the person', async () => {
      const answer = await as(person, 'GET', boundary)
      return answer.status === 401 && answer
    })
    expect(refused.body.error).to.equal('The principal of the access token is disabled.')
    expect(await statusAtApiServer(token)).to.equal(403)
    await own.admin.remove(PlatformUser.resource, ref)
  })
})
