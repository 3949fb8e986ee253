import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import { PlatformUser } from '../../src/crds/identity.ts'
import { PlatformTenant, PrincipalGroup } from '../../src/crds/rbac.ts'
import { SsoConnection } from '../../src/crds/sso.ts'
import { secret } from '../../src/kube/builtin.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { call, type ErrorBody, expectCall, makeBoundary, makeCaller, uniqueName, until } from '../worlds/platform.ts'
import { administrator } from '../worlds/tenant.ts'

type Binding = {
  id: string
  claim: string
  claimValue: string
  groupId: string | null
  scope: string | null
  matchedUserCount: number
}
type Provider = { alias: string; hasClientSecret: boolean; redirectUri: string; status: string; displayName: string }
type Sso = {
  enabled: boolean
  domains: { domain: string; status: string; verificationRecord: { name: string; value: string } }[]
  identityProviders: Provider[]
}

const ENDPOINTS = {
  issuer: 'https://login.acme.example',
  authorizationUrl: 'https://login.acme.example/auth',
  tokenUrl: 'https://login.acme.example/token',
  jwksUrl: 'https://login.acme.example/keys',
}

async function makeTenant(): Promise<{ id: string; path: string }> {
  const id = randomUUID()
  const { apiVersion, kind, resource } = PlatformTenant
  const object = { apiVersion, kind, metadata: { name: id }, spec: { displayName: uniqueName('Tenant') } }
  await (await administrator()).create(resource, object as KubeObject)
  const path = `/admin/tenants/${id}`
  await until(`tenant ${id} is known`, async () => (await call('GET', `${path}/sso`)).status === 200)
  return { id, path }
}

/** A person as created by a sign-in through the issuer. */
async function arrive(tenantId: string, groups: string[]): Promise<string> {
  const id = randomUUID()
  const { apiVersion, kind, resource } = PlatformUser
  const externalIdentity = { tenantId, alias: 'acme', issuer: ENDPOINTS.issuer, subject: id, claims: { groups } }
  const spec = { userName: id, isExternal: true, tenantIds: [tenantId], externalIdentity }
  const metadata = { namespace: SYSTEM_NAMESPACE, name: id }
  await (await administrator()).create(resource, { apiVersion, kind, metadata, spec } as KubeObject)
  return id
}

