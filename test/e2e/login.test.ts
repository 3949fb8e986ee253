import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import { PlatformUser } from '../../src/crds/identity.ts'
import { hashPassword, PASSWORD_ENTRY, passwordSecretName } from '../../src/identity/passwords.ts'
import { secret } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { Browser, pkcePair } from '../make/browser.ts'
import { until } from '../make/until.ts'
import { call, expectCall, itemsOf, makeBoundary } from '../worlds/platform.ts'
import { administrator, clientWithToken, makeServiceAccount, testPlatform } from '../worlds/tenant.ts'

const PASSWORD = 'a long enough Passw0rd!'
const CALLBACK = 'http://127.0.0.1:41999/callback'
const STATE = 'app.kubernetes.io/component=identity-state'

type Tokens = { access_token?: string; id_token?: string; refresh_token?: string; error?: string }

describe('sign-in of a person', () => {
  const userId = randomUUID()
  /** Times are noted to the second. */
  const began = Date.now() - 1000
  const login = `person-${userId.slice(0, 8)}`
  let admin: KubeClient
  let issuer: URL
  let browser: Browser

  before(async () => {
    admin = await administrator()
    const realm = new URL(testPlatform().tokenUrl.replace('/protocol/openid-connect/token', ''))
    const discovery = await fetch(`${realm}/.well-known/openid-configuration`)
    issuer = new URL(((await discovery.json()) as { issuer: string }).issuer)
    await admin.create(secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: passwordSecretName(userId), namespace: SYSTEM_NAMESPACE },
      stringData: { [PASSWORD_ENTRY]: JSON.stringify(await hashPassword(PASSWORD)) },
    } as KubeObject)
    await admin.create(PlatformUser.resource, {
      apiVersion: PlatformUser.apiVersion,
      kind: PlatformUser.kind,
      metadata: { name: userId, namespace: SYSTEM_NAMESPACE },
      spec: { userName: login, email: `${login}@example.com`, emailVerified: true, displayName: 'A person' },
    } as KubeObject)
    // Five wrong guesses lock a name, also a name that the provider does not know yet.
    await until('the person is known', async () => (await call('GET', `/admin/users/${userId}`)).status === 200)
    const certificateAuthority = readFileSync(testPlatform().certificateAuthority, 'utf8')
    browser = new Browser(issuer.origin, { certificateAuthority })
  })

  after(async () => {
    await browser?.close()
    await admin?.close()
  })

  async function token(form: Record<string, string>): Promise<Tokens> {
    const body = new URLSearchParams({ client_id: 'freehold-cli', ...form })
    return (await (await fetch(testPlatform().tokenUrl, { method: 'POST', body })).json()) as Tokens
  }
  const refresh = (tokens: Tokens) => token({ grant_type: 'refresh_token', refresh_token: tokens.refresh_token ?? '' })

  function authorizationUrl(challenge: string): string {
    const query = new URLSearchParams({
      client_id: 'freehold-cli',
      response_type: 'code',
      scope: 'openid profile email',
      redirect_uri: CALLBACK,
      code_challenge: challenge,
      code_challenge_method: 'S256',
    })
    return `${issuer.pathname}/protocol/openid-connect/auth?${query}`
  }

  async function signIn(): Promise<Tokens> {
    const { verifier, challenge } = pkcePair()
    // The provider's cache may learn of the user a moment after the API server.
    await until('the sign-in', async () => {
      browser.left = undefined
      const page = await browser.open(authorizationUrl(challenge))
      await browser.submit(page, 'Sign in', { login, password: PASSWORD })
      return browser.left !== undefined
    })
    const code = browser.left?.searchParams.get('code') ?? ''
    return token({ grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: CALLBACK })
  }

  async function signOut(): Promise<void> {
    const asked = await browser.open(`${issuer.pathname}/protocol/openid-connect/logout`)
    expect((await browser.submit(asked, 'Sign out')).html).to.contain('Signed out')
  }

  async function whoIs(accessToken: string | undefined): Promise<{ username: string; uid: string } | number> {
    const client = await clientWithToken(accessToken ?? '')
    try {
      const answer = await client.request({
        method: 'POST',
        path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }),
      })
      const text = await answer.text()
      if (answer.status !== 201) return answer.status
      return (JSON.parse(text) as { status: { userInfo: { username: string; uid: string } } }).status.userInfo
    } finally {
      await client.close()
    }
  }

  it('signs in with PKCE, authenticates at the facade and the API server, renews, and signs out', async () => {
    const tokens = await signIn()
    expect(tokens.error).to.equal(undefined)
    expect(decodeJwt(tokens.access_token ?? '')).to.include({ sub: userId, typ: 'Bearer', name: 'A person' })
    expect((await call('GET', '/boundaries', undefined, { token: tokens.access_token ?? '' })).status).to.equal(200)
    expect((await call('GET', '/boundaries', undefined, { token: tokens.id_token ?? '' })).status).to.equal(401)
    // The API server asks for the issuer's keys every ten seconds until it has them, also after the platform is ready.
    const known = await until('the API server has the keys of the issuer', async () => {
      const answer = await whoIs(tokens.access_token)
      return answer !== 401 && answer
    })
    expect(known).to.include({ username: `p:${userId}`, uid: userId })
    expect(await whoIs(tokens.id_token), 'an ID token').to.equal(401)

    const renewed = await refresh(tokens)
    expect((await call('GET', '/boundaries', undefined, { token: renewed.access_token ?? '' })).status).to.equal(200)

    const stored = async () => {
      const labelSelector = `${STATE},freehold.dev/user=${userId}`
      const { items } = await admin.list(secret, { namespace: SYSTEM_NAMESPACE, labelSelector })
      return items.map(({ metadata }) => metadata.name).filter((name) => /session|grant/.test(name))
    }
    expect(await stored()).to.not.be.empty
    await signOut()
    expect((await refresh(renewed)).error).to.equal('invalid_grant')
    expect(await stored()).to.deep.equal([])
  })

  it('shows the time of the last sign-in in /admin/users and in the members of a boundary', async () => {
    await signIn()
    await signOut()
    type Seen = { userId: string; lastSignInAt: string | null }
    const user = await until('the sign-in is noted', async () => {
      const { body } = await call<Seen>('GET', `/admin/users/${userId}`)
      return body.lastSignInAt !== null && body
    })
    // Recorded once an hour at most, so it may be the time of the test before.
    expect(Date.parse(user.lastSignInAt ?? '')).to.be.within(began, Date.now())
    const boundary = `/boundaries/${(await makeBoundary()).id}`
    await expectCall(201, 'POST', `${boundary}/members`, { principalId: userId, roleDefinitionName: 'Reader' })
    const robot = await makeServiceAccount(admin)
    const assignment = { principalId: robot.clientId, roleDefinitionName: 'Reader' }
    await until('the service account is known', async () => {
      return (await call('POST', `${boundary}/members`, assignment)).status === 201
    })
    const seenBy = async (id: string) =>
      (await itemsOf<Seen>(`${boundary}/iam/members`)).find((one) => one.userId === id)?.lastSignInAt ?? undefined
    expect(Date.parse((await seenBy(userId)) ?? '')).to.equal(Date.parse(user.lastSignInAt ?? ''))
    const robotSeen = await until('the token of the service account is noted', () => seenBy(robot.clientId))
    expect(Date.parse(robotSeen)).to.be.within(began, Date.now())
  })

  it('signs in with a device code', async () => {
    const begun = await fetch(testPlatform().tokenUrl.replace(/token$/, 'auth/device'), {
      method: 'POST',
      body: new URLSearchParams({ client_id: 'freehold-cli', scope: 'openid profile email' }),
    })
    const device = (await begun.json()) as Record<string, string>
    const typed = await browser.open(device.verification_uri ?? '')
    const asked = await browser.submit(typed, 'Continue', { user_code: device.user_code ?? '' })
    const page = await browser.submit(asked, 'Yes, connect it')
    await browser.submit(page, 'Sign in', { login, password: PASSWORD })
    const tokens = await token({
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: device.device_code ?? '',
    })
    expect(tokens.error).to.equal(undefined)
    expect(await whoIs(tokens.access_token)).to.include({ username: `p:${userId}` })
    expect((await refresh(tokens)).access_token).to.be.a('string')
  })

  it('refuses the sign-in of a disabled person', async () => {
    const stranger = new Browser(issuer.origin, {
      certificateAuthority: readFileSync(testPlatform().certificateAuthority, 'utf8'),
    })
    const ref = { namespace: SYSTEM_NAMESPACE, name: userId }
    await admin.mergePatch(PlatformUser.resource, ref, { spec: { isEnabled: false } })
    const page = await stranger.open(authorizationUrl(pkcePair().challenge))
    const refused = await stranger.submit(page, 'Sign in', { login, password: PASSWORD })
    expect(refused.status).to.equal(403)
    expect(stranger.left).to.equal(undefined)
    await stranger.close()
  })
})
