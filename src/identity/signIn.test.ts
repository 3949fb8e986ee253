import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { Browser, pkcePair } from '../../test/make/browser.ts'
import { ISSUER, ORIGIN, PASSWORD, signInWorld, USER } from '../../test/make/signIn.ts'

describe('sign-in at the local provider', () => {
  const world = signInWorld()

  it('issues a code, and for it an access token, an ID token and a refresh token', async () => {
    const before = Math.floor(Date.now() / 1000)
    const { answer } = await world.signIn()
    expect(world.browser.left?.searchParams.get('state')).to.equal('the-state')
    expect(world.browser.left?.searchParams.get('iss')).to.equal(ISSUER)
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    const {
      iat,
      exp,
      jti,
      sid,
      auth_time: authTime,
      principal_uid: uid,
      ...claims
    } = decodeJwt(answer.body.access_token ?? '')
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
    expect([iat, exp, jti, sid, uid].every((claim) => claim !== undefined)).to.equal(true)
    expect(authTime).to.be.within(before, before + 20)
    expect(decodeJwt(answer.body.id_token ?? '')).to.include({
      typ: 'ID',
      sub: USER,
      aud: 'freehold-cli',
      name: 'Ada Lovelace',
    })
    expect(answer.body.refresh_token).to.be.a('string')
  })

  it('accepts an email address in any case as the login', async () => {
    const page = await world.browser.open(world.authorizationUrl(pkcePair().challenge))
    await world.submitPassword(page, PASSWORD, 'ADA@example.COM')
    expect(world.browser.left?.searchParams.has('code')).to.equal(true)
  })

  for (const [name, change] of [
    ['no code challenge', { code_challenge: '', code_challenge_method: '' }],
    ['a plain code challenge', { code_challenge_method: 'plain' }],
  ] as const) {
    it(`rejects ${name}`, async () => {
      await world.browser.open(world.authorizationUrl(pkcePair().challenge, change))
      expect(world.browser.left?.searchParams.get('error')).to.equal('invalid_request')
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
      const page = await world.browser.open(world.authorizationUrl(pkcePair().challenge, { redirect_uri: address }))
      expect(page.status).to.equal(400)
      expect(world.browser.left).to.equal(undefined)
    })
  }

  for (const address of [
    'http://127.0.0.1:1/callback',
    'http://localhost:65000/callback',
    'http://127.0.0.1/callback',
  ]) {
    it(`sends a code to ${address}`, async () => {
      const page = await world.browser.open(world.authorizationUrl(pkcePair().challenge, { redirect_uri: address }))
      await world.submitPassword(page)
      expect(world.browser.left?.href.startsWith(`${address}?code=`)).to.equal(true)
    })
  }

  it('asks a signed-in person to confirm before it issues another code', async () => {
    await world.signIn()
    const page = await world.browser.open(world.authorizationUrl(pkcePair().challenge))
    expect(page.html).to.contain('Continue?').and.to.contain('Ada Lovelace').and.to.not.contain('type="password"')
    await world.browser.submit(page, 'Continue')
    expect(world.browser.left?.searchParams.has('code')).to.equal(true)
  })

  it('keeps an earlier sign-in of the same browser', async () => {
    const first = await world.signIn()
    const { verifier, challenge } = pkcePair()
    await world.browser.submit(await world.browser.open(world.authorizationUrl(challenge)), 'Continue')
    const second = await world.exchange(world.browser.left?.searchParams.get('code') ?? '', verifier)
    expect(second.status).to.equal(200)
    expect((await world.refresh(first.answer.body.refresh_token)).status).to.equal(200)
  })

  it('returns access_denied to the client when the person cancels', async () => {
    const page = await world.browser.open(world.authorizationUrl(pkcePair().challenge))
    await world.browser.submit(page, 'Cancel')
    expect(world.browser.left?.searchParams.get('error')).to.equal('access_denied')
  })

  it('rejects a disabled user at the sign-in page, with a refresh token and in a session', async () => {
    const { answer } = await world.signIn()
    world.disable()
    expect((await world.refresh(answer.body.refresh_token)).body.error).to.equal('invalid_grant')
    const stranger = new Browser(ORIGIN, { reach: world.reach })
    const page = await stranger.open(world.authorizationUrl(pkcePair().challenge))
    const refused = await world.submitPassword(page, PASSWORD, 'ada', stranger)
    expect(refused.status).to.equal(403)
    expect(refused.html).to.contain('disabled')
    expect((await world.submitPassword(page, 'wrong', 'ada', stranger)).html, 'only to who knows it').to.not.contain(
      'disabled',
    )
    world.browser.left = undefined
    const again = await world.browser.open(world.authorizationUrl(pkcePair().challenge))
    expect(again.html, 'through the session of before').to.contain('type="password"')
    expect(world.browser.left).to.equal(undefined)
    await stranger.close()
  })

  it('rejects a form with another CSRF token or from another browser', async () => {
    const page = await world.browser.open(world.authorizationUrl(pkcePair().challenge))
    const refused = await world.browser.submit(page, 'Sign in', {
      login: 'ada',
      password: PASSWORD,
      csrf: 'x'.repeat(43),
    })
    expect(refused.status).to.equal(403)
    const stranger = new Browser(ORIGIN, { reach: world.reach })
    expect((await world.submitPassword(page, PASSWORD, 'ada', stranger)).status, 'of another browser').to.equal(400)
    await stranger.close()
  })

  it('serves pages without scripts, with a strict CSP and escaped input', async () => {
    const page = await world.browser.open(
      world.authorizationUrl(pkcePair().challenge, { login_hint: '"><script>alert(1)</script>' }),
    )
    expect(page.html).to.contain('<label for="password">').and.to.not.contain('<script')
    const policy = String(page.headers['content-security-policy'])
    expect(policy).to.contain("default-src 'none'").and.to.contain("frame-ancestors 'none'")
    expect(policy).to.contain("form-action 'self' http://127.0.0.1:49152")
    expect(policy).to.not.contain('unsafe-inline').and.to.not.contain('script-src')
    expect(page.headers).to.include({ 'cache-control': 'no-store', 'x-frame-options': 'DENY' })
  })
})
