import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { Browser, pkcePair, type Shown } from '../../test/make/browser.ts'
import { ExternalIssuer } from '../../test/worlds/externalIssuer.ts'
import { SSO_SECRET_KEY } from '../contracts/sso.ts'
import { systemClock } from '../core/clock.ts'
import { type Log, silentLog } from '../core/log.ts'
import { PlatformUser } from '../crds/identity.ts'
import { IdpBinding, SsoConnection } from '../crds/sso.ts'
import { secret } from '../kube/builtin.ts'
import { FakeKubeClient } from '../kube/fake.ts'
import type { KubeObject } from '../kube/object.ts'
import { kubeConnections } from './connections.ts'
import { generateSigningKey, type SigningKey } from './keyRing.ts'
import { secretPasswords } from './passwords.ts'
import { createIdentityProvider, type IdentityProvider } from './provider.ts'
import { secretStateStore } from './state.ts'
import { kubeUserProvisioner } from './userProvisioner.ts'
import { kubeUserStore } from './users.ts'

const ORIGIN = 'https://identity.example:8443'
const PATH = '/realms/freehold/protocol/openid-connect'
const CALLBACK = 'http://127.0.0.1:49152/callback'
const TENANT = '6f0e6f0a-6a43-4a53-9d2b-1f3a7c0f9e11'
const ADA = { sub: 'ada-at-acme', email: 'Ada@Acme.example', given_name: 'Ada', family_name: 'Lovelace' }
const namespace = 'freehold-system'
type User = PlatformUser & KubeObject

