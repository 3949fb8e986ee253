import { expect } from 'chai'
import { ControllerBench } from '../../test/worlds/controllers.ts'
import { OutgoingError } from '../adapters/outgoing/port.ts'
import { verificationRecord } from '../contracts/sso.ts'
import { SYSTEM_NAMESPACE } from '../core/names.ts'
import { PlatformTenant } from '../crds/rbac.ts'
import { SsoConnection } from '../crds/sso.ts'
import { ssoController } from './sso.ts'

const TENANT = '7b0c5d6e-1f2a-4b3c-8d4e-5f6a7b8c9d0e'
const OTHER = '8c1d6e7f-2a3b-4c4d-9e5f-6a7b8c9d0e1f'
const METADATA = 'https://login.acme.example/.well-known/openid-configuration'
const DISCOVERY = JSON.stringify({
  issuer: 'https://login.acme.example',
  authorization_endpoint: 'https://login.acme.example/auth',
  token_endpoint: 'https://login.acme.example/token',
  jwks_uri: 'https://login.acme.example/keys',
})
const ACME = {
  alias: 'acme',
  displayName: 'Acme',
  protocol: 'Oidc',
  metadataUrl: METADATA,
  clientId: 'x',
  clientSecretName: 'sso-x',
  emailClaim: 'email',
  trustEmail: false,
  enabled: true,
}

