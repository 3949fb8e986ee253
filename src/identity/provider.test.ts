import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { ManualClock } from '../../test/make/clock.ts'
import { KeysByHand } from '../../test/make/keysByHand.ts'
import { request } from '../../test/make/request.ts'
import { systemClock } from '../core/clock.ts'
import { type Log, silentLog } from '../core/log.ts'
import { KubeError } from '../kube/errors.ts'
import { FakeKubeClient } from '../kube/fake.ts'
import type { ClientStore, IdentityClient } from './clients.ts'
import { limitSecrets } from './guessLimiter.ts'
import { generateSigningKey, type SigningKey } from './keyRing.ts'
import { createIdentityProvider, type IdentityProvider, type IdentityProviderOptions } from './provider.ts'
import { secretStateStore } from './state.ts'

const ISSUER = 'https://identity.example:8443/realms/freehold'
const TOKEN = '/realms/freehold/protocol/openid-connect/token'
const CERTS = '/realms/freehold/protocol/openid-connect/certs'
const DISCOVERY = '/realms/freehold/.well-known/openid-configuration'
const CLIENT_ID = '3f0e6f0a-6a43-4a53-9d2b-1f3a7c0f9e11'
const OTHER_ID = '9d2b3f0e-0a6a-434a-a53d-2b1f3a7c0f9e'
const SECRET = randomBytes(32).toString('base64url')

/** Answers after concurrent requests have begun. */
async function afterAWhile<T>(answer: () => T): Promise<T> {
  for (let turn = 0; turn < 20; turn += 1) await setImmediate()
  return answer()
}