describe('sign-in with the identity provider of a tenant', () => {
  let key: SigningKey
  let kube: FakeKubeClient
  let provider: IdentityProvider
  let server: Server
  let reach: string
  let browser: Browser
  let acme: ExternalIssuer
  let lines: string[]
  let hasTenant: boolean
  before(async () => {
    key = await generateSigningKey(systemClock.now())
  })
  beforeEach(async () => {
    kube = new FakeKubeClient()
    acme = new ExternalIssuer()
    lines = []
    hasTenant = true
    connect()
    const note = (fields: object, message: string) => lines.push(JSON.stringify(fields) + message)
    const log: Log = { ...silentLog, debug: note, info: note, warn: note, error: note }
    const list = async <T extends KubeObject>(kind: { resource: typeof PlatformUser.resource }) =>
      (await kube.list<T>(kind.resource)).items
    provider = createIdentityProvider({
      issuer: `${ORIGIN}/realms/freehold`,
      realm: 'freehold',
      audience: 'platform-kubernetes-client',
      clients: { find: async () => undefined },
      users: kubeUserStore(kube, () => list<User>(PlatformUser)),
      passwords: secretPasswords(kube),
      external: {
        fetch: acme.fetch,
        connections: kubeConnections(kube, () => list<SsoConnection & KubeObject>(SsoConnection), acme.fetch),
        provisioner: kubeUserProvisioner({
          client: kube,
          bindings: () => list<IdpBinding & KubeObject>(IdpBinding),
          inTenant: async (_tenantId, work) => (hasTenant ? work() : undefined),
        }),
      },
      state: secretStateStore(kube),
      keys: {
        ring: () => [key],
        signing: () => key,
        check: async () => {},
        onChange: () => () => {},
        stop: () => {},
      },
      log,
    })
    server = createServer(provider.handler)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    reach = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    browser = new Browser(ORIGIN, { reach })
  })
  afterEach(async () => {
    await browser.close()
    server.close().closeAllConnections()
    provider.stop()
  })

  function connect(change: object = {}, status = 'Verified'): void {
    kube.seed(secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace, name: 'sso-acme' },
      data: { [SSO_SECRET_KEY]: Buffer.from(acme.clientSecret).toString('base64') },
    } as KubeObject)
    const { metadataUrl, clientId } = acme
    const alias = { alias: 'acme', displayName: 'Acme & co', protocol: 'Oidc', metadataUrl, clientId }
    const rest = { clientSecretName: 'sso-acme', emailClaim: 'email', trustEmail: true, enabled: true }
    kube.seed(SsoConnection.resource, {
      apiVersion: SsoConnection.apiVersion,
      kind: SsoConnection.kind,
      metadata: { namespace, name: TENANT },
      spec: { domains: ['acme.example'], identityProviders: [{ ...alias, ...rest, ...change }] },
      status: { domains: [{ domain: 'acme.example', status }] },
    } as KubeObject)
  }
  const seedUser = (name: string, spec: object) =>
    kube.seed(PlatformUser.resource, {
      apiVersion: PlatformUser.apiVersion,
      kind: PlatformUser.kind,
      metadata: { namespace, name },
      spec: { userName: 'x', emailVerified: false, isEnabled: true, isExternal: false, tenantIds: [], ...spec },
    } as KubeObject)
  const users = async () => (await kube.list<User>(PlatformUser.resource)).items

  const { verifier, challenge } = pkcePair()
  function begin(by = browser): Promise<Shown> {
    const query = new URLSearchParams({
      client_id: 'freehold-cli',
      response_type: 'code',
      scope: 'openid profile email',
      redirect_uri: CALLBACK,
      state: 'the-state',
      code_challenge: challenge,
      code_challenge_method: 'S256',
    })
    return by.open(`${PATH}/auth?${query}`)
  }
  const organization = (page: Shown, login: string) =>
    browser.submit(page, 'Sign in through your organization', { login, password: '' })
  function targetOf({ html }: Shown): URL {
    const address = /<meta http-equiv="refresh" content="0;url=([^"]+)">/.exec(html)?.[1] ?? ''
    return new URL(address.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code))))
  }
  /** Signs in at the external provider and follows its redirects. */
  async function signIn(claims: Record<string, unknown> = ADA): Promise<Shown> {
    const page = await organization(await begin(), 'ada@ACME.example')
    return browser.open(acme.signIn(targetOf(page), claims).href)
  }
  async function token(): Promise<Record<string, string>> {
    const code = browser.left?.searchParams.get('code') ?? ''
    const form = { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: CALLBACK }
    const body = new URLSearchParams({ client_id: 'freehold-cli', ...form })
    return (await fetch(`${reach}${PATH}/token`, { method: 'POST', body })).json() as Promise<Record<string, string>>
  }

  it('creates an account at the first sign-in and updates it at the second', async () => {
    await signIn()
    const claims = decodeJwt((await token()).access_token ?? '')
    expect(claims).to.include({ name: 'Ada Lovelace', email: 'Ada@Acme.example', email_verified: true })
    const [made, ...others] = await users()
    expect([made?.metadata.name, others]).to.deep.equal([claims.sub, []])
    expect(made?.spec).to.deep.include({
      isExternal: true,
      tenantIds: [TENANT],
      externalIdentity: { tenantId: TENANT, alias: 'acme', issuer: acme.issuer, subject: 'ada-at-acme', claims: {} },
    })
    await browser.close()
    browser = new Browser(ORIGIN, { reach })
    await signIn({ ...ADA, family_name: 'King' })
    expect(decodeJwt((await token()).access_token ?? '')).to.include({ sub: claims.sub, name: 'Ada King' })
    expect(await users()).to.have.length(1)
  })

  it('creates and changes no account while the tenant is being removed', async () => {
    hasTenant = false
    expect((await signIn()).html).to.contain('no longer known')
    expect(await users()).to.deep.equal([])
    hasTenant = true
    await signIn()
    const [made] = await users()
    kube.edit<User>(PlatformUser.resource, { namespace, name: made?.metadata.name ?? '' }, ({ spec }) => {
      spec.tenantIds = []
    })
    await browser.close()
    browser = new Browser(ORIGIN, { reach })
    hasTenant = false
    expect((await signIn()).html).to.contain('no longer known')
    expect((await users())[0]?.spec.tenantIds).to.deep.equal([])
  })

  it('is used by the password form for addresses of the domain, without sending the password', async () => {
    const page = await browser.submit(await begin(), 'Sign in', {
      login: 'ada@acme.example',
      password: 'a typed secret',
    })
    const target = targetOf(page)
    expect(page.html).to.contain('Acme &#38; co')
    expect(target.searchParams.get('login_hint')).to.equal('ada@acme.example')
    expect(`${target} ${lines.join()}`).to.not.contain('a typed secret')
    await browser.open(acme.signIn(target, ADA).href)
    expect(browser.left?.searchParams.has('code')).to.equal(true)
  })

  it('stores only the claims that bindings use, from the latest sign-in', async () => {
    const spec = { tenantId: TENANT, issuer: acme.issuer, claim: 'groups', claimValue: 'staff', groupId: TENANT }
    const { apiVersion, kind } = IdpBinding
    kube.seed(IdpBinding.resource, { apiVersion, kind, metadata: { namespace, name: 'b' }, spec } as KubeObject)
    await signIn({ ...ADA, groups: ['staff', 'x'.repeat(300), 7], salary: 'much' })
    expect((await users())[0]?.spec.externalIdentity?.claims).to.deep.equal({ groups: ['staff'] })
    await browser.close()
    browser = new Browser(ORIGIN, { reach })
    await signIn(ADA)
    expect((await users())[0]?.spec.externalIdentity?.claims).to.deep.equal({})
  })

  it('is not offered for an unverified domain, a disabled provider or a subdomain', async () => {
    const isOffered = async () => (await organization(await begin(), 'ada@acme.example')).html.includes('http-equiv')
    expect(await isOffered()).to.equal(true)
    connect({}, 'Pending')
    expect(await isOffered()).to.equal(false)
    connect({ enabled: false })
    expect(await isOffered()).to.equal(false)
    connect()
    expect((await organization(await begin(), 'ada@evil.example')).status).to.equal(404)
    expect((await organization(await begin(), 'ada@sub.acme.example')).status).to.equal(404)
  })

  const lies: [string, () => void, Record<string, unknown>?][] = [
    ['an email address of another domain', () => {}, { ...ADA, email: 'ada@evil.example' }],
    ['no email address', () => {}, { sub: 'x' }],
    ['no subject', () => {}, { email: 'ada@acme.example' }],
    ['another nonce', () => Object.assign(acme.lies, { nonce: 'x' })],
    ['another audience', () => Object.assign(acme.lies, { aud: 'somebody' })],
    ['another issuer', () => Object.assign(acme.lies, { iss: 'https://evil.example' })],
    ['a wrong signature', () => Object.assign(acme, { signsFalsely: true })],
  ]
  for (const [title, lie, claims] of lies) {
    it(`rejects an ID token with ${title}`, async () => {
      lie()
      const page = await signIn(claims)
      expect(page.status).to.be.oneOf([403, 502])
      expect(browser.left, 'sent to the program').to.equal(undefined)
      expect(await users()).to.deep.equal([])
    })
  }

  it('links an existing account by email only in the same tenant and with trustEmail', async () => {
    seedUser('7f0e6f0a-6a43-4a53-9d2b-1f3a7c0f9e11', { userName: 'ada', email: 'ada@acme.example' })
    expect((await signIn()).html).to.contain('another account')
    seedUser('7f0e6f0a-6a43-4a53-9d2b-1f3a7c0f9e11', { email: 'ada@acme.example', tenantIds: [TENANT] })
    connect({ trustEmail: false })
    expect((await signIn()).html).to.contain('another account')
    connect({ trustEmail: true })
    await signIn()
    expect(decodeJwt((await token()).access_token ?? '').sub).to.equal('7f0e6f0a-6a43-4a53-9d2b-1f3a7c0f9e11')
  })

  for (const email_verified of [false, 'false'])
    it(`does not mark the email as verified if email_verified is ${JSON.stringify(email_verified)}`, async () => {
      await signIn({ ...ADA, email_verified })
      expect(decodeJwt((await token()).access_token ?? '')).to.include({ email_verified: false })
    })

  it('links no existing account by an unverified email', async () => {
    seedUser('7f0e6f0a-6a43-4a53-9d2b-1f3a7c0f9e11', { email: 'ada@acme.example', tenantIds: [TENANT] })
    expect((await signIn({ ...ADA, email_verified: false })).html).to.contain('another account')
  })

  it('ignores email_verified if another claim contains the email', async () => {
    connect({ emailClaim: 'upn' })
    await signIn({ sub: ADA.sub, upn: ADA.email, email: 'x@elsewhere.example', email_verified: false })
    expect(decodeJwt((await token()).access_token ?? '')).to.include({ email_verified: true, email: ADA.email })
  })

  for (const email of [
    'ada@evil.example, x@acme.example',
    'a\n@acme.example',
    'Ada <ada@acme.example>',
    'a\0@acme.example',
  ]) {
    it(`rejects an email claim that is not one address: ${JSON.stringify(email)}`, async () => {
      expect((await signIn({ ...ADA, email })).status).to.equal(403)
      expect(await users()).to.deep.equal([])
    })
  }

  it('rejects an ID token that was issued an hour in the future', async () => {
    acme.issuedAt = Math.floor(Date.now() / 1000) + 3600
    expect((await signIn()).status).to.be.oneOf([403, 502])
    expect(await users()).to.deep.equal([])
  })

  it('rejects a disabled account', async () => {
    await signIn()
    const [{ metadata } = { metadata: { name: '' } }] = await users()
    kube.edit<User>(PlatformUser.resource, { namespace, name: metadata.name }, (user) => {
      user.spec.isEnabled = false
    })
    await browser.close()
    browser = new Browser(ORIGIN, { reach })
    expect((await signIn()).html).to.contain('disabled')
  })

  it('accepts a callback once, in the same browser and for the same provider', async () => {
    const target = targetOf(await organization(await begin(), 'ada@acme.example'))
    const back = acme.signIn(target, ADA)
    const thief = new Browser(ORIGIN, { reach })
    expect((await thief.open(back.href)).status).to.equal(400)
    await thief.close()
    const elsewhere = new URL(back)
    elsewhere.pathname = elsewhere.pathname.replace('/broker/acme-', '/broker/other-')
    expect((await browser.open(elsewhere.href)).status).to.equal(403)
    expect((await browser.open(back.href)).status, 'that ended the journey').to.equal(403)
    expect((await browser.open(`${back.pathname}?code=x&state=y`)).status).to.equal(400)
    expect(await users()).to.deep.equal([])
  })

  it('reports a denial of the provider, and returns 503 if its metadata are missing or of another issuer', async () => {
    const target = targetOf(await organization(await begin(), 'ada@acme.example'))
    const back = new URL(target.searchParams.get('redirect_uri') ?? '')
    back.search = `?error=access_denied&state=${target.searchParams.get('state')}`
    expect((await browser.open(back.href)).html).to.contain('did not sign you in')
    connect({ metadataUrl: 'https://away.acme.example/.well-known/openid-configuration' })
    expect((await organization(await begin(), 'ada@acme.example')).status).to.equal(503)
    connect({ issuer: 'https://login.evil.example' })
    expect((await organization(await begin(), 'ada@acme.example')).status, 'of another issuer').to.equal(503)
  })

  it('logs neither codes, secrets nor email addresses', async () => {
    const target = targetOf(await organization(await begin(), 'ada@acme.example'))
    const back = acme.signIn(target, ADA)
    await browser.open(back.href)
    const secrets = [back.searchParams.get('code'), back.searchParams.get('state'), acme.clientSecret, ADA.email]
    for (const text of secrets) expect(lines.join('\n')).to.not.contain(text)
    expect(lines.join('\n')).to.contain('signed in at the identity provider of a tenant')
  })
})
