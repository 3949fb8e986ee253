import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { pkcePair } from '../../test/make/browser.ts'
import { PASSWORD, PATH, signInWorld, USER } from '../../test/make/signIn.ts'
import { type SecretObject, secretData } from '../core/secretData.ts'
import { secret } from '../kube/builtin.ts'
import { PASSWORD_ENTRY, passwordSecretName } from './passwords.ts'
import { secretStateStore } from './state.ts'

describe('sessions of the local provider', () => {
  const world = signInWorld()
  const revoke = (form: Record<string, string>) =>
    fetch(`${world.reach}${PATH}/revoke`, { method: 'POST', body: new URLSearchParams(form) })

  it('end when a code is exchanged twice or without its verifier', async () => {
    const { code, verifier, answer } = await world.signIn()
    expect((await world.exchange(code, pkcePair().verifier)).body.error).to.equal('invalid_grant')
    expect((await world.exchange(code, verifier)).body.error).to.equal('invalid_grant')
    expect((await world.refresh(answer.body.refresh_token)).body.error).to.equal('invalid_grant')
  })

  it('accept a code at most once from two replicas', async () => {
    const { verifier, challenge } = pkcePair()
    await world.submitPassword(await world.browser.open(world.authorizationUrl(challenge)))
    const code = world.browser.left?.searchParams.get('code') ?? ''
    const answers = await Promise.all(
      [world.reach, world.otherReach, world.reach, world.otherReach].map((at) => world.exchange(code, verifier, at)),
    )
    expect(answers.filter(({ status }) => status === 200).length).to.be.at.most(1)
  })

  it('rotate refresh tokens, and end when a used one is presented', async () => {
    const { answer } = await world.signIn()
    const second = await world.refresh(answer.body.refresh_token, world.otherReach)
    expect(second.status, JSON.stringify(second.body)).to.equal(200)
    expect(second.body.refresh_token).to.not.equal(answer.body.refresh_token)
    const claims = decodeJwt(second.body.access_token ?? '')
    expect(claims).to.include({ sub: USER, typ: 'Bearer' })
    expect(claims.auth_time).to.equal(decodeJwt(answer.body.access_token ?? '').auth_time)
    const third = await world.refresh(second.body.refresh_token)
    expect(third.status).to.equal(200)
    expect((await world.refresh(answer.body.refresh_token)).body.error).to.equal('invalid_grant')
    expect((await world.refresh(third.body.refresh_token)).body.error).to.equal('invalid_grant')
  })

  it('end when a refresh token is shown that was used long ago, but not for one that only names the login', async () => {
    const { answer } = await world.signIn()
    const first = answer.body.refresh_token ?? ''
    let newest = first
    const renew = async (token: string) => (await world.refresh(token)).body
    for (let renewal = 0; renewal < 25; renewal += 1) newest = (await renew(newest)).refresh_token ?? ''
    const { sid } = decodeJwt(answer.body.access_token ?? '')
    const forged = [
      `${sid}.x`,
      `${sid}.${'x'.repeat(first.length - 41)}`,
      `${first.slice(0, -1)}${first.endsWith('A') ? 'B' : 'A'}`,
    ]
    for (const token of forged) expect(await renew(token), token).to.include({ error: 'invalid_grant' })
    newest = (await renew(newest)).refresh_token ?? ''
    expect(newest).to.not.equal('')
    expect((await renew(first)).error).to.equal('invalid_grant')
    expect((await renew(newest)).error).to.equal('invalid_grant')
  })

  it('go on when a program revokes a token that it used long ago', async () => {
    const { answer } = await world.signIn()
    const first = answer.body.refresh_token ?? ''
    let newest = first
    for (let renewal = 0; renewal < 25; renewal += 1) newest = (await world.refresh(newest)).body.refresh_token ?? ''
    await revoke({ client_id: 'freehold-cli', token: first })
    expect((await world.refresh(newest)).status).to.equal(200)
  })

  it('are stored as one Secret of the session and one of the grant, without codes and tokens', async () => {
    const { answer, code } = await world.signIn()
    await world.refresh(answer.body.refresh_token)
    const secrets = await world.stateSecrets()
    expect(secrets.map(({ metadata }) => metadata.name.split('-')[1]).sort()).to.deep.equal(['grant', 'session'])
    const text = secrets
      .map((object) => Buffer.from((object as { data?: Record<string, string> }).data?.['state.json'] ?? '', 'base64'))
      .join()
    for (const bearer of [code, answer.body.refresh_token ?? '', PASSWORD]) expect(text).to.not.contain(bearer)
    for (const { metadata } of secrets) expect(metadata.labels?.['freehold.dev/user']).to.equal(USER)
  })

  it('have a refresh token for offline_access after one page', async () => {
    const { verifier, challenge } = pkcePair()
    const scope = 'openid profile email offline_access'
    const page = await world.browser.open(world.authorizationUrl(challenge, { scope, prompt: 'consent' }))
    await world.submitPassword(page)
    const { body } = await world.exchange(world.browser.left?.searchParams.get('code') ?? '', verifier)
    expect((await world.refresh(body.refresh_token)).status).to.equal(200)
  })

  it('end when their refresh token is revoked by its client, and no other of the browser does', async () => {
    const first = await world.signIn()
    const { verifier, challenge } = pkcePair()
    await world.browser.submit(await world.browser.open(world.authorizationUrl(challenge)), 'Continue')
    const second = await world.exchange(world.browser.left?.searchParams.get('code') ?? '', verifier)
    const nobody = await revoke({ client_id: 'freehold-web', token: first.answer.body.refresh_token ?? '' })
    expect(nobody.status, 'of another program').to.equal(401)
    const revoked = await revoke({ client_id: 'freehold-cli', token: first.answer.body.refresh_token ?? '' })
    expect(revoked.status).to.equal(200)
    expect((await world.refresh(first.answer.body.refresh_token, world.otherReach)).body.error).to.equal(
      'invalid_grant',
    )
    const renewed = await world.refresh(second.body.refresh_token)
    expect(renewed.status, JSON.stringify(renewed.body)).to.equal(200)
    expect((await revoke({ client_id: 'freehold-cli', token: 'unknown' })).status, 'RFC 7009 section 2.2').to.equal(200)
  })

  const changePassword = (keepSession?: unknown) => {
    const changed = { ...world.stored, changedAt: new Date(Date.now() + 2_000).toISOString(), keepSession }
    world.kube.edit<SecretObject>(
      secret,
      { namespace: 'freehold-system', name: passwordSecretName(USER) },
      (object) => {
        object.data = secretData({ [PASSWORD_ENTRY]: JSON.stringify(changed) })
      },
    )
  }

  it('continue if the password was changed in them', async () => {
    const { answer } = await world.signIn()
    const { sid } = decodeJwt(answer.body.access_token ?? '')
    changePassword(sid)
    await secretStateStore(world.kube).removeOf(USER, String(sid))
    expect((await world.refresh(answer.body.refresh_token)).status).to.equal(200)
    const page = await world.browser.open(world.authorizationUrl(pkcePair().challenge))
    expect(page.html).to.not.contain('type="password"')
  })

  it('end when the password was changed elsewhere', async () => {
    const { answer } = await world.signIn()
    changePassword()
    expect((await world.refresh(answer.body.refresh_token)).body.error).to.equal('invalid_grant')
    expect((await world.browser.open(world.authorizationUrl(pkcePair().challenge))).html).to.contain('type="password"')
  })

  it('are not stored again by a concurrent request after their end', async () => {
    await world.signIn()
    const apply = world.kube.apply.bind(world.kube)
    world.kube.apply = (async (resource, object, options) => {
      if (object.metadata.name.startsWith('identity-interaction-')) await secretStateStore(world.kube).removeOf(USER)
      return apply(resource, object, options)
    }) as typeof world.kube.apply
    await world.browser.open(world.authorizationUrl(pkcePair().challenge))
    const names = (await world.stateSecrets()).map(({ metadata }) => metadata.name.split('-')[1])
    expect(names).to.deep.equal(['interaction'])
  })

  it('end at a sign-out, with their tokens and Secrets', async () => {
    const { answer } = await world.signIn()
    const query = new URLSearchParams({
      id_token_hint: answer.body.id_token ?? '',
      post_logout_redirect_uri: 'http://127.0.0.1:49152/logged-out',
      state: 'bye',
    })
    const asked = await world.browser.open(`${PATH}/logout?${query}`)
    await world.browser.submit(asked, 'Sign out')
    expect(world.browser.left?.href).to.equal('http://127.0.0.1:49152/logged-out?state=bye')
    expect((await world.refresh(answer.body.refresh_token)).body.error).to.equal('invalid_grant')
    expect(await world.stateSecrets()).to.deep.equal([])
    const page = await world.browser.open(world.authorizationUrl(pkcePair().challenge))
    expect(page.html).to.contain('type="password"')
  })

  it('end at a sign-out without id_token_hint, with pages without scripts', async () => {
    await world.signIn()
    const question = await world.browser.open(`${PATH}/logout`)
    const done = await world.browser.submit(question, 'Sign out')
    const withoutSession = await world.browser.open(`${PATH}/logout`)
    const again = await world.browser.submit(withoutSession, 'Continue')
    for (const { html } of [done, again]) expect(html).to.contain('Signed out')
    expect(withoutSession.html).to.contain('<h1>Sign out?</h1>').and.contain('Nobody is signed in in this browser.')
    for (const { html, headers, url } of [question, done, withoutSession, again]) {
      const policy = String(headers['content-security-policy'])
      expect(policy, url).to.contain("default-src 'none'").and.to.not.contain('unsafe')
      expect(policy, url).to.not.contain('script-src')
      expect(html, url).to.not.contain('<script')
    }
  })

  it('begin at the account page, which names the person', async () => {
    const page = await world.browser.open('/realms/freehold/account')
    expect(page.html).to.contain('type="password"')
    const done = await world.submitPassword(page)
    expect(done.html).to.contain('You are signed in').and.to.contain('Ada Lovelace')
    const again = await world.browser.open('/realms/freehold/account')
    expect(again.html).to.contain('You are signed in')
  })

  it('do not redirect in a loop in a browser without cookies', async () => {
    const answer = await fetch(`${world.reach}/realms/freehold/account?state=signed-in&code=x`, { redirect: 'manual' })
    expect(answer.status).to.equal(400)
  })

  it('give userinfo for an access token of an enabled user only', async () => {
    const { answer } = await world.signIn()
    const ask = (bearer: string | undefined) =>
      fetch(`${world.reach}${PATH}/userinfo`, { headers: { authorization: `Bearer ${bearer}` } })
    expect(await (await ask(answer.body.access_token)).json()).to.include({ sub: USER, email: 'Ada@Example.com' })
    expect((await ask(answer.body.id_token)).status, 'an ID token').to.equal(401)
    expect((await ask('x')).status).to.equal(401)
    world.disable()
    expect((await ask(answer.body.access_token)).status, 'disabled').to.equal(401)
  })

  it('give no userinfo when the account was deleted and another one has its id', async () => {
    const { answer } = await world.signIn()
    world.replace()
    const headers = { authorization: `Bearer ${answer.body.access_token}` }
    expect((await fetch(`${world.reach}${PATH}/userinfo`, { headers })).status).to.equal(401)
  })

  it('log no password, code or token', async () => {
    const { answer, code } = await world.signIn()
    expect(world.lines).to.have.length.above(0)
    for (const word of [PASSWORD, code, answer.body.refresh_token ?? '', answer.body.access_token ?? '']) {
      expect(world.lines.join()).to.not.contain(word)
    }
  })
})
