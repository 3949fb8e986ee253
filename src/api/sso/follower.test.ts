import { expect } from 'chai'
import { ManualClock } from '../../../test/make/clock.ts'
import { FakeFederation, makeSso } from '../../../test/make/sso.ts'
import { until } from '../../../test/make/until.ts'
import { IdentityProviderError } from '../../adapters/identity/port.ts'
import { silentLog } from '../../core/log.ts'
import { PlatformTenant } from '../../crds/rbac.ts'
import { SsoConnection } from '../../crds/sso.ts'
import { secret } from '../../kube/builtin.ts'
import { CacheSet, withCaches } from '../../kube/caches.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import type { KubeObject } from '../../kube/object.ts'
import { followConnections } from './follower.ts'

const TENANT = '7b0c5d6e-1f2a-4b3c-8d4e-5f6a7b8c9d0e'
const METADATA = 'https://login.acme.example/.well-known/openid-configuration'
const DISCOVERY = JSON.stringify({
  issuer: 'https://login.acme.example',
  authorization_endpoint: 'https://login.acme.example/auth',
  token_endpoint: 'https://login.acme.example/token',
  jwks_uri: 'https://login.acme.example/keys',
})
const namespace = 'freehold-system'

describe('followConnections', () => {
  let federation: FakeFederation
  let clock: ManualClock
  let kube: FakeKubeClient
  let caches: CacheSet
  let follower: ReturnType<typeof followConnections>
  let secrets: Map<string, string>
  let documents: Record<string, string>

  beforeEach(async () => {
    federation = new FakeFederation(['Oidc', 'Saml'])
    clock = new ManualClock()
    ;({ client: kube, caches } = withCaches(
      (observer) => new FakeKubeClient({ observer }),
      (client) => new CacheSet({ client }),
    ))
    for (const resource of [SsoConnection.resource, PlatformTenant.resource, secret]) caches.add(resource)
    caches.start()
    await caches.whenAllSynced()
    documents = { [METADATA]: DISCOVERY }
    const made = makeSso(documents, federation)
    const { sso } = made
    secrets = made.secrets
    secrets.set('sso-acme', 'the secret')
    follower = followConnections({
      connections: caches.get(SsoConnection.resource),
      tenants: caches.get(PlatformTenant.resource),
      secrets: caches.get(secret),
      sso,
      clock,
      log: silentLog,
    })
  })
  afterEach(async () => {
    follower.stop()
    await caches.stopAll()
  })

  const acme = {
    alias: 'acme',
    displayName: 'Acme',
    protocol: 'Oidc',
    metadataUrl: METADATA,
    clientId: 'freehold',
    clientSecretName: 'sso-acme',
    emailClaim: 'email',
    trustEmail: false,
    enabled: true,
  }
  async function write(change: object = {}, ...others: object[]): Promise<void> {
    await kube.create(SsoConnection.resource, {
      apiVersion: SsoConnection.apiVersion,
      kind: SsoConnection.kind,
      metadata: { namespace, name: TENANT },
      spec: { domains: ['acme.example', 'other.example'], identityProviders: [{ ...acme, ...change }, ...others] },
    } as KubeObject)
  }
  function verify(): void {
    const status = { domains: [{ domain: 'acme.example', status: 'Verified' as const }] }
    kube.edit<SsoConnection & KubeObject>(SsoConnection.resource, { namespace, name: TENANT }, (object) => {
      object.status = status
    })
  }

  it('sends verified domains, endpoints and secrets of a tenant to Keycloak', async () => {
    await write()
    await follower.whenIdle()
    expect(federation.tenants.get(TENANT)?.domains).to.deep.equal([])
    verify()
    await until('the domain is sent', async () => (federation.tenants.get(TENANT)?.domains.length ?? 0) > 0)
    const sent = federation.tenants.get(TENANT)
    expect(sent?.domains).to.deep.equal(['acme.example'])
    expect(sent?.providers[0]).to.include({
      alias: 'acme',
      clientSecret: 'the secret',
      issuer: 'https://login.acme.example',
      tokenUrl: 'https://login.acme.example/token',
    })
  })

  it('sends a client secret that is created late or changed', async () => {
    secrets.delete('sso-acme')
    await write()
    await follower.whenIdle()
    const sentSecret = () => federation.tenants.get(TENANT)?.providers[0]?.clientSecret
    expect(sentSecret()).to.equal(undefined)
    const ref = { namespace, name: 'sso-acme' }
    secrets.set('sso-acme', 'the first')
    await kube.create(secret, { apiVersion: 'v1', kind: 'Secret', metadata: ref } as KubeObject)
    await until('the first value is sent', async () => sentSecret() === 'the first')
    secrets.set('sso-acme', 'the second')
    await kube.mergePatch(secret, ref, { data: { 'client-secret': 'eA==' } })
    await until('the second value is sent', async () => sentSecret() === 'the second')
  })

  it('sends the display name of a tenant that is created late or renamed', async () => {
    await write()
    await follower.whenIdle()
    const name = () => federation.tenants.get(TENANT)?.displayName
    const [apiVersion, kind] = [PlatformTenant.apiVersion, PlatformTenant.kind]
    await kube.create(PlatformTenant.resource, {
      ...{ apiVersion, kind, metadata: { name: TENANT }, spec: { displayName: 'Acme' } },
    } as KubeObject)
    await until('the name is sent', async () => name() === 'Acme')
    await kube.mergePatch(PlatformTenant.resource, { name: TENANT }, { spec: { displayName: 'Acme & co' } })
    await until('the new name is sent', async () => name() === 'Acme & co')
  })

  it('sends no provider whose metadata has another issuer', async () => {
    await write({ issuer: 'https://login.evil.example' })
    await follower.whenIdle()
    expect(federation.tenants.get(TENANT)?.providers).to.deep.equal([])
  })

  it('sends the other providers while the metadata of one is unreachable, and retries', async () => {
    await write({}, { ...acme, alias: 'away', metadataUrl: 'https://away.acme.example/metadata' })
    await follower.whenIdle()
    const sent = federation.tenants.get(TENANT)
    expect(sent?.providers.map(({ alias }) => alias)).to.deep.equal(['acme'])
    expect(sent?.unread).to.deep.equal([{ alias: 'away', enabled: true }])
    expect(clock.pending).to.equal(1)
  })

  it('sends that a provider is disabled even if its metadata is unreachable', async () => {
    await write({ metadataUrl: 'https://away.acme.example/metadata', enabled: false })
    await follower.whenIdle()
    expect(federation.tenants.get(TENANT)?.unread).to.deep.equal([{ alias: 'acme', enabled: false }])
    expect(clock.pending).to.equal(0)
  })

  it('applies changes and deletions by kubectl', async () => {
    await write()
    await follower.whenIdle()
    const patch = { spec: { identityProviders: [] } }
    await kube.mergePatch(SsoConnection.resource, { namespace, name: TENANT }, patch)
    await follower.whenIdle()
    expect(federation.tenants.get(TENANT)?.providers).to.deep.equal([])
    await kube.remove(SsoConnection.resource, { namespace, name: TENANT })
    await follower.whenIdle()
    expect(federation.tenants.has(TENANT)).to.equal(false)
  })

  it('retries with backoff while Keycloak is unavailable', async () => {
    let tries = 0
    federation.apply = async (tenant) => {
      tries += 1
      if (tries < 3) throw new IdentityProviderError('Unavailable', 'Keycloak cannot be used: it does not answer.')
      federation.tenants.set(tenant.tenantId, tenant)
    }
    await write()
    await follower.whenIdle()
    await clock.advance(5_001)
    await follower.whenIdle()
    expect([tries, federation.tenants.size]).to.deep.equal([2, 0])
    await clock.advance(10_001)
    await follower.whenIdle()
    expect([tries, federation.tenants.size]).to.deep.equal([3, 1])
  })

  it('reads metadata again every hour', async () => {
    await write()
    await follower.whenIdle()
    documents[METADATA] = DISCOVERY.replace('/keys', '/later')
    await clock.advance(3_600_001)
    await follower.whenIdle()
    const keys = () => federation.tenants.get(TENANT)?.providers[0]?.jwksUrl
    expect(keys()).to.equal('https://login.acme.example/later')
    documents[METADATA] = DISCOVERY
    await clock.advance(3_600_001)
    await follower.whenIdle()
    expect(keys()).to.equal('https://login.acme.example/keys')
    expect(clock.pending).to.equal(1)
  })

  it('schedules no further read without metadata or after deletion', async () => {
    const { metadataUrl: _, ...addresses } = acme
    await write({ enabled: false })
    await follower.whenIdle()
    expect(clock.pending).to.equal(0)
    const patch = (provider: object) =>
      kube.mergePatch(SsoConnection.resource, { namespace, name: TENANT }, { spec: { identityProviders: [provider] } })
    const issuer = 'https://login.acme.example'
    await patch({ ...addresses, issuer, authorizationUrl: issuer, tokenUrl: issuer, jwksUrl: issuer })
    await follower.whenIdle()
    expect(clock.pending).to.equal(0)
    await patch(acme)
    await follower.whenIdle()
    expect(clock.pending).to.equal(1)
    await kube.remove(SsoConnection.resource, { namespace, name: TENANT })
    await follower.whenIdle()
    expect(clock.pending).to.equal(0)
  })
})
