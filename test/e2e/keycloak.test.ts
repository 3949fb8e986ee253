// @alone: Keycloak takes the memory and the processor of half a platform.
import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { createKeycloakProvider } from '../../src/adapters/identity/keycloak.ts'
import { keycloakAdmin } from '../../src/adapters/identity/keycloakAdmin.ts'
import type { IdentityAdministration } from '../../src/adapters/identity/provider.ts'
import { createTokenVerifier, type TokenVerifier } from '../../src/api/callers/tokens.ts'
import { SIGNED_IN_PATH, SignInRefused } from '../../src/api/people/browserSignIn.ts'
import { browserSignIn } from '../../src/composition/browserSignIn.ts'
import { brokerAlias, brokerCallback } from '../../src/contracts/sso.ts'
import { parseProviderMetadata } from '../../src/contracts/ssoDiscovery.ts'
import { type Clock, systemClock } from '../../src/core/clock.ts'
import { silentLog } from '../../src/core/log.ts'
import {
  browse,
  type Keycloak,
  keycloakIsMissing,
  makeServiceAccount,
  type ServiceAccount,
  startKeycloak,
} from '../cluster/keycloak.ts'
import { directoryStandingSuite } from '../suites/directoryStandingSuite.ts'
import { identityContract } from '../suites/identityContract.ts'
import { tenantPeopleSuite } from '../suites/tenantPeopleSuite.ts'

const REALM = 'freehold'
const AUDIENCE = 'platform-kubernetes-client'
const SIGN_IN = 'direct-grant-of-the-test'
const FACADE = 'http://127.0.0.1:1'
/** As the documentation has an administrator make it. */
const BROWSER = {
  clientId: 'freehold-web',
  enabled: true,
  publicClient: true,
  standardFlowEnabled: true,
  directAccessGrantsEnabled: false,
  redirectUris: [`${FACADE}${SIGNED_IN_PATH}`],
  attributes: { 'pkce.code.challenge.method': 'S256' },
  protocolMappers: [
    {
      name: 'audience',
      protocol: 'openid-connect',
      protocolMapper: 'oidc-audience-mapper',
      config: { 'included.custom.audience': AUDIENCE, 'access.token.claim': 'true', 'id.token.claim': 'false' },
    },
  ],
}

/** The identity provider of a tenant. */
const ACME = {
  alias: 'acme',
  displayName: 'Acme',
  protocol: 'Oidc' as const,
  issuer: 'https://login.acme.example',
  authorizationUrl: 'https://login.acme.example/auth',
  tokenUrl: 'https://login.acme.example/token',
  jwksUrl: 'https://login.acme.example/keys',
  clientId: 'freehold',
  clientSecret: 'a secret of acme',
  emailClaim: 'email',
  trustEmail: true,
  enabled: true,
}

const adminOf = ({ admin: { clientId, clientSecret } }: Keycloak) => ({ clientId, clientSecret: () => clientSecret })