describe('SsoConnection controller', () => {
  let bench: ControllerBench
  let texts: Map<string, string[]>
  let document: () => Promise<string>
  beforeEach(() => {
    texts = new Map()
    document = async () => DISCOVERY
    const dns = { texts: async (name: string) => texts.get(name) ?? [] }
    bench = new ControllerBench([ssoController({ dns, outgoing: { document: () => document() }, protocols: ['Oidc'] })])
  })
  afterEach(() => bench.stop())

  const connection = (name: string, spec: object, creationTimestamp = '2026-01-01T00:00:00Z') =>
    bench.seed(SsoConnection, name, { domains: [], identityProviders: [], ...spec }, {
      namespace: SYSTEM_NAMESPACE,
      creationTimestamp,
    } as { namespace: string })
  const status = async (name = TENANT) =>
    (await bench.find(SsoConnection.resource, name, SYSTEM_NAMESPACE))?.status as SsoConnection['status']
  const publish = (domain: string, tenantId = TENANT) => {
    const record = verificationRecord(tenantId, domain)
    texts.set(record.name, ['v=spf1 -all', record.value])
  }

  it('verifies a domain once its TXT record is published, and keeps it verified without the record', async () => {
    connection(TENANT, { domains: ['acme.example'] })
    await bench.start()
    expect((await status())?.domains).to.deep.equal([{ domain: 'acme.example', status: 'Pending' }])
    publish('acme.example')
    await bench.clock.advance(300_001)
    await bench.rest()
    const [first] = (await status())?.domains ?? []
    expect(first).to.include({ status: 'Verified' })
    expect(first?.verifiedAt).to.be.a('string')
    texts.clear()
    bench.writes()
    await bench.clock.advance(86_400_000)
    await bench.rest()
    expect(bench.writes()).to.deep.equal([])
  })

  it('sets the tenant as its owner', async () => {
    connection(TENANT, { domains: [] })
    await bench.start()
    const found = () => bench.find(SsoConnection.resource, TENANT, SYSTEM_NAMESPACE)
    expect((await found())?.metadata.ownerReferences).to.equal(undefined)
    const tenant = bench.seed(PlatformTenant, TENANT, { displayName: 'Acme' })
    bench.seed(PlatformTenant, OTHER, { displayName: 'Other' })
    await bench.rest()
    expect((await found())?.metadata.ownerReferences?.map(({ kind, uid }) => [kind, uid])).to.deep.equal([
      ['PlatformTenant', tenant.metadata.uid],
    ])
    bench.writes()
    await bench.clock.advance(60_000)
    expect(bench.writes()).to.deep.equal([])
  })

  it('verifies a domain once an older connection of another tenant releases it', async () => {
    publish('acme.example')
    connection(OTHER, { domains: ['acme.example'] }, '2025-01-01T00:00:00Z')
    connection(TENANT, { domains: ['acme.example'] })
    await bench.start()
    expect((await status())?.domains?.[0]?.status).to.equal('Failed')
    const ref = { namespace: SYSTEM_NAMESPACE, name: OTHER }
    await bench.client.mergePatch(SsoConnection.resource, ref, { spec: { domains: [] } })
    await bench.rest()
    expect((await status())?.domains?.[0]?.status).to.equal('Verified')
  })

  it('rejects the TXT record of another tenant', async () => {
    connection(TENANT, { domains: ['acme.example'] })
    publish('acme.example', OTHER)
    await bench.start()
    expect((await status())?.domains?.[0]?.status).to.equal('Pending')
  })

  it('reports Failed for a domain that an older connection names', async () => {
    connection(TENANT, { domains: ['acme.example'] })
    connection(OTHER, { domains: ['acme.example'] }, '2026-02-01T00:00:00Z')
    publish('acme.example', OTHER)
    await bench.start()
    expect((await status(OTHER))?.domains).to.deep.equal([{ domain: 'acme.example', status: 'Failed' }])
    expect((await status())?.domains?.[0]?.status).to.equal('Pending')
  })

  it('reports an identity provider that does not answer until it does', async () => {
    connection(TENANT, { identityProviders: [ACME, { ...ACME, alias: 'off', enabled: false }] })
    document = () => Promise.reject(new OutgoingError('Unreachable', 'login.acme.example answers with status 500.'))
    await bench.start()
    expect((await status())?.identityProviders).to.deep.equal([
      { alias: 'acme', status: 'Failing', lastError: 'login.acme.example answers with status 500.' },
      { alias: 'off', status: 'Disabled' },
    ])
    expect((await status())?.phase).to.equal('PartiallyAvailable')
    document = async () => DISCOVERY
    await bench.clock.advance(300_001)
    await bench.rest()
    expect((await status())?.identityProviders?.[0]).to.deep.equal({ alias: 'acme', status: 'Active' })
  })

  it('reports a missing client secret and how to set it', async () => {
    connection(TENANT, { identityProviders: [ACME] })
    await bench.start()
    const found = (missingSecrets: string[] | null) =>
      bench.client.mergePatch(
        SsoConnection.resource,
        { namespace: SYSTEM_NAMESPACE, name: TENANT },
        { status: { missingSecrets } },
        { subresource: 'status' },
      )
    await found(['sso-x'])
    await bench.rest()
    const missing = await status()
    expect([missing?.status, missing?.phase]).to.deep.equal(['Degraded', 'ReferenceMissing'])
    expect(missing?.statusMessage).to.match(
      /"sso-x" of the identity provider "acme" is missing.*set its clientSecret again/,
    )
    expect(missing?.identityProviders?.[0]).to.deep.equal({
      alias: 'acme',
      status: 'Failing',
      lastError: missing?.statusMessage,
    })
    await found(null)
    await bench.rest()
    expect((await status())?.identityProviders?.[0]).to.deep.equal({ alias: 'acme', status: 'Active' })
  })

  it('reports a provider whose metadata has another issuer than the connection', async () => {
    connection(TENANT, { identityProviders: [{ ...ACME, issuer: 'https://login.evil.example' }] })
    await bench.start()
    const found = await status()
    expect(found?.identityProviders).to.deep.equal([
      {
        alias: 'acme',
        status: 'Failing',
        lastError: 'The document at "metadataUrl" is of a different issuer than "issuer" names.',
      },
    ])
    expect(found?.phase).to.equal('PartiallyAvailable')
  })

  it('reports a provider of a protocol that the platform does not support', async () => {
    connection(TENANT, { identityProviders: [{ ...ACME, protocol: 'Saml' }] })
    await bench.start()
    const found = await status()
    const lastError = 'The identity provider of this platform does not support Saml for single sign-on, only Oidc.'
    expect(found?.identityProviders).to.deep.equal([{ alias: 'acme', status: 'Failing', lastError }])
    expect(found).to.include({ phase: 'ConfigurationInvalid', statusMessage: `Identity provider "acme": ${lastError}` })
  })

  it('reports a provider whose metadata has an issuer at another host', async () => {
    connection(TENANT, { identityProviders: [ACME] })
    document = async () => DISCOVERY.replace('"https://login.acme.example"', '"https://login.evil.example"')
    await bench.start()
    expect((await status())?.identityProviders?.[0]?.status).to.equal('Failing')
  })
})