describe('bindings of external issuers', () => {
  let path: string
  let boundaryId: string
  const claim = () => ({ issuer: ENDPOINTS.issuer, claimValue: uniqueName('staff') })
  before(async () => {
    path = `${(await makeTenant()).path}/idp-bindings`
    boundaryId = (await makeBoundary()).id
  })

  it('creates a binding of a role at a scope, lists it and deletes it', async () => {
    const body = { ...claim(), roleDefinitionName: 'Reader', scope: `/boundaries/${boundaryId}` }
    const made = await expectCall<Binding>(201, 'POST', path, body)
    expect(made.body).to.include({ claim: 'groups', groupId: null, scope: body.scope, matchedUserCount: 0 })
    const list = await call<{ items: Binding[] }>('GET', path)
    expect(list.body.items.map(({ id }) => id)).to.include(made.body.id)
    expect((await call('POST', path, body)).body.code).to.equal('already_exists')
    expect((await call('DELETE', `${path}/${made.body.id}`)).status).to.equal(204)
    expect((await call('DELETE', `${path}/${made.body.id}`)).status).to.equal(404)
  })

  it('grants the role to people with the claim until the binding is deleted', async () => {
    const scope = `/boundaries/${boundaryId}`
    const body = { ...claim(), roleDefinitionName: 'Reader', scope }
    const { body: made } = await expectCall<Binding>(201, 'POST', path, body)
    const principalId = await arrive(path.split('/')[3] ?? '', ['x', body.claimValue])
    const isAllowed = async () => {
      const question = { principalId, action: 'boundaries/read' }
      const check = `${scope}/providers/authorization/checkAccess`
      const { body } = await expectCall<{ results: { allowed: boolean }[] }>(200, 'POST', check, question)
      return body.results[0]?.allowed === true
    }
    await until('the person may read', isAllowed)
    expect((await call('DELETE', `${path}/${made.id}`)).status).to.equal(204)
    await until('the person may no longer', async () => !(await isAllowed()))
  })

  it('adds people with the claim to a group until the binding is deleted', async () => {
    const { body } = await expectCall<{ id: string }>(
      201,
      'POST',
      `/boundaries/${boundaryId}/providers/authorization/groups`,
      { displayName: uniqueName('Staff') },
    )
    const { body: made } = await expectCall<Binding>(201, 'POST', path, { ...claim(), groupId: body.id })
    expect(made.groupId).to.equal(body.id)
    const user = await arrive(path.split('/')[3] ?? '', [made.claimValue])
    const admin = await administrator()
    const ref = { namespace: boundaryNamespace(boundaryId), name: body.id }
    const members = async () =>
      (await admin.get<KubeObject & { spec: { memberIds: string[] } }>(PrincipalGroup.resource, ref)).spec.memberIds
    await until('the person is a member', async () => (await members()).includes(user))
    const [shown] = (await call<{ items: Binding[] }>('GET', path)).body.items.filter(({ id }) => id === made.id)
    expect(shown?.matchedUserCount).to.equal(1)
    expect((await call('DELETE', `${path}/${made.id}`)).status).to.equal(204)
    await until('the person left with the binding', async () => (await members()).length === 0)
  })

  const refusals: [string, () => object, number, string][] = [
    [
      'a group together with a role',
      () => ({ groupId: randomUUID(), roleDefinitionName: 'Reader', scope: '/' }),
      400,
      'BAD_REQUEST',
    ],
    ['no group and no role', () => ({}), 400, 'BAD_REQUEST'],
    ['a role without a scope', () => ({ roleDefinitionName: 'Reader' }), 400, 'BAD_REQUEST'],
    [
      'a scope with a trailing slash',
      () => ({ roleDefinitionName: 'Reader', scope: '/boundaries/' }),
      400,
      'BAD_REQUEST',
    ],
    ['an http issuer', () => ({ issuer: 'http://login.acme.example', groupId: randomUUID() }), 400, 'url_not_allowed'],
    ['an unknown role', () => ({ roleDefinitionName: 'Wizard', scope: '/' }), 400, 'unknown_role'],
    [
      'a role of the root at a boundary',
      () => ({ roleDefinitionName: 'Platform Reader', scope: `/boundaries/${boundaryId}` }),
      403,
      'forbidden',
    ],
    [
      'an unknown boundary',
      () => ({ roleDefinitionName: 'Reader', scope: `/boundaries/${randomUUID()}` }),
      422,
      'boundary_not_found',
    ],
    ['an unknown group', () => ({ groupId: randomUUID() }), 422, 'principal_not_found'],
  ]
  for (const [title, change, status, code] of refusals) {
    it(`rejects ${title} with ${status} ${code}`, async () => {
      const answer = await call('POST', path, { ...claim(), ...change() })
      expect([answer.status, answer.body.code, answer.body.module]).to.deep.equal([status, code, 'rbac'])
    })
  }

  it('hides bindings from other tenants', async () => {
    const made = await expectCall<Binding>(201, 'POST', path, { ...claim(), roleDefinitionName: 'Reader', scope: '/' })
    const other = await makeTenant()
    expect((await call<{ items: [] }>('GET', `${other.path}/idp-bindings`)).body.items).to.deep.equal([])
    expect((await call('DELETE', `${other.path}/idp-bindings/${made.body.id}`)).status).to.equal(404)
  })
})

