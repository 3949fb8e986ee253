import { expect } from 'chai'
import {
  CompactEncrypt,
  type CryptoKey,
  exportJWK,
  exportSPKI,
  FlattenedSign,
  generateKeyPair,
  type JWK,
  type JWTPayload,
  SignJWT,
} from 'jose'
import { ManualClock } from '../../test/make/clock.ts'
import { PlatformError } from '../core/errors.ts'
import { silentLog } from '../core/log.ts'
import { keepTokenKeys, type TokenKeys } from './tokenKeys.ts'
import {
  authorizationHeader,
  type Caller,
  createTokenVerifier,
  TOKEN_ALGORITHMS,
  type TokenVerifier,
} from './tokens.ts'

const ISSUER = 'https://127.0.0.1:8443/realms/freehold'
const AUDIENCE = 'platform-kubernetes-client'
const SUBJECT = '3f0e6f0a-6a43-4a53-9d2b-1f3a7c0f9e11'
const NOW = Date.parse('2026-01-01T12:00:00Z')
const SECONDS = NOW / 1000
const BASE64_LAST = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

type Algorithm = (typeof TOKEN_ALGORITHMS)[number]
type Pair = { kid: string; privateKey: CryptoKey; publicKey: CryptoKey; jwk: JWK }

async function pairOf(algorithm: string, kid: string): Promise<Pair> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true })
  return { kid, privateKey, publicKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: algorithm, use: 'sig' } }
}

const goodClaims: JWTPayload = {
  iss: ISSUER,
  aud: AUDIENCE,
  sub: SUBJECT,
  iat: SECONDS - 10,
  exp: SECONDS + 890,
  typ: 'Bearer',
  azp: SUBJECT,
  client_id: SUBJECT,
  name: 'Pipeline',
}

const encode = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
/** The signature is real; header and payload are whatever the test wants. */
async function signRaw(key: CryptoKey, algorithm: string, header: unknown, payload: unknown): Promise<string> {
  const text = `${encode(header)}.${encode(payload)}`
  const parameters = {
    RS256: { name: 'RSASSA-PKCS1-v1_5' },
    PS256: { name: 'RSA-PSS', saltLength: 32 },
    ES256: { name: 'ECDSA', hash: 'SHA-256' },
    EdDSA: { name: 'Ed25519' },
  }[algorithm]
  const signature = await crypto.subtle.sign(parameters ?? '', key, new TextEncoder().encode(text))
  return `${text}.${Buffer.from(signature).toString('base64url')}`
}

type Forge = {
  algorithm: Algorithm
  pair: Pair
  /** Of somebody else. */
  stranger: Pair
  /** A token that is right but for these claims and headers; undefined removes one. */
  sign(claims?: Record<string, unknown>, header?: Record<string, unknown>, key?: CryptoKey): Promise<string>
  good(): Promise<string>
}

function forge(algorithm: Algorithm, pair: Pair, stranger: Pair): Forge {
  const sign: Forge['sign'] = (claims = {}, header = {}, key = pair.privateKey) =>
    signRaw(key, algorithm, { alg: algorithm, typ: 'at+jwt', kid: pair.kid, ...header }, { ...goodClaims, ...claims })
  return { algorithm, pair, stranger, sign, good: () => sign() }
}

const claims = (changed: Record<string, unknown>) => async (it: Forge) => `Bearer ${await it.sign(changed)}`
const header = (changed: Record<string, unknown>) => async (it: Forge) => `Bearer ${await it.sign({}, changed)}`
const around = (change: (token: string) => string | undefined) => async (it: Forge) => change(await it.good())
const parts = (change: (header: string, payload: string, signature: string) => string) =>
  around((token) => {
    const [first = '', second = '', third = ''] = token.split('.')
    return `Bearer ${change(first, second, third)}`
  })

