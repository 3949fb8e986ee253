import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { Browser, pkcePair, type Shown } from '../../test/make/browser.ts'
import { systemClock } from '../core/clock.ts'
import { type Log, silentLog } from '../core/log.ts'
import { PlatformUser } from '../crds/identity.ts'
import { secret } from '../kube/builtin.ts'
import { FakeKubeClient } from '../kube/fake.ts'
import type { KubeObject } from '../kube/object.ts'
import type { GuessLimits } from './guesses.ts'
import { generateSigningKey, type SigningKey } from './keyRing.ts'
import { hashPassword, PASSWORD_ENTRY, passwordSecretName, type StoredPassword, secretPasswords } from './passwords.ts'
import { createIdentityProvider, type IdentityProvider } from './provider.ts'
import type { SigningKeys } from './signingKeys.ts'
import { secretStateStore } from './state.ts'
import { kubeUserStore } from './users.ts'

const ORIGIN = 'https://identity.example:8443'
const ISSUER = `${ORIGIN}/realms/freehold`
const PATH = '/realms/freehold/protocol/openid-connect'
const USER = '6f0e6f0a-6a43-4a53-9d2b-1f3a7c0f9e11'
const PASSWORD = 'correct horse battery'
const CALLBACK = 'http://127.0.0.1:49152/callback'

type Answer = { status: number; body: Record<string, string> }