describe('single sign-on of a tenant', () => {
  let tenant: { id: string; path: string }
  let sso: string
  let providers: string
  beforeEach(async () => {
    tenant = await makeTenant()
    sso = `${tenant.path}/sso`
    providers = `${sso}/identity-providers`
  })
  const acme = (change: object = {}) => ({
    alias: 'acme',
    displayName: 'Acme',
    ...ENDPOINTS,
    clientId: 'freehold',
    clientSecret: uniqueName('a-secret-of-acme'),
    ...change,
  })
  const stored = async () =>
    (await administrator()).get<SsoConnection & KubeObject>(SsoConnection.resource, {
      namespace: SYSTEM_NAMESPACE,
      name: tenant.id,
    })

  it('is empty at first, and returns 404 without the tenant and 403 without the permission', async () => {
    const { body } = await expectCall<Sso>(200, 'GET', sso)
    expect(body).to.deep.include({ tenantId: tenant.id, enabled: false, domains: [], identityProviders: [] })
    for (const id of [randomUUID(), 'x']) {
      const answer = await call('GET', `/admin/tenants/${id}/sso`)
      expect([answer.status, answer.body.code]).to.deep.equal([404, 'NOT_FOUND'])
    }
    const reader = await makeCaller({ 'Platform Reader': '/' })
    expect((await call('GET', sso, undefined, { token: reader.token })).status).to.equal(403)
    expect((await call('GET', sso, undefined, { token: null })).status).to.equal(401)
  })

  it('replaces domains, each with its verification record, and returns 409 for a domain of another tenant', async () => {
    const [first, second] = [`${uniqueName('a')}.example`, `${uniqueName('b')}.example`]
    const { body } = await expectCall<Sso>(200, 'PUT', `${sso}/domains`, { domains: [first.toUpperCase(), second] })
    expect(body.domains.map(({ domain }) => domain)).to.deep.equal([first, second])
    expect(body.domains[0]?.verificationRecord.name).to.equal(`_freehold-challenge.${first}`)
    expect(body.domains.every(({ status }) => status !== 'Verified')).to.equal(true)
    const next = await expectCall<Sso>(200, 'PUT', `${sso}/domains`, { domains: [second] })
    expect(next.body.domains.map(({ domain }) => domain)).to.deep.equal([second])
    const other = await makeTenant()
    const taken = await call<ErrorBody & { domains: string[] }>('PUT', `${other.path}/sso/domains`, {
      domains: [second],
    })
    expect([taken.status, taken.body.code, taken.body.domains]).to.deep.equal([409, 'domain_taken', [second]])
    expect((await call('PUT', `${other.path}/sso/domains`, { domains: [first] })).status).to.equal(200)
  })

  for (const domains of [
    ['no dots'],
    ['example'],
    ['-a.example'],
    ['a.example', 'A.example'],
    [`${'x'.repeat(64)}.example`],
  ]) {
    it(`rejects the domains ${domains.join(', ').slice(0, 40)}`, async () => {
      const answer = await call('PUT', `${sso}/domains`, { domains })
      expect([answer.status, answer.body.code]).to.deep.equal([400, 'BAD_REQUEST'])
    })
  }

  it('stores an identity provider, whose secret is in a Secret only', async () => {
    const body = acme()
    const made = await expectCall<Provider>(201, 'POST', providers, body)
    expect(made.body).to.include({ alias: 'acme', hasClientSecret: true, status: 'Active' })
    expect(made.body.redirectUri).to.match(/^https:\/\/.*\/broker\/acme-[0-9a-f]{10}\/endpoint$/)
    const shown = await expectCall<Sso>(200, 'GET', sso)
    const record = await stored()
    expect(`${made.text} ${shown.text} ${JSON.stringify(record)}`).not.to.contain(body.clientSecret)
    const name = record.spec.identityProviders[0]?.clientSecretName ?? ''
    const admin = await administrator()
    const found = await admin.get<KubeObject & { data: Record<string, string> }>(secret, {
      namespace: SYSTEM_NAMESPACE,
      name,
    })
    expect(Buffer.from(found.data['client-secret'] ?? '', 'base64').toString()).to.equal(body.clientSecret)
    expect(found.metadata.ownerReferences?.[0]).to.include({ kind: 'SsoConnection', uid: record.metadata.uid })
    const again = await call('POST', providers, acme())
    expect([again.status, again.body.code]).to.deep.equal([409, 'already_exists'])
    expect(again.text).not.to.contain('a-secret-of-acme')
  })

  it('patches an identity provider, keeps or replaces its secret, and deletes it', async () => {
    await expectCall(201, 'POST', providers, acme())
    const one = `${providers}/acme`
    const before = (await stored()).spec.identityProviders[0]?.clientSecretName ?? ''
    const kept = await expectCall<Provider>(200, 'PATCH', one, {
      displayName: 'Acme two',
      enabled: false,
      clientSecret: null,
      hasClientSecret: false,
    })
    expect(kept.body).to.include({ displayName: 'Acme two', status: 'Disabled', hasClientSecret: true })
    expect((await stored()).spec.identityProviders[0]?.clientSecretName).to.equal(before)
    await expectCall(200, 'PATCH', one, { clientSecret: 'another-secret-of-acme', enabled: null })
    const after = (await stored()).spec.identityProviders[0]?.clientSecretName ?? ''
    expect(after).not.to.equal(before)
    const admin = await administrator()
    const missing = (name: string) =>
      admin.get(secret, { namespace: SYSTEM_NAMESPACE, name }).then(
        () => false,
        () => true,
      )
    expect([await missing(before), await missing(after)]).to.deep.equal([true, false])
    expect((await call('DELETE', one)).status).to.equal(204)
    expect(await missing(after)).to.equal(true)
    expect((await call('DELETE', one)).status).to.equal(404)
    expect((await call('PATCH', one, { displayName: 'x' })).status).to.equal(404)
  })

  const patches: [string, object, string, string][] = [
    ['another alias', { alias: 'other' }, 'BAD_REQUEST', 'alias'],
    ['another protocol', { protocol: 'Saml' }, 'BAD_REQUEST', 'protocol'],
    ['an unknown field', { color: null }, 'MODEL_BINDING_FAILED', 'color'],
    ['a wrong type', { enabled: 'yes' }, 'MODEL_BINDING_FAILED', 'enabled'],
    ['no JWKS URL', { jwksUrl: null }, 'BAD_REQUEST', 'metadataUrl'],
  ]
  for (const [title, patch, code, field] of patches) {
    it(`rejects a patch with ${title} with 400 ${code}`, async () => {
      await expectCall(201, 'POST', providers, acme())
      const answer = await call('PATCH', `${providers}/acme`, patch)
      expect([answer.status, answer.body.code, answer.body.errors?.[0]?.field]).to.deep.equal([400, code, field])
    })
  }

  it('returns 409 for a stale If-Match', async () => {
    await expectCall(201, 'POST', providers, acme())
    const answer = await call('PATCH', `${providers}/acme`, { displayName: 'x' }, { headers: { 'if-match': '"99-1"' } })
    expect([answer.status, answer.body.code]).to.deep.equal([409, 'conflict'])
  })

  const metadataUrl = (url: string) => ({
    ...Object.fromEntries(Object.keys(ENDPOINTS).map((name) => [name, null])),
    metadataUrl: url,
  })
  const refusals: [string, object, number, string][] = [
    ['an http URL', { tokenUrl: 'http://login.acme.example/token' }, 400, 'url_not_allowed'],
    ['a loopback address', { jwksUrl: 'https://127.0.0.1/keys' }, 400, 'url_not_allowed'],
    ['a cloud metadata address', metadataUrl('https://169.254.169.254/latest'), 400, 'url_not_allowed'],
    ['an internal host name', metadataUrl('https://kubernetes.default.svc/'), 400, 'url_not_allowed'],
    ['a URL with a password', { issuer: 'https://u:p@login.acme.example' }, 400, 'url_not_allowed'],
    ['no endpoints', { jwksUrl: null }, 400, 'BAD_REQUEST'],
    ['no secret', { clientSecret: null }, 400, 'BAD_REQUEST'],
    ['an invalid alias', { alias: 'A b' }, 400, 'BAD_REQUEST'],
    ['an unknown field of the provider', { color: 'red' }, 400, 'MODEL_BINDING_FAILED'],
    ['an unknown default role', { defaultRoleDefinitionName: 'Wizard' }, 400, 'unknown_role'],
    [
      'SAML, which the local identity provider does not support',
      { protocol: 'saml', signingCertificate: '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----' },
      501,
      'NOT_IMPLEMENTED',
    ],
    [
      'a provider that does not answer',
      metadataUrl('https://missing.invalid/.well-known/openid-configuration'),
      502,
      'upstream_failed',
    ],
  ]
  for (const [title, change, status, code] of refusals) {
    it(`rejects ${title} with ${status} ${code}, and stores nothing`, async () => {
      const answer = await call('POST', providers, acme(change))
      expect([answer.status, answer.body.code]).to.deep.equal([status, code])
      expect(answer.text).not.to.contain('a-secret-of-acme')
      expect((await expectCall<Sso>(200, 'GET', sso)).body.identityProviders).to.deep.equal([])
    })
  }
})