/** Wrong in one thing each. */
const WRONG: Record<string, (it: Forge) => Promise<string | undefined>> = {
  'no header': async () => undefined,
  'an empty header': async () => '',
  'only the scheme': async () => 'Bearer',
  'the scheme and a space': async () => 'Bearer ',
  'a token without a scheme': around((token) => token),
  'another scheme': around((token) => `Basic ${token}`),
  'a scheme that begins like Bearer': around((token) => `Bearers ${token}`),
  'no space after the scheme': around((token) => `Bearer${token}`),
  'two spaces': around((token) => `Bearer  ${token}`),
  'a tab': around((token) => `Bearer\t${token}`),
  'a space in front': around((token) => ` Bearer ${token}`),
  'a space behind': around((token) => `Bearer ${token} `),
  'a line break behind': around((token) => `Bearer ${token}\n`),
  'two tokens': around((token) => `Bearer ${token} ${token}`),
  'two credentials joined by a comma': around((token) => `Bearer ${token}, Bearer ${token}`),
  'a parameter behind': around((token) => `Bearer ${token}, realm="x"`),
  quotes: around((token) => `Bearer "${token}"`),
  'more than 16 KiB': claims({ padding: 'x'.repeat(17_000) }),
  'a word': async () => 'Bearer token',
  'an opaque token': async () => 'Bearer 4f5e1c0b9a8d7e6f5a4b3c2d1e0f',
  'one segment': parts((first) => first),
  'two segments': parts((first, second) => `${first}.${second}`),
  'an empty signature': parts((first, second) => `${first}.${second}.`),
  'an empty payload': parts((first, _, third) => `${first}..${third}`),
  'an empty header segment': parts((_, second, third) => `.${second}.${third}`),
  'a fourth segment': parts((first, second, third) => `${first}.${second}.${third}.${third}`),
  'a doubled signature': parts((first, second, third) => `${first}.${second}.${third}${third}`),
  'a doubled header segment': parts((first, second, third) => `${first}.${first}.${second}.${third}`),
  padding: parts((first, second, third) => `${first}.${second}.${third}=`),
  'the other base64 alphabet': parts((first, second, third) => `${first}.${second}.+${third.slice(1)}`),
  'white space inside': parts((first, second, third) => `${first}.${second.slice(0, 5)} ${second.slice(5)}.${third}`),
  'percent encoding': parts((first, second, third) => `${first}%2E${second}.${third}`),
  'a NUL character': parts((first, second, third) => `${first}.${second}.${third}\0`),
  'spare bits set at the end': parts((first, second, third) => {
    const last = BASE64_LAST.indexOf(third.at(-1) ?? '')
    return `${first}.${second}.${third.slice(0, -1)}${BASE64_LAST[last | 1]}${last % 2 === 1 ? '=' : ''}`
  }),
  'a signature cut short': parts((first, second, third) => `${first}.${second}.${third.slice(0, -4)}`),
  'a signature of zeros': parts(
    (f, s, third) => `${f}.${s}.${encode('\0'.repeat(Buffer.from(third, 'base64url').length))}`,
  ),
  'a changed signature': parts((f, s, third) => `${f}.${s}.${third[0] === 'A' ? 'B' : 'A'}${third.slice(1)}`),
  'a changed payload': parts((first, _, third) => `${first}.${encode({ ...goodClaims, name: 'Owner' })}.${third}`),
  'a changed header': parts(
    (_, second, third) => `${encode({ alg: 'RS256', typ: 'JWT', kid: 'x' })}.${second}.${third}`,
  ),
  'a header that is no JSON': async (it) =>
    `Bearer ${await signRaw(it.pair.privateKey, it.algorithm, 'header', goodClaims)}`,
  'a header that is a list': async (it) => `Bearer ${await signRaw(it.pair.privateKey, it.algorithm, [], goodClaims)}`,
  'a payload that is no JSON': async (it) => {
    const words = { alg: it.algorithm, typ: 'at+jwt', kid: it.pair.kid }
    return `Bearer ${await signRaw(it.pair.privateKey, it.algorithm, words, 'payload')}`
  },
  'a payload that is a list': async (it) => {
    const words = { alg: it.algorithm, typ: 'at+jwt', kid: it.pair.kid }
    return `Bearer ${await signRaw(it.pair.privateKey, it.algorithm, words, [goodClaims])}`
  },
  'the JSON form of a token': async (it) => {
    const json = await new FlattenedSign(new TextEncoder().encode(JSON.stringify(goodClaims)))
      .setProtectedHeader({ alg: it.algorithm, typ: 'at+jwt', kid: it.pair.kid })
      .sign(it.pair.privateKey)
    return `Bearer ${JSON.stringify(json)}`
  },

  'algorithm none without a signature': async (it) =>
    `Bearer ${encode({ alg: 'none', typ: 'at+jwt', kid: it.pair.kid })}.${encode(goodClaims)}.`,
  'algorithm none with the signature of a good token': parts(
    (_, second, third) => `${encode({ alg: 'none', typ: 'at+jwt', kid: 'x' })}.${second}.${third}`,
  ),
  'algorithm nOnE': header({ alg: 'nOnE' }),
  'no algorithm': header({ alg: undefined }),
  'an algorithm that is a number': header({ alg: 256 }),
  'an unknown algorithm': header({ alg: 'RS1' }),
  'a lower-case algorithm': async (it) => `Bearer ${await it.sign({}, { alg: it.algorithm.toLowerCase() })}`,
  'an algorithm of the same family that is not allowed': header({ alg: 'RS512' }),
  'HS256 with the public key (PEM) as secret': async (it) => {
    const secret = new TextEncoder().encode(await exportSPKI(it.pair.publicKey))
    const token = new SignJWT(goodClaims).setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid: it.pair.kid })
    return `Bearer ${await token.sign(secret)}`
  },
  'HS256 with the public key (JWK) as secret': async (it) => {
    const secret = new TextEncoder().encode(JSON.stringify(it.pair.jwk))
    const token = new SignJWT(goodClaims).setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid: it.pair.kid })
    return `Bearer ${await token.sign(secret)}`
  },
  'HS256 with an empty secret': async (it) => {
    const text = `${encode({ alg: 'HS256', typ: 'at+jwt', kid: it.pair.kid })}.${encode(goodClaims)}`
    return `Bearer ${text}.${encode('x'.repeat(32))}`
  },
  'the key of somebody else under our key id': async (it) => `Bearer ${await it.sign({}, {}, it.stranger.privateKey)}`,
  'an unknown key id': header({ kid: 'unknown' }),
  'an empty key id': header({ kid: '' }),
  'a key id that is a path': header({ kid: '../../dev/null' }),
  'a key id that is a number': header({ kid: 1 }),
  'no key id': header({ kid: undefined }),
  'the key id of another key': header({ kid: 'other' }),
  'the key id of an encryption key': header({ kid: 'encryption' }),
  'a key of its own in jwk': async (it) =>
    `Bearer ${await it.sign({}, { jwk: it.stranger.jwk, kid: it.stranger.kid }, it.stranger.privateKey)}`,
  'our own public key in jwk': async (it) => `Bearer ${await it.sign({}, { jwk: it.pair.jwk })}`,
  'an address of keys in jku': header({ jku: 'https://evil.example/keys' }),
  "the issuer's own address in jku": header({ jku: `${ISSUER}/protocol/openid-connect/certs` }),
  'an address of certificates in x5u': header({ x5u: 'https://evil.example/cert' }),
  'a certificate in x5c': header({ x5c: ['MIIB'] }),
  'a critical extension': header({ crit: ['exp'], exp: SECONDS }),
  'an empty list of critical extensions': header({ crit: [] }),
  'an unencoded payload': header({ b64: false, crit: ['b64'] }),
  'b64 false without crit': header({ b64: false }),
  compression: header({ zip: 'DEF' }),
  'a nested token by cty': header({ cty: 'JWT' }),
  'an encrypted token': async (it) => {
    const { publicKey } = await generateKeyPair('ECDH-ES')
    const encrypted = new CompactEncrypt(new TextEncoder().encode(await it.good()))
    return `Bearer ${await encrypted.setProtectedHeader({ alg: 'ECDH-ES', enc: 'A256GCM', cty: 'JWT' }).encrypt(publicKey)}`
  },
  'no header type': header({ typ: undefined }),
  'the header type of a logout token': header({ typ: 'logout+jwt' }),
  'the header type of a DPoP proof': header({ typ: 'dpop+jwt' }),
  'a header type that is a list': header({ typ: ['at+jwt'] }),

  'an ID token': claims({ typ: 'ID', nonce: 'n', at_hash: 'h' }),
  'an ID token that says nothing of its type': claims({ typ: undefined, nonce: 'n' }),
  'a refresh token': claims({ typ: 'Refresh' }),
  'an offline token': claims({ typ: 'Offline' }),
  'a logout token': claims({ typ: 'Logout' }),
  'a type in lower case': claims({ typ: 'bearer' }),
  'a type that is a list': claims({ typ: ['Bearer'] }),
  'a token bound to a key': claims({ cnf: { jkt: 'x' } }),
  'no issuer': claims({ iss: undefined }),
  'another issuer': claims({ iss: 'https://evil.example/realms/freehold' }),
  'the issuer of another realm': claims({ iss: ISSUER.replace('freehold', 'other') }),
  'the issuer with a slash': claims({ iss: `${ISSUER}/` }),
  'the issuer in capitals': claims({ iss: ISSUER.toUpperCase() }),
  'the issuer over http': claims({ iss: ISSUER.replace('https', 'http') }),
  'the issuer by another name': claims({ iss: ISSUER.replace('127.0.0.1', 'localhost') }),
  'a list of issuers': claims({ iss: [ISSUER] }),
  'no audience': claims({ aud: undefined }),
  'another audience': claims({ aud: 'account' }),
  'audiences without ours': claims({ aud: ['account', 'broker'] }),
  'an empty list of audiences': claims({ aud: [] }),
  'our audience as part of a longer one': claims({ aud: `${AUDIENCE}-2` }),
  'our audience within a text': claims({ aud: `account ${AUDIENCE}` }),
  'our audience in capitals': claims({ aud: AUDIENCE.toUpperCase() }),
  'our audience nested in a list': claims({ aud: [[AUDIENCE]] }),
  'an audience that is an object': claims({ aud: { [AUDIENCE]: true } }),
  'no subject': claims({ sub: undefined }),
  'an empty subject': claims({ sub: '' }),
  'a subject that is no uuid': claims({ sub: 'admin' }),
  'a subject in capitals': claims({ sub: SUBJECT.toUpperCase() }),
  'a subject with a space': claims({ sub: `${SUBJECT} ` }),
  'a subject with a line break': claims({ sub: `${SUBJECT}\n` }),
  'a subject of Kubernetes': claims({ sub: 'system:admin' }),
  'a list of subjects': claims({ sub: [SUBJECT] }),
  'a subject that is a number': claims({ sub: 1 }),
  'an expired token': claims({ iat: SECONDS - 931, exp: SECONDS - 31 }),
  'no expiry': claims({ exp: undefined }),
  'an expiry that is text': claims({ exp: String(SECONDS + 890) }),
  'an expiry that is null': claims({ exp: null }),
  'an expiry in milliseconds': claims({ exp: NOW + 890_000 }),
  'an infinite expiry': async (it) => {
    const payload = JSON.stringify({ ...goodClaims, exp: 0 }).replace('"exp":0', '"exp":1e999')
    return `Bearer ${await signRaw(it.pair.privateKey, it.algorithm, { alg: it.algorithm, typ: 'at+jwt', kid: it.pair.kid }, payload)}`
  },
  'a negative expiry': claims({ exp: -1 }),
  'an expiry before the issue': claims({ iat: SECONDS + 20, exp: SECONDS + 10 }),
  'a life of more than a day': claims({ iat: SECONDS, exp: SECONDS + 86_401 }),
  'no time of issue': claims({ iat: undefined }),
  'a time of issue in the future': claims({ iat: SECONDS + 31, exp: SECONDS + 900 }),
  'a time of issue that is text': claims({ iat: String(SECONDS) }),
  'not valid yet': claims({ nbf: SECONDS + 31 }),
  'a start of validity that is text': claims({ nbf: String(SECONDS) }),
}