describe('signing in at the local provider', function () {
  this.timeout(20_000)
  let key: SigningKey
  let stored: StoredPassword
  let kube: FakeKubeClient
  let provider: IdentityProvider
  let replica: IdentityProvider
  let servers: Server[]
  let reach: string
  let otherReach: string
  let lines: string[]
  let browser: Browser

  before(async () => {
    key = await generateSigningKey(systemClock.now())
    stored = await hashPassword(PASSWORD)
  })

  beforeEach(async () => {
    kube = new FakeKubeClient()
    lines = []
    seedUser({})
    kube.seed(secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: 'freehold-system', name: passwordSecretName(USER) },
      data: { [PASSWORD_ENTRY]: Buffer.from(JSON.stringify(stored)).toString('base64') },
    } as KubeObject)
    servers = []
    ;[provider, reach] = await serve()
    ;[replica, otherReach] = await serve()
    browser = new Browser(ORIGIN, { reach })
  })

  afterEach(async () => {
    await browser.close()
    for (const server of servers) server.close().closeAllConnections()
    provider.stop()
    replica.stop()
  })

  function seedUser(spec: object): void {
    kube.seed(PlatformUser.resource, {
      apiVersion: PlatformUser.apiVersion,
      kind: PlatformUser.kind,
      metadata: { namespace: 'freehold-system', name: USER },
      spec: {
        userName: 'ada',
        email: 'Ada@Example.com',
        emailVerified: true,
        firstName: 'Ada',
        lastName: 'Lovelace',
        isEnabled: true,
        isExternal: false,
        tenantIds: [],
        ...spec,
      },
    } as KubeObject)
  }
  const disable = () => {
    kube.edit<PlatformUser & KubeObject>(
      PlatformUser.resource,
      { namespace: 'freehold-system', name: USER },
      (user) => {
        user.spec.isEnabled = false
      },
    )
  }

  async function serve(passwords?: GuessLimits): Promise<[IdentityProvider, string]> {
    const keys: SigningKeys = {
      ring: () => [key],
      signing: () => key,
      look: async () => {},
      onChange: () => () => {},
      stop: () => {},
    }
    const note = (fields: object, message: string) => lines.push(JSON.stringify(fields) + message)
    const log: Log = { ...silentLog, debug: note, info: note, warn: note, error: note }
    const made = createIdentityProvider({
      issuer: ISSUER,
      realm: 'freehold',
      audience: 'platform-kubernetes-client',
      clients: { find: async () => undefined },
      users: kubeUserStore(kube, async () => (await kube.list<PlatformUser & KubeObject>(PlatformUser.resource)).items),
      passwords: secretPasswords(kube),
      state: secretStateStore(kube),
      keys,
      log,
      ...(passwords === undefined ? {} : { limits: { passwords } }),
    })
    const server = createServer(made.handler)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    servers.push(server)
    return [made, `http://127.0.0.1:${(server.address() as AddressInfo).port}`]
  }

  async function post(path: string, form: Record<string, string>, at = reach): Promise<Answer> {
    const answer = await fetch(`${at}${path}`, { method: 'POST', body: new URLSearchParams(form) })
    return { status: answer.status, body: (await answer.json()) as Record<string, string> }
  }
  const token = (form: Record<string, string>, at = reach) =>
    post(`${PATH}/token`, { client_id: 'freehold-cli', ...form }, at)
  const refresh = (refreshToken: string | undefined, at = reach) =>
    token({ grant_type: 'refresh_token', refresh_token: refreshToken ?? '' }, at)

  function authorizationUrl(challenge: string, more: Record<string, string> = {}): string {
    const query = new URLSearchParams({
      client_id: 'freehold-cli',
      response_type: 'code',
      scope: 'openid profile email',
      redirect_uri: CALLBACK,
      state: 'the-state',
      code_challenge: challenge,
      code_challenge_method: 'S256',
      ...more,
    })
    return `${PATH}/auth?${query}`
  }
  const submitPassword = (page: Shown, password = PASSWORD, login = 'ada', by = browser) =>
    by.submit(page, 'Sign in', { login, password })

  /** Through the pages to a code, and what it is exchanged for. */
  async function signIn(): Promise<{ code: string; verifier: string; answer: Answer }> {
    const { verifier, challenge } = pkcePair()
    const page = await browser.open(authorizationUrl(challenge))
    await submitPassword(page)
    const code = browser.left?.searchParams.get('code') ?? ''
    return { code, verifier, answer: await exchange(code, verifier) }
  }
  const exchange = (code: string, verifier: string, at = reach) =>
    token({ grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: CALLBACK }, at)
  const stateSecrets = async () =>
    (await kube.list(secret, { labelSelector: 'app.kubernetes.io/component=identity-state' })).items

  it('gives a person a code, and for it an access token, an ID token and a refresh token', async () => {
    const before = Math.floor(Date.now() / 1000)
    const { answer } = await signIn()
    expect(browser.left?.searchParams.get('state')).to.equal('the-state')
    expect(browser.left?.searchParams.get('iss')).to.equal(ISSUER)
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    const { iat, exp, jti, sid, auth_time: authTime, ...claims } = decodeJwt(answer.body.access_token ?? '')
    expect(claims).to.deep.equal({
      iss: ISSUER,
      sub: USER,
      aud: 'platform-kubernetes-client',
      client_id: 'freehold-cli',
      azp: 'freehold-cli',
      typ: 'Bearer',
      name: 'Ada Lovelace',
      given_name: 'Ada',
      family_name: 'Lovelace',
      preferred_username: 'ada',
      email: 'Ada@Example.com',
      email_verified: true,
    })
    expect([iat, exp, jti, sid].every((claim) => claim !== undefined)).to.equal(true)
    expect(authTime).to.be.within(before, before + 20)
    expect(decodeJwt(answer.body.id_token ?? '')).to.include({
      typ: 'ID',
      sub: USER,
      aud: 'freehold-cli',
      name: 'Ada Lovelace',
    })
    expect(answer.body.refresh_token).to.be.a('string')
  })

  it('works by e-mail address too, in whatever case', async () => {
    const page = await browser.open(authorizationUrl(pkcePair().challenge))
    await submitPassword(page, PASSWORD, 'ADA@example.COM')
    expect(browser.left?.searchParams.has('code')).to.equal(true)
  })

  for (const [name, change] of [
    ['no challenge', { code_challenge: '', code_challenge_method: '' }],
    ['a challenge in plain text', { code_challenge_method: 'plain' }],
  ] as const) {
    it(`refuses ${name}`, async () => {
      await browser.open(authorizationUrl(pkcePair().challenge, change))
      expect(browser.left?.searchParams.get('error')).to.equal('invalid_request')
    })
  }

  for (const address of [
    'https://127.0.0.1:49152/callback',
    'http://127.0.0.1:49152/other',
    'http://127.0.0.1.evil.example/callback',
    'http://evil.example/callback',
    'http://user@127.0.0.1/callback',
  ]) {
    it(`sends no code to ${address}`, async () => {
      const page = await browser.open(authorizationUrl(pkcePair().challenge, { redirect_uri: address }))
      expect(page.status).to.equal(400)
      expect(browser.left).to.equal(undefined)
    })
  }

  for (const address of [
    'http://127.0.0.1:1/callback',
    'http://localhost:65000/callback',
    'http://127.0.0.1/callback',
  ]) {
    it(`may send a code to ${address}`, async () => {
      const page = await browser.open(authorizationUrl(pkcePair().challenge, { redirect_uri: address }))
      await submitPassword(page)
      expect(browser.left?.href.startsWith(`${address}?code=`)).to.equal(true)
    })
  }

  it('gives nothing for a code without its verifier, and nothing at the second time; then what it gave ends', async () => {
    const { code, verifier, answer } = await signIn()
    expect((await exchange(code, pkcePair().verifier)).body.error).to.equal('invalid_grant')
    expect((await exchange(code, verifier)).body.error).to.equal('invalid_grant')
    expect((await refresh(answer.body.refresh_token)).body.error).to.equal('invalid_grant')
  })

  it('gives one answer for a code that two replicas are shown at once', async () => {
    const { verifier, challenge } = pkcePair()
    await submitPassword(await browser.open(authorizationUrl(challenge)))
    const code = browser.left?.searchParams.get('code') ?? ''
    const answers = await Promise.all([reach, otherReach, reach, otherReach].map((at) => exchange(code, verifier, at)))
    expect(answers.filter(({ status }) => status === 200).length).to.be.at.most(1)
  })

  it('rotates refresh tokens, on whichever replica, and ends them all when a used one is shown', async () => {
    const { answer } = await signIn()
    const second = await refresh(answer.body.refresh_token, otherReach)
    expect(second.status, JSON.stringify(second.body)).to.equal(200)
    expect(second.body.refresh_token).to.not.equal(answer.body.refresh_token)
    const claims = decodeJwt(second.body.access_token ?? '')
    expect(claims).to.include({ sub: USER, typ: 'Bearer' })
    expect(claims.auth_time).to.equal(decodeJwt(answer.body.access_token ?? '').auth_time)
    const third = await refresh(second.body.refresh_token)
    expect(third.status).to.equal(200)
    expect((await refresh(answer.body.refresh_token)).body.error).to.equal('invalid_grant')
    expect((await refresh(third.body.refresh_token)).body.error).to.equal('invalid_grant')
  })

  it('stores one Secret for the session and one for the grant, and neither code nor token in them', async () => {
    const { answer, code } = await signIn()
    await refresh(answer.body.refresh_token)
    const secrets = await stateSecrets()
    expect(secrets.map(({ metadata }) => metadata.name.split('-')[1]).sort()).to.deep.equal(['grant', 'session'])
    const text = secrets
      .map((object) => Buffer.from((object as { data?: Record<string, string> }).data?.['state.json'] ?? '', 'base64'))
      .join()
    for (const bearer of [code, answer.body.refresh_token ?? '', PASSWORD]) expect(text).to.not.contain(bearer)
    for (const { metadata } of secrets) expect(metadata.labels?.['freehold.dev/user']).to.equal(USER)
  })

  it('asks who is signed in already before another program may act for them', async () => {
    await signIn()
    const page = await browser.open(authorizationUrl(pkcePair().challenge))
    expect(page.html).to.contain('Continue?').and.to.contain('Ada Lovelace').and.to.not.contain('type="password"')
    await browser.submit(page, 'Continue')
    expect(browser.left?.searchParams.has('code')).to.equal(true)
  })

  it('keeps the first machine signed in when a second one signs in through the same browser', async () => {
    const first = await signIn()
    const { verifier, challenge } = pkcePair()
    await browser.submit(await browser.open(authorizationUrl(challenge)), 'Continue')
    const second = await exchange(browser.left?.searchParams.get('code') ?? '', verifier)
    expect(second.status).to.equal(200)
    expect((await refresh(first.answer.body.refresh_token)).status).to.equal(200)
  })

  it('gives a program that asks for offline_access its refresh token after one page', async () => {
    const { verifier, challenge } = pkcePair()
    const scope = 'openid profile email offline_access'
    const page = await browser.open(authorizationUrl(challenge, { scope, prompt: 'consent' }))
    await submitPassword(page)
    const { body } = await exchange(browser.left?.searchParams.get('code') ?? '', verifier)
    expect((await refresh(body.refresh_token)).status).to.equal(200)
  })

  it('ends the login whose refresh token is revoked, and no other of the same browser', async () => {
    const first = await signIn()
    const { verifier, challenge } = pkcePair()
    await browser.submit(await browser.open(authorizationUrl(challenge)), 'Continue')
    const second = await exchange(browser.left?.searchParams.get('code') ?? '', verifier)
    const revoke = (form: Record<string, string>) =>
      fetch(`${reach}${PATH}/revoke`, { method: 'POST', body: new URLSearchParams(form) })
    const nobody = await revoke({ client_id: 'freehold-web', token: first.answer.body.refresh_token ?? '' })
    expect(nobody.status, 'of another program').to.equal(401)
    const revoked = await revoke({ client_id: 'freehold-cli', token: first.answer.body.refresh_token ?? '' })
    expect(revoked.status).to.equal(200)
    expect((await refresh(first.answer.body.refresh_token, otherReach)).body.error).to.equal('invalid_grant')
    const renewed = await refresh(second.body.refresh_token)
    expect(renewed.status, JSON.stringify(renewed.body)).to.equal(200)
    expect((await revoke({ client_id: 'freehold-cli', token: 'unknown' })).status, 'RFC 7009 section 2.2').to.equal(200)
  })

  it('tells the program that the person cancelled', async () => {
    const page = await browser.open(authorizationUrl(pkcePair().challenge))
    await browser.submit(page, 'Cancel')
    expect(browser.left?.searchParams.get('error')).to.equal('access_denied')
  })

  it('says the same of a wrong password and of a name that nobody has, and works as long for both', async () => {
    const page = await browser.open(authorizationUrl(pkcePair().challenge))
    const wrong = await submitPassword(page, 'wrong')
    const unknown = await submitPassword(page, 'wrong', 'nobody')
    expect([wrong.status, unknown.status]).to.deep.equal([401, 401])
    expect(wrong.html).to.contain('The name or the password is not right.')
    expect(unknown.html.replace('value="nobody"', 'value="ada"')).to.equal(wrong.html)
  })

  it('stops guesses for one name from one address, even with the right password', async () => {
    const limits = { perNameAndAddress: 2, perName: 50, perAddress: 50 }
    const [limited, at] = await serve(limits)
    const guesser = new Browser(ORIGIN, { reach: at })
    const page = await guesser.open(authorizationUrl(pkcePair().challenge))
    for (let guess = 0; guess < 2; guess += 1) await submitPassword(page, `guess-${guess}`, 'ada', guesser)
    const blocked = await submitPassword(page, PASSWORD, 'ada', guesser)
    expect(blocked.status).to.equal(429)
    expect(Number(blocked.headers['retry-after'])).to.be.within(1, 300)
    expect(guesser.left).to.equal(undefined)
    await guesser.close()
    limited.stop()
  })

  it('lets no more guesses pass when they come all at once', async () => {
    const [limited, at] = await serve({ perNameAndAddress: 2, perName: 50, perAddress: 50 })
    const guesser = new Browser(ORIGIN, { reach: at })
    const page = await guesser.open(authorizationUrl(pkcePair().challenge))
    const answers = await Promise.all([1, 2, 3, 4, 5].map((n) => submitPassword(page, `guess-${n}`, 'ada', guesser)))
    expect(answers.filter(({ status }) => status === 401).length).to.be.at.most(2)
    await guesser.close()
    limited.stop()
  })

  it('refuses a disabled user, at the page and with tokens from before', async () => {
    const { answer } = await signIn()
    disable()
    expect((await refresh(answer.body.refresh_token)).body.error).to.equal('invalid_grant')
    const stranger = new Browser(ORIGIN, { reach })
    const page = await stranger.open(authorizationUrl(pkcePair().challenge))
    const refused = await submitPassword(page, PASSWORD, 'ada', stranger)
    expect(refused.status).to.equal(403)
    expect(refused.html).to.contain('disabled')
    expect((await submitPassword(page, 'wrong', 'ada', stranger)).html, 'only to who knows it').to.not.contain(
      'disabled',
    )
    browser.left = undefined
    const again = await browser.open(authorizationUrl(pkcePair().challenge))
    expect(again.html, 'through the session of before').to.contain('type="password"')
    expect(browser.left).to.equal(undefined)
    await stranger.close()
  })

  it('ends what was signed in to before the password was changed', async () => {
    const { answer } = await signIn()
    const changed = { ...stored, changedAt: new Date(Date.now() + 2_000).toISOString() }
    kube.edit<KubeObject & { data?: Record<string, string> }>(
      secret,
      { namespace: 'freehold-system', name: passwordSecretName(USER) },
      (object) => {
        object.data = { [PASSWORD_ENTRY]: Buffer.from(JSON.stringify(changed)).toString('base64') }
      },
    )
    expect((await refresh(answer.body.refresh_token)).body.error).to.equal('invalid_grant')
    expect((await browser.open(authorizationUrl(pkcePair().challenge))).html).to.contain('type="password"')
  })

  it('takes no form of another page', async () => {
    const page = await browser.open(authorizationUrl(pkcePair().challenge))
    const refused = await browser.submit(page, 'Sign in', { login: 'ada', password: PASSWORD, csrf: 'x'.repeat(43) })
    expect(refused.status).to.equal(403)
    const stranger = new Browser(ORIGIN, { reach })
    expect((await submitPassword(page, PASSWORD, 'ada', stranger)).status, 'of another browser').to.equal(400)
    await stranger.close()
  })

  it('shows pages that need no script, allow none, and escape what they were sent', async () => {
    const page = await browser.open(
      authorizationUrl(pkcePair().challenge, { login_hint: '"><script>alert(1)</script>' }),
    )
    expect(page.html).to.contain('<label for="password">').and.to.not.contain('<script')
    const policy = String(page.headers['content-security-policy'])
    expect(policy).to.contain("default-src 'none'").and.to.contain("frame-ancestors 'none'")
    expect(policy).to.contain("form-action 'self' http://127.0.0.1:49152")
    expect(policy).to.not.contain('unsafe-inline').and.to.not.contain('script-src')
    expect(page.headers).to.include({ 'cache-control': 'no-store', 'x-frame-options': 'DENY' })
  })

  it('connects a device: its code is typed, confirmed and signed for', async () => {
    const begun = await post(`${PATH}/auth/device`, { client_id: 'freehold-cli', scope: 'openid profile email' })
    expect(begun.status, JSON.stringify(begun.body)).to.equal(200)
    expect(begun.body.verification_uri).to.equal(`${ISSUER}/device`)
    expect(begun.body.user_code).to.match(/^[A-Z]{4}-[A-Z]{4}$/)
    const poll = (at = reach) =>
      token(
        { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: begun.body.device_code ?? '' },
        at,
      )
    expect((await poll()).body.error).to.equal('authorization_pending')

    const typed = await browser.open(begun.body.verification_uri ?? '')
    const wrong = await browser.submit(typed, 'Continue', { user_code: 'BBBB-BBBB' })
    expect(wrong.html).to.contain('There is no such code.')
    const asked = await browser.submit(wrong, 'Continue', { user_code: begun.body.user_code?.toLowerCase() ?? '' })
    expect(asked.html).to.contain('Is this your device?').and.to.contain(begun.body.user_code)
    const done = await submitPassword(await browser.submit(asked, 'Yes, connect it'))
    expect(done.html).to.contain('Connected')

    const answer = await poll(otherReach)
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    expect(decodeJwt(answer.body.access_token ?? ''))
      .to.include({ sub: USER, typ: 'Bearer' })
      .and.to.have.property('auth_time')
    expect((await refresh(answer.body.refresh_token)).status).to.equal(200)
    expect((await poll()).body.error, 'a second time').to.equal('invalid_grant')
  })

  it('asks once only where the browser is signed in, and without typing where the address carries the code', async () => {
    await signIn()
    const begun = await post(`${PATH}/auth/device`, { client_id: 'freehold-cli', scope: 'openid' })
    const opened = await browser.open(begun.body.verification_uri_complete ?? '')
    const asked = await browser.submit(opened, 'Continue')
    expect((await browser.submit(asked, 'Yes, connect it')).html).to.contain('Connected')
  })

  it('tells a device that it was refused', async () => {
    const begun = await post(`${PATH}/auth/device`, { client_id: 'freehold-cli', scope: 'openid' })
    const typed = await browser.open(begun.body.verification_uri ?? '')
    const asked = await browser.submit(typed, 'Continue', { user_code: begun.body.user_code ?? '' })
    expect((await browser.submit(asked, 'No, refuse it')).html).to.contain('was refused')
    const poll = {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: begun.body.device_code ?? '',
    }
    expect((await token(poll)).body.error).to.equal('access_denied')
  })

  it('signs out: the session, its tokens, and what is stored of them end', async () => {
    const { answer } = await signIn()
    const query = new URLSearchParams({
      id_token_hint: answer.body.id_token ?? '',
      post_logout_redirect_uri: 'http://127.0.0.1:49152/logged-out',
      state: 'bye',
    })
    const asked = await browser.open(`${PATH}/logout?${query}`)
    await browser.submit(asked, 'Sign out')
    expect(browser.left?.href).to.equal('http://127.0.0.1:49152/logged-out?state=bye')
    expect((await refresh(answer.body.refresh_token)).body.error).to.equal('invalid_grant')
    expect(await stateSecrets()).to.deep.equal([])
    const page = await browser.open(authorizationUrl(pkcePair().challenge))
    expect(page.html).to.contain('type="password"')
  })

  it('signs out without a hint, and who is not signed in, with pages of its own', async () => {
    await signIn()
    const done = await browser.submit(await browser.open(`${PATH}/logout`), 'Sign out')
    expect(done.html).to.contain('Signed out')
    const again = await browser.submit(await browser.open(`${PATH}/logout`), 'Continue')
    expect(again.html).to.contain('Signed out').and.to.not.contain('<script')
  })

  it('tells a holder of an access token who they are, and nobody else', async () => {
    const { answer } = await signIn()
    const ask = (bearer: string | undefined) =>
      fetch(`${reach}${PATH}/userinfo`, { headers: { authorization: `Bearer ${bearer}` } })
    expect(await (await ask(answer.body.access_token)).json()).to.include({ sub: USER, email: 'Ada@Example.com' })
    expect((await ask(answer.body.id_token)).status, 'an ID token').to.equal(401)
    expect((await ask('x')).status).to.equal(401)
    disable()
    expect((await ask(answer.body.access_token)).status, 'disabled').to.equal(401)
  })

  it('writes no password, code or token to its log', async () => {
    const { answer, code } = await signIn()
    expect(lines).to.have.length.above(0)
    for (const word of [PASSWORD, code, answer.body.refresh_token ?? '', answer.body.access_token ?? '']) {
      expect(lines.join()).to.not.contain(word)
    }
  })
})