describe('the local identity provider', () => {
  let firstKey: SigningKey
  let keys: KeysByHand
  let clients: Map<string, IdentityClient>
  let lines: string[]
  let provider: IdentityProvider
  const printed: string[] = []
  const console_ = { info: console.info, warn: console.warn, error: console.error }

  before(async () => {
    for (const method of ['info', 'warn', 'error'] as const)
      console[method] = (...words: unknown[]) => printed.push(words.join(' '))
    firstKey = await generateSigningKey(systemClock.now())
  })

  beforeEach(() => {
    keys = new KeysByHand(firstKey)
    clients = new Map([
      [CLIENT_ID, { clientId: CLIENT_ID, secret: SECRET, displayName: 'Pipeline', isEnabled: true }],
      [OTHER_ID, { clientId: OTHER_ID, secret: 'another-secret', displayName: 'Other', isEnabled: true }],
    ])
    lines = []
    provider = create({})
  })

  afterEach(() => provider.stop())

  after(() => Object.assign(console, console_))

  function create(options: Partial<IdentityProviderOptions>): IdentityProvider {
    const store: ClientStore = { find: async (clientId) => clients.get(clientId) }
    const note = (fields: object, message: string) => lines.push(JSON.stringify(fields) + message)
    const log: Log = { ...silentLog, debug: note, info: note, warn: note, error: note }
    return createIdentityProvider({
      issuer: ISSUER,
      realm: 'freehold',
      audience: 'platform-kubernetes-client',
      clients: store,
      users: { find: async () => undefined, findByLogin: async () => undefined },
      passwords: { verify: async () => false },
      state: secretStateStore(new FakeKubeClient()),
      keys,
      log,
      ...options,
      limits: { refusalDelay: 0, ...options.limits },
    })
  }

  const ask = (fields: Record<string, string> = {}) =>
    request(provider.handler)
      .post(TOKEN)
      .type('form')
      .send({ grant_type: 'client_credentials', client_id: CLIENT_ID, client_secret: SECRET, ...fields })

  it('issues a JWT access token to a service account without scope or audience', async () => {
    const before = Math.floor(Date.now() / 1000)
    const answer = await ask().expect(200)
    expect(answer.body).to.include({ token_type: 'Bearer', expires_in: 900 })
    expect(answer.headers['cache-control']).to.equal('no-store')
    expect(decodeProtectedHeader(answer.body.access_token)).to.deep.equal({
      alg: 'RS256',
      typ: 'at+jwt',
      kid: firstKey.kid,
    })
    const { iat = 0, exp = 0, jti, ...claims } = decodeJwt(answer.body.access_token)
    expect(claims).to.deep.equal({
      iss: ISSUER,
      sub: CLIENT_ID,
      aud: 'platform-kubernetes-client',
      client_id: CLIENT_ID,
      azp: CLIENT_ID,
      typ: 'Bearer',
      name: 'Pipeline',
      preferred_username: `service-account-${CLIENT_ID}`,
    })
    expect(iat).to.be.within(before, before + 5)
    expect(exp - iat).to.equal(900)
    expect(jti).to.be.a('string')
  })

  it('accepts credentials as HTTP Basic', async () => {
    const answer = await request(provider.handler)
      .post(TOKEN)
      .auth(CLIENT_ID, SECRET)
      .type('form')
      .send({ grant_type: 'client_credentials' })
    expect(answer.status).to.equal(200)
  })

  for (const [name, fields] of Object.entries({
    'a wrong secret': { client_secret: `${SECRET.slice(0, -1)}_` },
    'the secret of another client': { client_secret: 'another-secret' },
    'a truncated secret': { client_secret: SECRET.slice(0, 20) },
    'no secret': { client_secret: '' },
    'an unknown client': { client_id: 'f2b3f0e0-0a6a-434a-a53d-2b1f3a7c0f9e' },
    'a client id in upper case': { client_id: CLIENT_ID.toUpperCase() },
    'a client id that is a path': { client_id: '../secrets/x' },
  })) {
    it(`returns 401 invalid_client for ${name}`, async () => {
      const answer = await ask(fields)
      expect(answer.status).to.equal(401)
      expect(answer.body.error).to.equal('invalid_client')
      expect(answer.body).to.not.have.property('access_token')
    })
  }

  it('returns 401 as soon as the client is disabled or deleted', async () => {
    await ask().expect(200)
    clients.set(CLIENT_ID, { clientId: CLIENT_ID, secret: SECRET, displayName: 'Pipeline', isEnabled: false })
    expect((await ask().expect(401)).body.error).to.equal('invalid_client')
    clients.delete(CLIENT_ID)
    expect((await ask().expect(401)).body.error).to.equal('invalid_client')
  })

  it('accepts only the new secret after a change', async () => {
    await ask().expect(200)
    clients.set(CLIENT_ID, { clientId: CLIENT_ID, secret: 'changed', displayName: 'Pipeline', isEnabled: true })
    await ask().expect(401)
    await ask({ client_secret: 'changed' }).expect(200)
  })

  for (const [name, fields, error] of [
    ['the password grant', { grant_type: 'password', username: 'a', password: 'b' }, 'unsupported_grant_type'],
    [
      'an authorization code of a service account',
      { grant_type: 'authorization_code', code: 'x' },
      'unauthorized_client',
    ],
    ['another resource', { resource: 'https://elsewhere.example/' }, 'invalid_target'],
  ] as const) {
    it(`returns 400 for ${name}`, async () => {
      const answer = await ask(fields)
      expect(answer.status).to.equal(400)
      expect(answer.body.error).to.equal(error)
    })
  }

  it('ignores the parameters scope and audience', async () => {
    const answer = await ask({ scope: 'openid', audience: 'else' }).expect(200)
    expect(decodeJwt(answer.body.access_token).aud).to.equal('platform-kubernetes-client')
  })

  it('publishes only public keys, cached for 31 seconds', async () => {
    const answer = await request(provider.handler).get(CERTS).expect(200)
    expect(answer.body.keys).to.have.length(1)
    expect(Object.keys(answer.body.keys[0]).sort()).to.deep.equal(['alg', 'e', 'kid', 'kty', 'n', 'use'])
    expect(answer.headers['cache-control']).to.equal('public, max-age=31')
  })

  it('returns discovery URLs of its issuer, ignoring the Host header', async () => {
    const answer = await request(provider.handler).get(DISCOVERY).set('host', 'evil.example').expect(200)
    expect(answer.body).to.include({
      issuer: ISSUER,
      token_endpoint: `${ISSUER}/protocol/openid-connect/token`,
      jwks_uri: `${ISSUER}/protocol/openid-connect/certs`,
      authorization_endpoint: `${ISSUER}/protocol/openid-connect/auth`,
    })
    expect(JSON.stringify(answer.body)).to.not.contain('evil.example')
  })

  it('publishes a new key before it signs with it, without a restart', async () => {
    const next = await generateSigningKey(systemClock.now())
    keys.publish(next)
    const published = await request(provider.handler).get(CERTS)
    expect(published.body.keys.map((key: { kid: string }) => key.kid)).to.have.members([firstKey.kid, next.kid])
    expect(decodeProtectedHeader((await ask()).body.access_token).kid).to.equal(firstKey.kid)
    keys.use(next)
    expect(decodeProtectedHeader((await ask()).body.access_token).kid).to.equal(next.kid)
  })

  it('returns 429 to an address after 3 wrong secrets of a client, but not for another client', async () => {
    provider.stop()
    provider = create({ limits: { refusedSecretsPerMinute: 3 } })
    for (let guess = 0; guess < 3; guess += 1) await ask({ client_secret: `guess-${guess}` }).expect(401)
    const blocked = await ask()
    expect(blocked.status).to.equal(429)
    expect(blocked.body.error).to.equal('temporarily_unavailable')
    expect(Number(blocked.headers['retry-after'])).to.be.within(1, 60)
    await ask({ client_id: OTHER_ID, client_secret: 'another-secret' }).expect(200)
  })

  it('shares the limit of wrong secrets with other endpoints', async () => {
    provider.stop()
    const secretGuesses = limitSecrets(2)
    provider = create({ secretGuesses })
    await ask({ client_secret: 'guess' }).expect(401)
    const elsewhere = (answer?: string) => secretGuesses.judge('127.0.0.1', CLIENT_ID, async () => answer)
    expect(await elsewhere()).to.deep.equal({ value: undefined })
    expect(await elsewhere(SECRET)).to.have.property('blockedFor')
    await ask().expect(429)
  })

  for (const [path, fields] of [
    [TOKEN, { grant_type: 'client_credentials' }],
    [TOKEN.replace('token', 'revoke'), { token: 'x' }],
    [TOKEN.replace('token', 'auth/device'), { scope: 'openid' }],
  ] as const) {
    for (const [whose, client_id] of [
      ['an existing client', CLIENT_ID],
      ['an unknown client', '00000000-0000-4000-8000-000000000000'],
    ] as const) {
      it(`checks only 3 of 12 concurrent wrong secrets: ${path}, ${whose}`, async () => {
        provider.stop()
        const slow: ClientStore = { find: (clientId) => afterAWhile(() => clients.get(clientId)) }
        provider = create({ limits: { refusedSecretsPerMinute: 3 }, clients: slow })
        const guess = (_: unknown, n: number) =>
          request(provider.handler)
            .post(path)
            .type('form')
            .send({ ...fields, client_id, client_secret: `guess-${n}` })
        const answers = await Promise.all(Array.from({ length: 12 }, guess))
        const statuses = answers.map(({ status }) => status).sort()
        expect(statuses).to.deep.equal([...Array(3).fill(401), ...Array(9).fill(429)])
        const late = await request(provider.handler)
          .post(path)
          .auth(client_id, SECRET)
          .type('form')
          .send({ ...fields })
        expect([late.status, late.body.error]).to.deep.equal([429, 'temporarily_unavailable'])
        expect(Number(late.headers['retry-after'])).to.be.within(1, 60)
      })
    }
  }

  it('accepts 12 concurrent requests with the right secret', async () => {
    provider.stop()
    provider = create({ limits: { refusedSecretsPerMinute: 3 } })
    const answers = await Promise.all(Array.from({ length: 12 }, () => ask()))
    expect(answers.map(({ status }) => status)).to.deep.equal(Array(12).fill(200))
  })

  it('returns 429 above tokenRequestsPerMinute', async () => {
    provider.stop()
    provider = create({ limits: { tokenRequestsPerMinute: 2 } })
    await ask().expect(200)
    await ask().expect(200)
    const refused = await ask()
    expect(refused.status).to.equal(429)
    expect(refused.headers).to.have.property('retry-after')
  })

  it('returns 429 as a page to browsers and as JSON to programs', async () => {
    provider.stop()
    provider = create({ limits: { deviceCodesPerMinute: 1 } })
    const ask = (accept: string) => request(provider.handler).post('/realms/freehold/device').set('accept', accept)
    await ask('text/html')
    const page = await ask('text/html,application/xhtml+xml,*/*;q=0.8')
    expect([page.status, page.type]).to.deep.equal([429, 'text/html'])
    expect(page.text).to.include('Too many attempts. Wait a moment.')
    for (const accept of ['application/json', '*/*']) expect((await ask(accept)).type).to.equal('application/json')
  })

  const others = [
    ['discovery', DISCOVERY],
    ['the keys', CERTS],
    ['userinfo', TOKEN.replace('token', 'userinfo')],
    ['an unknown path', '/realms/other'],
  ] as const
  for (const [what, path] of others) {
    it(`returns 429 above otherRequestsPerMinute, apart from tokens: ${what}`, async () => {
      provider.stop()
      provider = create({ limits: { otherRequestsPerMinute: 2 } })
      const { status } = await request(provider.handler).get(path)
      expect((await request(provider.handler).get(CERTS)).status).to.equal(200)
      const refused = await request(provider.handler).get(path)
      expect([status < 429, refused.status, refused.body.error]).to.deep.equal([true, 429, 'temporarily_unavailable'])
      expect(refused.headers).to.have.property('retry-after')
      for (let count = 0; count < 3; count += 1) await ask().expect(200)
    })
  }

  for (const [whose, path] of [
    ['of requests per address', TOKEN],
    ['of wrong secrets', TOKEN.replace('token', 'auth/device')],
  ] as const) {
    it(`drops a delayed response when the caller disconnects, at the limit ${whose}`, async () => {
      provider.stop()
      const clock = new ManualClock()
      const limits = { tokenRequestsPerMinute: 1, refusedSecretsPerMinute: 1, refusalDelay: 60_000 }
      provider = create({ limits, clock })
      const server = createServer(provider.handler).listen(0, '127.0.0.1')
      await once(server, 'listening')
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`
      const body = new URLSearchParams({ client_id: CLIENT_ID, client_secret: 'no' })
      const gone = new AbortController()
      const guess = () => fetch(url, { method: 'POST', body, signal: gone.signal })
      expect((await guess()).status).to.be.below(429)
      const refused = guess().catch(({ name }: Error) => name)
      while (clock.pending === 0) await setImmediate()
      gone.abort()
      expect(await refused).to.equal('AbortError')
      while (clock.pending > 0) await setImmediate()
      server.close()
      server.closeAllConnections()
    })
  }

  it('ignores X-Forwarded-For and Forwarded without trusted proxies', async () => {
    provider.stop()
    provider = create({ limits: { tokenRequestsPerMinute: 2 } })
    await ask().set('x-forwarded-for', '198.51.100.1').set('forwarded', 'for=198.51.100.1').expect(200)
    await ask().set('x-forwarded-for', '198.51.100.2').expect(200)
    await ask().set('x-forwarded-for', '198.51.100.3').expect(429)
  })

  it('uses X-Forwarded-For behind a trusted proxy', async () => {
    provider.stop()
    provider = create({ limits: { tokenRequestsPerMinute: 1 }, trustedProxies: ['loopback'] })
    await ask().set('x-forwarded-for', '198.51.100.1').expect(200)
    await ask().set('x-forwarded-for', '198.51.100.2').expect(200)
    await ask().set('x-forwarded-for', '198.51.100.2').expect(429)
  })

  it('returns 404 outside its realm', async () => {
    await request(provider.handler).get('/realms/other/.well-known/openid-configuration').expect(404)
    await request(provider.handler).get('/').expect(404)
  })

  it('returns 500 without the cause, which it logs, if clients cannot be read', async () => {
    provider.stop()
    provider = create({ clients: { find: () => Promise.reject(new Error('etcd at 10.0.0.1 is away')) } })
    const answer = await ask()
    expect(answer.status).to.equal(500)
    expect(answer.body.error).to.equal('server_error')
    expect(JSON.stringify(answer.body)).to.not.contain('etcd')
    expect(lines.join()).to.contain('etcd at 10.0.0.1 is away')
  })

  it('returns 503 with Retry-After while the API server does not answer', async () => {
    provider.stop()
    const away = new KubeError('Unavailable', 'Cannot get secrets: no answer.', { status: 0 })
    provider = create({ clients: { find: () => Promise.reject(away) } })
    const answer = await ask()
    expect([answer.status, answer.body.error]).to.deep.equal([503, 'temporarily_unavailable'])
    expect(Number(answer.headers['retry-after'])).to.be.above(0)
  })

  it('returns 400 unauthorized_client to a public client with client_credentials (RFC 6749 section 5.2)', async () => {
    const answer = await request(provider.handler)
      .post(TOKEN)
      .type('form')
      .send({ grant_type: 'client_credentials', client_id: 'freehold-cli' })
    expect([answer.status, answer.body.error]).to.deep.equal([400, 'unauthorized_client'])
  })

  it('logs no secret', async () => {
    await ask()
    await ask({ client_secret: 'wrong-secret-of-a-caller' })
    expect(lines).to.have.length.above(1)
    expect(lines.join()).to.not.contain(SECRET).and.to.not.contain('wrong-secret-of-a-caller')
  })

  it('rejects an issuer that is not https or not of the realm', () => {
    expect(() => create({ issuer: 'http://127.0.0.1/realms/freehold' })).to.throw(/https/)
    expect(() => create({ issuer: 'https://127.0.0.1/realms/other' })).to.throw(/realms\/freehold/)
    expect(() => create({ issuer: 'https://127.0.0.1/realms/freehold/' })).to.throw(/realms\/freehold/)
  })

  it('prints nothing to the console', () => {
    expect(printed).to.deep.equal([])
  })
})