/** Right, though different from the plain case. */
const RIGHT: Record<string, (it: Forge) => Promise<string | undefined>> = {
  'a plain token': around((token) => `Bearer ${token}`),
  'the scheme in lower case': around((token) => `bearer ${token}`),
  'the scheme in capitals': around((token) => `BEARER ${token}`),
  "the header type of Keycloak's tokens": header({ typ: 'JWT' }),
  'the header type in full': header({ typ: 'application/at+jwt' }),
  'several audiences with ours': claims({ aud: ['account', AUDIENCE] }),
  'a token that expired within the skew of clocks': claims({ iat: SECONDS - 900, exp: SECONDS - 29 }),
  'a token issued within the skew of clocks': claims({ iat: SECONDS + 29, exp: SECONDS + 900 }),
  'a start of validity within the skew': claims({ nbf: SECONDS + 29 }),
  'a life of one day': claims({ iat: SECONDS, exp: SECONDS + 86_400 }),
  'claims that we do not know': claims({ acr: '1', scope: 'openid', jti: 'x', realm_access: { roles: ['admin'] } }),
}

async function outcome(verifier: TokenVerifier, authorization: string | undefined): Promise<string> {
  try {
    return (await verifier.verify(authorization)).principalId
  } catch (error) {
    return error instanceof PlatformError ? error.code : String(error)
  }
}