describe('Keycloak', () => {
  let keycloak: Keycloak
  let provider: IdentityAdministration
  /** An offset that a verifier adds to the real time. */
  let skipped = 0

  before(async function () {
    const missing = keycloakIsMissing()
    if (missing !== undefined) {
      console.log(`  Skipped: ${missing}. Nothing of what follows was checked against Keycloak.`)
      this.skip()
    }
    keycloak = await startKeycloak({
      realm: REALM,
      enabled: true,
      sslRequired: 'none',
      organizationsEnabled: true,
      passwordPolicy: 'length(12) and digits(1)',
      clients: [{ clientId: SIGN_IN, enabled: true, publicClient: true, directAccessGrantsEnabled: true }, BROWSER],
    } as { realm: string })
    provider = createKeycloakProvider({ url: keycloak.url, realm: REALM, adminRealm: 'master', ...adminOf(keycloak) })
  })
  after(async () => {
    await keycloak?.stop()
  })

  async function token(form: Record<string, string>): Promise<{ access_token?: string; id_token?: string }> {
    const answer = await fetch(`${keycloak.url}/realms/${REALM}/protocol/openid-connect/token`, {
      method: 'POST',
      body: new URLSearchParams(form),
    })
    return (await answer.json()) as { access_token?: string; id_token?: string }
  }
  const tokenOf = ({ clientId, secret }: Pick<ServiceAccount, 'clientId' | 'secret'>, more = {}) =>
    token({ grant_type: 'client_credentials', client_id: clientId, client_secret: secret, ...more })

  const administrator = () =>
    keycloakAdmin({ url: keycloak.url, realm: REALM, adminRealm: 'master', ...adminOf(keycloak) })

  const serviceAccount = () => makeServiceAccount(administrator(), BROWSER.protocolMappers)

  const leavesForm = (address: string, forms: Record<string, string>[]) => browse(keycloak, address, forms)

  identityContract(() => ({
    provider,
    async takesPassword(username, password) {
      const answer = await token({ grant_type: 'password', client_id: SIGN_IN, username, password })
      return answer.access_token !== undefined
    },
    // Keycloak itself stores the users.
    record: async () => {},
  }))

  tenantPeopleSuite(() => ({ keycloak, provider }))

  directoryStandingSuite(() => ({ users: provider.users, serviceAccount, administrator }))

  it('is administered with the roles that the configuration page names', async () => {
    const names = ['manage-users', 'manage-identity-providers', 'manage-realm', 'view-realm']
    const { clientId, secret: clientSecret, principalId } = await serviceAccount()
    const admin = administrator()
    const { body: found } = await admin.call('GET', '/clients?clientId=realm-management')
    const management = (found as { id: string }[])[0]?.id
    const { body: all } = await admin.call('GET', `/clients/${management}/roles`)
    const roles = (all as { name: string }[]).filter(({ name }) => names.includes(name))
    expect(roles).to.have.length(names.length)
    await admin.call('POST', `/users/${principalId}/role-mappings/clients/${management}`, { body: roles })
    const own = createKeycloakProvider({ url: keycloak.url, realm: REALM, clientId, clientSecret: () => clientSecret })
    const domains = [`${randomUUID()}.example`]
    const tenant = { tenantId: randomUUID(), displayName: 'Acme', domains, providers: [ACME] }
    await own.federation.apply(tenant)
    const { alias, displayName, protocol, enabled } = ACME
    const providers = [{ alias, displayName, protocol, enabled }]
    expect(await own.federation.find(tenant.tenantId)).to.deep.equal({ domains, providers })
    const person = { userName: randomUUID(), email: `${randomUUID()}@example.com`, emailVerified: true }
    const made = await own.users.create({ ...person, id: randomUUID() })
    await own.users.joinTenant(made.id, tenant.tenantId)
    await own.users.setPassword(made.id, 'Correct-horse-42-battery', { keepSession: randomUUID() })
    expect((await own.users.list({ search: person.userName, limit: 1 }))[0]?.tenantIds).to.deep.equal([tenant.tenantId])
    expect(await own.passwordRules()).to.include({ minLength: 12 })
  })

  describe('federation of a tenant', () => {
    /** Enters an address on Keycloak's page; returns the address to which the browser then leaves, or undefined. */
    function leavesFor(address: string): Promise<URL | undefined> {
      const query = new URLSearchParams({
        client_id: 'account-console',
        redirect_uri: `${keycloak.url}/realms/${REALM}/account/`,
        response_type: 'code',
        scope: 'openid',
        code_challenge: 'x'.repeat(43),
        code_challenge_method: 'S256',
      })
      return leavesForm(`${keycloak.url}/realms/${REALM}/protocol/openid-connect/auth?${query}`, [
        { username: address },
      ])
    }

    for (const count of [1, 2]) {
      it(`redirects addresses of each of ${count} domains to the provider of the tenant, and no others`, async () => {
        const domains = Array.from({ length: count }, () => `${randomUUID()}.example`)
        const tenant = { tenantId: randomUUID(), displayName: 'Acme', domains, providers: [ACME] }
        await provider.federation.apply(tenant)
        for (const domain of domains) {
          const target = await leavesFor(`ada@${domain}`)
          expect(`${target?.origin}${target?.pathname}`).to.equal(ACME.authorizationUrl)
          const asked = Object.fromEntries(target?.searchParams ?? [])
          expect(asked).to.include({ client_id: 'freehold', code_challenge_method: 'S256' })
          const issuer = `${keycloak.url}/realms/${REALM}`
          expect(asked.redirect_uri).to.equal(brokerCallback(issuer, tenant.tenantId, 'acme'))
        }
        expect(await leavesFor(`ada@${randomUUID()}.example`)).to.equal(undefined)
        await provider.federation.apply({ ...tenant, providers: [{ ...ACME, enabled: false }] })
        expect(await leavesFor(`ada@${domains[0]}`)).to.equal(undefined)
      })
    }

    it('reports unreadable SAML metadata, and applies the other providers', async () => {
      const broken = { ...ACME, protocol: 'Saml' as const, metadata: '<EntityDescriptor' }
      const tenant = {
        tenantId: randomUUID(),
        displayName: 'Acme',
        domains: [],
        providers: [broken, { ...ACME, alias: 'other' }],
      }
      const error = await provider.federation.apply(tenant).catch((thrown: unknown) => thrown)
      expect(String(error)).to.include('Keycloak cannot read the SAML metadata of "acme"')
      const known = await provider.federation.find(tenant.tenantId)
      expect(known?.providers.map(({ alias }) => alias)).to.deep.equal(['other'])
    })

    it('applies a SAML provider with endpoints and mappers of its metadata', async () => {
      const domain = `${randomUUID()}.example`
      const metadataUrl = `${keycloak.url}/realms/master/protocol/saml/descriptor`
      const metadata = await (await fetch(metadataUrl)).text()
      expect(parseProviderMetadata(metadata, { protocol: 'Saml', metadataUrl })).to.deep.equal({ endpoints: undefined })
      const saml = {
        alias: 'acme',
        displayName: 'Acme',
        protocol: 'Saml' as const,
        metadata,
        emailClaim: 'mail',
        trustEmail: false,
        enabled: true,
      }
      const tenant = { tenantId: randomUUID(), displayName: 'Acme', domains: [domain], providers: [saml] }
      await provider.federation.apply(tenant)
      const known = await provider.federation.find(tenant.tenantId)
      expect(known?.providers[0]).to.include({ alias: 'acme', protocol: 'Saml' })
      const admin = administrator()
      const path = `/identity-provider/instances/${brokerAlias(tenant.tenantId, 'acme')}`
      const configNow = async () => ((await admin.call('GET', path)).body as { config: Record<string, string> }).config
      const config = await configNow()
      expect(config.singleSignOnServiceUrl).to.equal(`${keycloak.url}/realms/master/protocol/saml`)
      expect(config.validateSignature).to.equal('true')
      expect(config.signingCertificate).to.be.a('string')
      expect(config.singleLogoutServiceUrl).to.be.a('string')

      const later = metadata.replaceAll(/<md:SingleLogoutService[^>]*?(\/>|>[^<]*<\/md:SingleLogoutService>)/g, '')
      const authorizationUrl = 'https://login.acme.example/saml'
      const changed = { ...saml, metadata: later, emailClaim: 'address', authorizationUrl }
      await provider.federation.apply({ ...tenant, providers: [changed] })
      expect((await configNow()).singleLogoutServiceUrl, 'without it in the metadata').to.equal(undefined)
      const mappers = (await admin.call('GET', `${path}/mappers`)).body as { config: object }[]
      expect(mappers.map((mapper) => mapper.config)).to.deep.equal([
        { 'attribute.name': 'address', 'user.attribute': 'email', syncMode: 'IMPORT' },
      ])
      expect((await provider.federation.find(tenant.tenantId))?.providers).to.have.length(1)
      const target = await leavesFor(`ada@${domain}`)
      expect(`${target?.origin}${target?.pathname}`).to.equal(authorizationUrl)
    })
  })

  describe('logins of a person', () => {
    const [FIRST, SECOND, THIRD] = ['Correct-horse-42-battery', 'Another-horse-43-staple', 'A-third-horse-44-shoe']
    type Login = { refresh_token?: string; access_token?: string }

    async function somebody() {
      const email = `${randomUUID()}@example.com`
      const names = { userName: email, firstName: 'Ada', lastName: 'Lovelace' }
      const { id } = await provider.users.create({ ...names, email, emailVerified: true, password: FIRST })
      return { id, email }
    }
    async function signedIn(username: string, scope: string): Promise<Login> {
      const form = { grant_type: 'password', client_id: SIGN_IN, username, password: FIRST, scope }
      return (await token(form)) as Login
    }
    const goesOn = async ({ refresh_token = '' }: Login) =>
      (await token({ grant_type: 'refresh_token', client_id: SIGN_IN, refresh_token })).access_token !== undefined
    const sessionOf = ({ access_token = '' }: Login) => String(decodeJwt(access_token).sid)

    for (const kept of ['openid', 'openid offline_access'])
      it(`are all ended by a new password, except the session that set it (${kept})`, async () => {
        const { id, email } = await somebody()
        const logins = { kept: await signedIn(email, kept), program: await signedIn(email, 'openid offline_access') }
        const others = [logins.program, await signedIn(email, 'openid'), await signedIn(email, 'openid offline_access')]
        expect(await goesOn(logins.program)).to.equal(true)
        await provider.users.setPassword(id, SECOND, { keepSession: sessionOf(logins.kept) })
        expect(await Promise.all(others.map(goesOn))).to.deep.equal([false, false, false])
        expect(await goesOn(logins.kept)).to.equal(true)
        await provider.users.setPassword(id, THIRD)
        expect(await goesOn(logins.kept)).to.equal(false)
      })

    it('cannot be renewed by a disabled or deleted person, offline sessions included', async () => {
      const [disabled, gone] = [await somebody(), await somebody()]
      const scopes = ['openid', 'openid offline_access']
      const logins = await Promise.all(
        [disabled, gone].flatMap(({ email }) => scopes.map((scope) => signedIn(email, scope))),
      )
      await provider.users.update(disabled.id, { isEnabled: false })
      await provider.users.delete(gone.id)
      expect(await Promise.all(logins.map(goesOn))).to.deep.equal([false, false, false, false])
    })
  })

  it('finds people by address and in a list with the same fields as by id', async () => {
    const tenant = {
      tenantId: randomUUID(),
      displayName: 'Acme',
      domains: [`${randomUUID()}.example`],
      providers: [ACME],
    }
    await provider.federation.apply(tenant)
    const email = `${randomUUID()}@example.com`
    const { id } = await provider.users.create({ userName: email, email, emailVerified: true })
    const admin = administrator()
    const alias = brokerAlias(tenant.tenantId, 'acme')
    const body = { identityProvider: alias, userId: 'ada', userName: 'ada' }
    await admin.call('POST', `/users/${id}/federated-identity/${alias}`, { body })
    expect(await provider.users.find(id)).to.include({ isExternal: true })
    expect(await provider.users.findByEmail(email)).to.deep.equal(await provider.users.find(id))
    expect(await provider.users.list({ search: email, limit: 1 })).to.deep.equal([await provider.users.find(id)])
    const others = (await provider.users.list({ limit: 1_000 })).filter((user) => user.id !== id)
    expect(others.map(({ isExternal }) => isExternal))
      .to.include(false)
      .and.not.to.include(true)
  })

  it('signs a person in for the facade in a browser, once', async () => {
    const issuer = `${keycloak.url}/realms/${REALM}`
    const jwksUrl = `${issuer}/protocol/openid-connect/certs`
    const tokens = createTokenVerifier({ issuer, audience: AUDIENCE, jwksUrl, log: silentLog })
    const signIn = await browserSignIn({ issuer, clientId: BROWSER.clientId, linkBase: FACADE, tokens })
    const [password, email] = ['Correct-horse-42-battery', `${randomUUID()}@example.com`]
    const names = { userName: email, firstName: 'Ada', lastName: 'Lovelace' }
    const { id } = await provider.users.create({ ...names, email, emailVerified: true, password })
    const journey = signIn.begin('the-token-of-a-link')
    const back = await leavesForm(await signIn.addressOf(journey), [{ username: email }, { username: email, password }])
    expect(`${back?.origin}${back?.pathname}`).to.equal(BROWSER.redirectUris[0])
    const search = back?.search.slice(1) ?? ''
    const stranger = await signIn.finish(signIn.begin('x'), search).catch((error) => error)
    expect(stranger).to.be.instanceOf(SignInRefused)
    expect(await signIn.finish(journey, search)).to.include({ principalId: id, principalType: 'User', email })
    const again = await signIn.finish(journey, search).catch((error) => error)
    expect(again).to.be.instanceOf(SignInRefused)
    await Promise.all([signIn.close(), tokens.stop()])
  })

  describe('tokens', () => {
    let verifier: TokenVerifier
    let account: ServiceAccount

    before(async () => {
      const issuer = `${keycloak.url}/realms/${REALM}`
      const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + skipped }
      verifier = createTokenVerifier({
        issuer,
        audience: AUDIENCE,
        jwksUrl: `${issuer}/protocol/openid-connect/certs`,
        clock,
        log: silentLog,
      })
      account = await serviceAccount()
    })
    after(async () => {
      await verifier?.stop()
    })
    const verify = (bearer: string | undefined) => verifier.verify(`Bearer ${bearer}`)
    const isRefused = (bearer: string | undefined) =>
      verify(bearer).then(
        () => false,
        (error: { code?: string }) => error.code === 'UNAUTHORIZED',
      )

    it('are accepted by the facade for a service account, with its principal', async () => {
      expect(await verify((await tokenOf(account)).access_token)).to.include({
        principalId: account.principalId,
        principalType: 'ServicePrincipal',
      })
    })

    it('are rejected if they are ID tokens', async () => {
      const { id_token: idToken } = await tokenOf(account, { scope: 'openid' })
      expect(decodeJwt(idToken ?? '').typ).to.equal('ID')
      expect(await isRefused(idToken)).to.equal(true)
    })

    it('are rejected if they are for another audience', async () => {
      const password = 'Correct-horse-42-battery'
      const { userName } = await provider.users.create({
        userName: `person-${randomUUID()}`,
        email: `${randomUUID()}@example.com`,
        emailVerified: true,
        firstName: 'Ada',
        lastName: 'Lovelace',
        password,
      })
      const answer = await token({ grant_type: 'password', client_id: SIGN_IN, username: userName, password })
      expect(answer.access_token).to.be.a('string')
      expect(await isRefused(answer.access_token)).to.equal(true)
    })

    it('stay valid while keys rotate, without a restart', async () => {
      const before = (await tokenOf(account)).access_token ?? ''
      await verify(before)
      const admin = administrator()
      await admin.call('POST', '/components', {
        body: {
          name: 'rotated',
          providerId: 'rsa-generated',
          providerType: 'org.keycloak.keys.KeyProvider',
          config: { priority: ['1000'], enabled: ['true'], active: ['true'], algorithm: ['RS256'] },
        },
      })
      const after = (await tokenOf(account)).access_token ?? ''
      expect(decodeProtectedHeader(after).kid).to.not.equal(decodeProtectedHeader(before).kid)
      // For an unknown key, the facade fetches the keys again, once in 30 s.
      skipped += 31_000
      expect(await verify(after)).to.include({ principalId: account.principalId })
      expect(await verify(before), 'the old key is still published').to.include({ principalId: account.principalId })
    })
  })
})
