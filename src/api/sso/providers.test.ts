import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { FakeFederation, makeSso } from '../../../test/make/sso.ts'
import { OWNER, startShop } from '../../../test/worlds/shop.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { PlatformTenant } from '../../crds/rbac.ts'
import { SsoConnection } from '../../crds/sso.ts'

const ISSUER = 'https://login.acme.example'
const METADATA = `${ISSUER}/.well-known/openid-configuration`
const DISCOVERY = JSON.stringify({
  issuer: ISSUER,
  authorization_endpoint: `${ISSUER}/auth`,
  token_endpoint: `${ISSUER}/token`,
  jwks_uri: `${ISSUER}/keys`,
})

const SAML = `<EntityDescriptor entityID="${ISSUER}"><IDPSSODescriptor><SingleSignOnService/></IDPSSODescriptor></EntityDescriptor>`

describe('an identity provider of a tenant', () => {
  const documents: Record<string, string> = { [METADATA]: DISCOVERY }
  let server: Awaited<ReturnType<typeof startShop>>
  let path: string
  beforeEach(async () => {
    server = await startShop({}, { sso: makeSso(documents, new FakeFederation(['Oidc', 'Saml'])).sso })
    server.grant(OWNER, 'Platform Owner', '/')
    const tenantId = randomUUID()
    server.put(PlatformTenant, tenantId, { displayName: 'Acme' })
    path = `/admin/tenants/${tenantId}/sso/identity-providers`
  })
  afterEach(() => server.stop())
  const acme = { alias: 'acme', displayName: 'Acme', metadataUrl: METADATA, clientId: 'freehold', clientSecret: 'x' }

  const cases: [sentence: string, issuer: string | undefined, status: number][] = [
    ['is created with the issuer of its metadata', ISSUER, 201],
    ['is created without an issuer', undefined, 201],
    ['is rejected with another issuer than its metadata', 'https://login.evil.example', 502],
    ['is rejected with an issuer that differs by a slash', `${ISSUER}/`, 502],
  ]
  for (const [sentence, issuer, status] of cases) {
    it(`${sentence}: ${status}`, async () => {
      const { status: answered, body } = await server.ask('post', path).send({ ...acme, issuer })
      expect([answered, body.code, body.field]).to.deep.equal(
        status === 201 ? [201, undefined, undefined] : [502, 'upstream_failed', 'metadataUrl'],
      )
    })
  }

  it('is rejected for a wrong field before it is for a name that is taken', async () => {
    expect((await server.ask('post', path).send(acme)).status).to.equal(201)
    const { status, body } = await server.ask('post', path).send({ ...acme, clientSecret: null })
    expect([status, body.errors?.[0]?.field], JSON.stringify(body)).to.deep.equal([400, 'clientSecret'])
    expect((await server.ask('post', path).send(acme)).body.code).to.equal('already_exists')
  })

  it('is rejected with malformed SAML metadata before anything is written', async () => {
    const address = `${ISSUER}/saml`
    const body = { alias: 'acme', displayName: 'Acme', protocol: 'Saml', metadataUrl: address }
    for (const [text, status] of [
      [SAML.slice(0, -3), 502],
      [SAML, 201],
    ] as const) {
      documents[address] = text
      const answer = await server.ask('post', path).send(body)
      expect([answer.status, answer.body.field], JSON.stringify(answer.body)).to.deep.equal([
        status,
        status === 201 ? undefined : 'metadataUrl',
      ])
      const stored = server.caches.get(SsoConnection.resource).list({ namespace: SYSTEM_NAMESPACE })
      expect(stored).to.have.length(status === 201 ? 1 : 0)
    }
  })

  it('is rejected with a signing certificate that is not PEM', async () => {
    const bodies = [
      { ...acme, signingCertificate: 'none' },
      { ...acme, signingCertificate: '-----BEGIN CERTIFICATE-----\n?\n-----END CERTIFICATE-----' },
    ]
    for (const body of bodies) {
      const answer = await server.ask('post', path).send(body)
      expect([answer.status, answer.body.errors?.[0]?.field]).to.deep.equal([400, 'signingCertificate'])
    }
    const signingCertificate = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'
    expect((await server.ask('post', path).send({ ...acme, signingCertificate })).status).to.equal(201)
  })

  it('keeps an invalid stored signing certificate until it is changed', async () => {
    const [, , , tenantId = ''] = path.split('/')
    expect((await server.ask('post', path).send(acme)).status).to.equal(201)
    const connection = { namespace: SYSTEM_NAMESPACE, name: tenantId }
    server.client.edit<SsoConnection>(SsoConnection.resource, connection, ({ spec }) => {
      for (const provider of spec.identityProviders) provider.signingCertificate = 'none'
    })
    const change = (patch: object) => server.ask('patch', `${path}/acme`).send({ clientSecret: 'x', ...patch })
    expect((await change({ displayName: 'Acme & co' })).body.signingCertificate).to.equal('none')
    expect((await change({ signingCertificate: 'none' })).status).to.equal(200)
    expect((await change({ signingCertificate: 'other' })).status).to.equal(400)
  })

  it('names a missing client secret in the form of all field errors', async () => {
    const { status, body } = await server.ask('post', path).send({ ...acme, clientSecret: undefined })
    const message = 'an identity provider of the protocol Oidc needs a client id and a client secret'
    expect([status, body.errors]).to.deep.equal([400, [{ field: 'clientSecret', message }]])
  })

  it('stays unchanged after a PATCH with another issuer than its metadata', async () => {
    expect((await server.ask('post', path).send(acme)).status).to.equal(201)
    const patch = { issuer: 'https://login.evil.example' }
    const answer = await server.ask('patch', `${path}/acme`).send(patch)
    expect([answer.status, answer.body.code]).to.deep.equal([502, 'upstream_failed'])
    const off = await server.ask('patch', `${path}/acme`).send({ displayName: 'Acme & co' })
    expect([off.status, off.body.issuer]).to.deep.equal([200, null])
  })

  describe('with changed URLs', () => {
    const elsewhere = 'https://login.other.example'
    const other = `${elsewhere}/.well-known/openid-configuration`
    const token = 'tokenUrl'
    const refused: [sentence: string, before: object, patch: object][] = [
      ['metadataUrl', {}, { metadataUrl: other }],
      ['tokenUrl', {}, { [token]: `${elsewhere}/token` }],
      ['tokenUrl removed', { [token]: `${ISSUER}/other` }, { [token]: null }],
    ]
    for (const [sentence, before, patch] of refused) {
      it(`requires the client secret again: ${sentence}`, async () => {
        expect((await server.ask('post', path).send({ ...acme, ...before })).status).to.equal(201)
        const answer = await server.ask('patch', `${path}/acme`).send(patch)
        expect([answer.status, answer.body.code, answer.body.errors?.[0]?.field]).to.deep.equal([
          ...[400, 'BAD_REQUEST', 'clientSecret'],
        ])
        const anew = await server.ask('patch', `${path}/acme`).send({ ...patch, enabled: false, clientSecret: 'y' })
        expect(anew.status, JSON.stringify(anew.body)).to.equal(200)
      })
    }

    it('keeps the secret for metadataUrl unchanged and another jwksUrl', async () => {
      expect((await server.ask('post', path).send(acme)).status).to.equal(201)
      const patch = { metadataUrl: METADATA, tokenUrl: null, jwksUrl: `${ISSUER}/other-keys` }
      expect((await server.ask('patch', `${path}/acme`).send(patch)).status).to.equal(200)
    })
  })
})
