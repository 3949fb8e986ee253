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

describe('what Keycloak is told of connections', () => {
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

  it('is the whole of a tenant: verified domains, endpoints and secrets', async () => {
    await write()
    await follower.whenIdle()
    expect(federation.tenants.get(TENANT)?.domains).to.deep.equal([])
    verify()
    await until('the domain is told', async () => (federation.tenants.get(TENANT)?.domains.length ?? 0) > 0)
    const told = federation.tenants.get(TENANT)
    expect(told?.domains).to.deep.equal(['acme.example'])
    expect(told?.providers[0]).to.include({
      alias: 'acme',
      clientSecret: 'the secret',
      issuer: 'https://login.acme.example',
      tokenUrl: 'https://login.acme.example/token',
    })
  })

  it('is the value that a secret has now, also under the name that it had before, and one that comes late', async () => {
    secrets.delete('sso-acme')
    await write()
    await follower.whenIdle()
    const told = () => federation.tenants.get(TENANT)?.providers[0]?.clientSecret
    expect(told()).to.equal(undefined)
    const ref = { namespace, name: 'sso-acme' }
    secrets.set('sso-acme', 'the first')
    await kube.create(secret, { apiVersion: 'v1', kind: 'Secret', metadata: ref } as KubeObject)
    await until('the first is told', async () => told() === 'the first')
    secrets.set('sso-acme', 'the second')
    await kube.mergePatch(secret, ref, { data: { 'client-secret': 'eA==' } })
    await until('the second is told', async () => told() === 'the second')
  })

  it('is the name of the tenant, also once it has another one or comes late', async () => {
    await write()
    await follower.whenIdle()
    const name = () => federation.tenants.get(TENANT)?.displayName
    const [apiVersion, kind] = [PlatformTenant.apiVersion, PlatformTenant.kind]
    await kube.create(PlatformTenant.resource, {
      ...{ apiVersion, kind, metadata: { name: TENANT }, spec: { displayName: 'Acme' } },
    } as KubeObject)
    await until('the name is told', async () => name() === 'Acme')
    await kube.mergePatch(PlatformTenant.resource, { name: TENANT }, { spec: { displayName: 'Acme & co' } })
    await until('the other name is told', async () => name() === 'Acme & co')
  })

  it('is nothing of a provider whose metadata is of another issuer than it names', async () => {
    await write({ issuer: 'https://login.evil.example' })
    await follower.whenIdle()
    expect(federation.tenants.get(TENANT)?.providers).to.deep.equal([])
  })

  it('is all that is known of a tenant also while the metadata of one of its providers cannot be read', async () => {
    await write({}, { ...acme, alias: 'away', metadataUrl: 'https://away.acme.example/metadata' })
    await follower.whenIdle()
    const told = federation.tenants.get(TENANT)
    expect(told?.providers.map(({ alias }) => alias)).to.deep.equal(['acme'])
    expect(told?.unread).to.deep.equal([{ alias: 'away', enabled: true }])
    expect(clock.pending).to.equal(1)
  })

  it('is that a provider is disabled, also where its metadata cannot be read', async () => {
    await write({ metadataUrl: 'https://away.acme.example/metadata', enabled: false })
    await follower.whenIdle()
    expect(federation.tenants.get(TENANT)?.unread).to.deep.equal([{ alias: 'acme', enabled: false }])
    expect(clock.pending).to.equal(0)
  })

  it('follows what kubectl changes and deletes', async () => {
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

  it('is told again when Keycloak was away, at growing intervals', async () => {
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

  it('is what metadata says by now, each hour: keys of a provider do not last', async () => {
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

  it('is told once where no metadata is to be read, and no more of a connection that is gone', async () => {
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