describe('access tokens', () => {
  let clock: ManualClock
  let published: JWK[]
  let fetches: number
  let isIssuerDown: boolean
  let keys: TokenKeys
  let verifier: TokenVerifier
  const pairs = new Map<string, { ours: Pair; stranger: Pair }>()
  let encryption: Pair

  before(async () => {
    for (const algorithm of TOKEN_ALGORITHMS) {
      pairs.set(algorithm, {
        ours: await pairOf(algorithm, `key-${algorithm}`),
        stranger: await pairOf(algorithm, 'other'),
      })
    }
    encryption = await pairOf('RS256', 'encryption')
  })

  beforeEach(() => {
    clock = new ManualClock(NOW)
    fetches = 0
    isIssuerDown = false
    published = [...pairs.values()].map(({ ours }) => ours.jwk)
    published.push({ ...encryption.jwk, use: 'enc', alg: 'RSA-OAEP' }, { kty: 'oct', k: 'AAAA', kid: 'x' })
    verifier = create()
  })

  afterEach(() => verifier.stop())

  function create(): TokenVerifier {
    keys = keepTokenKeys({
      clock,
      log: silentLog,
      async fetchKeys() {
        fetches += 1
        if (isIssuerDown) throw new Error('the issuer is away')
        return { keys: published }
      },
    })
    return createTokenVerifier({
      issuer: ISSUER,
      audience: AUDIENCE,
      jwksUrl: `${ISSUER}/protocol/openid-connect/certs`,
      clock,
      log: silentLog,
      keys,
    })
  }
  /** So many milliseconds after NOW. */
  const timeIs = (milliseconds: number) => clock.freeze(NOW + milliseconds - clock.now())

  function forgeOf(algorithm: Algorithm = 'ES256'): Forge {
    const pair = pairs.get(algorithm)
    if (pair === undefined) throw new Error(`no key for ${algorithm}`)
    return forge(algorithm, pair.ours, pair.stranger)
  }

  for (const algorithm of TOKEN_ALGORITHMS) {
    describe(algorithm, () => {
      for (const [name, make] of Object.entries(RIGHT)) {
        it(`accepts ${name}`, async () => {
          expect(await outcome(verifier, await make(forgeOf(algorithm)))).to.equal(SUBJECT)
        })
      }
      for (const [name, make] of Object.entries(WRONG)) {
        it(`refuses ${name}`, async () => {
          const wrong = await make(forgeOf(algorithm))
          expect(await outcome(verifier, wrong), 'at once').to.equal('UNAUTHORIZED')
          await verifier.verify(`Bearer ${await forgeOf(algorithm).good()}`)
          expect(await outcome(verifier, wrong), 'beside a good token').to.equal('UNAUTHORIZED')
        })
      }
    })
  }

  it('has a table of at least 60 wrong tokens', () => expect(Object.keys(WRONG)).to.have.length.of.at.least(60))

  describe('of whom', () => {
    const callerOf = async (changed: Record<string, unknown>): Promise<Caller> =>
      verifier.verify(`Bearer ${await forgeOf().sign(changed)}`)
    const PERSON = { azp: 'platform-cli', client_id: undefined, sid: 'session', preferred_username: 'ada' }

    for (const [sentence, changed, wanted] of [
      ['our service account is its own client', {}, 'ServicePrincipal'],
      ['azp alone tells a service account', { client_id: undefined }, 'ServicePrincipal'],
      [
        "Keycloak's service account is named after its client and has no session",
        { azp: 'Build', client_id: 'Build', preferred_username: 'service-account-build' },
        'ServicePrincipal',
      ],
      ['a person signs in through a client', PERSON, 'User'],
      [
        'a person who took the name of a service account has a session',
        { ...PERSON, preferred_username: 'service-account-platform-cli' },
        'User',
      ],
      [
        'a person named after another client is a person',
        { ...PERSON, sid: undefined, preferred_username: 'service-account-x' },
        'User',
      ],
      ['without a client it is a person', { azp: undefined, client_id: undefined }, 'User'],
    ] as const) {
      it(sentence, async () => expect((await callerOf(changed)).principalType).to.equal(wanted))
    }

    it('tells name, verified address and times in milliseconds', async () => {
      const person = { ...PERSON, name: 'Ada', email: 'ada@example.com', email_verified: true, auth_time: SECONDS - 60 }
      expect(await callerOf(person)).to.deep.equal({
        principalId: SUBJECT,
        principalType: 'User',
        displayName: 'Ada',
        email: 'ada@example.com',
        authTime: NOW - 60_000,
        expiresAt: NOW + 890_000,
      })
    })

    it('keeps an address to itself that the issuer has not verified', async () => {
      for (const email_verified of [false, undefined, 'true', 1]) {
        expect(await callerOf({ ...PERSON, email: 'ada@example.com', email_verified })).to.not.have.property('email')
      }
    })

    it('drops names that are no text or far too long', async () => {
      expect(await callerOf({ name: { first: 'Ada' } })).to.not.have.property('displayName')
      expect(await callerOf({ name: 'x'.repeat(257) })).to.not.have.property('displayName')
    })
  })

  describe('and the keys of their issuer', () => {
    it('are fetched once for many tokens at the same time', async () => {
      const tokens = await Promise.all(TOKEN_ALGORITHMS.map((algorithm) => forgeOf(algorithm).good()))
      await Promise.all(tokens.map((token) => verifier.verify(`Bearer ${token}`)))
      expect(fetches).to.equal(1)
    })

    it('are fetched at most once in 30 s for unknown key ids, however many', async () => {
      await verifier.verify(`Bearer ${await forgeOf().good()}`)
      const bogus = await Promise.all([...Array(50).keys()].map((n) => forgeOf().sign({}, { kid: `bogus-${n}` })))
      for (const moment of [0, 10_000, 29_999]) {
        timeIs(moment)
        for (const token of bogus) expect(await outcome(verifier, `Bearer ${token}`)).to.equal('UNAUTHORIZED')
        expect(fetches, `after ${moment} ms`).to.equal(1)
      }
      timeIs(30_000)
      await Promise.all(bogus.map((token) => outcome(verifier, `Bearer ${token}`)))
      expect(fetches).to.equal(2)
      timeIs(59_999)
      for (const token of bogus) await outcome(verifier, `Bearer ${token}`)
      expect(fetches).to.equal(2)
    })

    it('are fetched no oftener while the issuer is away', async () => {
      await verifier.verify(`Bearer ${await forgeOf().good()}`)
      isIssuerDown = true
      timeIs(30_000)
      const bogus = await forgeOf().sign({}, { kid: 'bogus' })
      for (let n = 0; n < 20; n += 1) await outcome(verifier, `Bearer ${bogus}`)
      expect(fetches).to.equal(2)
    })

    it('rotate without a restart: a new key counts as soon as it is met', async () => {
      await verifier.verify(`Bearer ${await forgeOf().good()}`)
      const next = await pairOf('ES256', 'next')
      const token = await forge('ES256', next, next).sign()
      published.push(next.jwk)
      timeIs(30_000)
      expect(await outcome(verifier, `Bearer ${token}`)).to.equal(SUBJECT)
      expect(await outcome(verifier, `Bearer ${await forgeOf().good()}`), 'the old key').to.equal(SUBJECT)
    })

    it('end with their removal, for remembered tokens too', async () => {
      const authorization = `Bearer ${await forgeOf().sign({ iat: SECONDS, exp: SECONDS + 3600 })}`
      await verifier.verify(authorization)
      published = published.filter((key) => key.kid !== 'key-ES256')
      timeIs(61_000)
      await outcome(verifier, authorization)
      // Joins the fetch that the caller before began and did not wait for.
      await keys.renewed()
      expect(fetches).to.equal(2)
      expect(await outcome(verifier, authorization)).to.equal('UNAUTHORIZED')
    })

    it('end when their id is given to another key', async () => {
      const authorization = `Bearer ${await forgeOf().sign({ iat: SECONDS, exp: SECONDS + 3600 })}`
      await verifier.verify(authorization)
      const other = await pairOf('ES256', 'key-ES256')
      published = [other.jwk]
      timeIs(11 * 60_000)
      expect(await outcome(verifier, authorization)).to.equal('UNAUTHORIZED')
    })

    it('stay in use while the issuer is away', async () => {
      const token = () => forgeOf().sign({ iat: clock.now() / 1000, exp: clock.now() / 1000 + 900 })
      await verifier.verify(`Bearer ${await token()}`)
      isIssuerDown = true
      for (const minutes of [2, 11, 120]) {
        timeIs(minutes * 60_000)
        expect(await outcome(verifier, `Bearer ${await token()}`)).to.equal(SUBJECT)
      }
      expect(fetches).to.be.above(2)
    })

    it('that were never told make it 503, until the issuer answers', async () => {
      isIssuerDown = true
      const authorization = `Bearer ${await forgeOf().good()}`
      expect(await outcome(verifier, authorization)).to.equal('SERVICE_UNAVAILABLE')
      expect(await outcome(verifier, undefined)).to.equal('UNAUTHORIZED')
      isIssuerDown = false
      timeIs(1_000)
      expect(await outcome(verifier, authorization)).to.equal(SUBJECT)
    })

    it('sign with an algorithm of the list, whatever else a key would allow', async () => {
      const { privateKey, publicKey } = await generateKeyPair('RS512')
      published = [{ ...(await exportJWK(publicKey)), kid: 'any-algorithm' }]
      const protectedHeader = { alg: 'RS512', typ: 'at+jwt', kid: 'any-algorithm' }
      const token = await new SignJWT(goodClaims).setProtectedHeader(protectedHeader).sign(privateKey)
      expect(await outcome(verifier, `Bearer ${token}`)).to.equal('UNAUTHORIZED')
    })

    it('are nothing but public signing keys', async () => {
      const { ours } = pairs.get('RS256') ?? { ours: encryption }
      const withPrivate = { ...(await exportJWK(ours.privateKey)), kid: ours.kid, alg: 'RS256', use: 'sig' }
      published = [withPrivate]
      expect(await outcome(verifier, `Bearer ${await forgeOf('RS256').good()}`)).to.equal('UNAUTHORIZED')
    })
  })

  it('are verified once: a remembered token needs no second look, until it expires', async () => {
    const authorization = `Bearer ${await forgeOf().good()}`
    const first = await verifier.verify(authorization)
    expect(await verifier.verify(authorization)).to.equal(first)
    timeIs(919_000)
    expect(await outcome(verifier, authorization)).to.equal(SUBJECT)
    timeIs(920_000)
    expect(await outcome(verifier, authorization)).to.equal('UNAUTHORIZED')
  })

  it('are remembered whole: the same claims under a broken signature are refused', async () => {
    const good = await forgeOf().good()
    await verifier.verify(`Bearer ${good}`)
    const [first, second] = good.split('.')
    const other = (await forgeOf().sign({ name: 'x' })).split('.')[2]
    expect(await outcome(verifier, `Bearer ${first}.${second}.${other}`)).to.equal('UNAUTHORIZED')
  })

  it('say why they are refused, without quoting themselves', async () => {
    const expired = await forgeOf().sign({ iat: SECONDS - 900, exp: SECONDS - 60, secret: 'a-private-claim' })
    const message = await verifier.verify(`Bearer ${expired}`).catch((error: Error) => error.message)
    expect(message).to.equal('The access token has expired; request a new one.')
  })

  describe('in a request', () => {
    it('stand in one Authorization header', () => {
      expect(authorizationHeader({ headersDistinct: {} })).to.equal(undefined)
      expect(authorizationHeader({ headersDistinct: { authorization: ['Bearer x'] } })).to.equal('Bearer x')
      expect(() => authorizationHeader({ headersDistinct: { authorization: ['Bearer x', 'Bearer x'] } })).to.throw(
        PlatformError,
        /more than one/,
      )
    })
  })
})
