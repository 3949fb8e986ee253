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
import type { TOKEN_ALGORITHMS } from '../../src/api/callers/tokens.ts'

export const ISSUER = 'https://127.0.0.1:8443/realms/freehold'
export const AUDIENCE = 'platform-kubernetes-client'
export const SUBJECT = '3f0e6f0a-6a43-4a53-9d2b-1f3a7c0f9e11'
export const NOW = Date.parse('2026-01-01T12:00:00Z')
export const SECONDS = NOW / 1000
const BASE64_LAST = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

export type Algorithm = (typeof TOKEN_ALGORITHMS)[number]
export type Pair = { kid: string; privateKey: CryptoKey; publicKey: CryptoKey; jwk: JWK }

export async function pairOf(algorithm: string, kid: string): Promise<Pair> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true })
  return { kid, privateKey, publicKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: algorithm, use: 'sig' } }
}

export const goodClaims: JWTPayload = {
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
/** The signature is real; header and payload are arbitrary. */
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

export type Forge = {
  algorithm: Algorithm
  pair: Pair
  /** A key of another issuer. */
  stranger: Pair
  /** A token that is correct except for these claims and headers; undefined removes one. */
  sign(claims?: Record<string, unknown>, header?: Record<string, unknown>, key?: CryptoKey): Promise<string>
  good(): Promise<string>
}

export function forge(algorithm: Algorithm, pair: Pair, stranger: Pair): Forge {
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

/** Each is wrong in one way. */
export const WRONG: Record<string, (it: Forge) => Promise<string | undefined>> = {
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
  'a header that is not JSON': async (it) =>
    `Bearer ${await signRaw(it.pair.privateKey, it.algorithm, 'header', goodClaims)}`,
  'a header that is a list': async (it) => `Bearer ${await signRaw(it.pair.privateKey, it.algorithm, [], goodClaims)}`,
  'a payload that is not JSON': async (it) => {
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
  'a foreign key under our key id': async (it) => `Bearer ${await it.sign({}, {}, it.stranger.privateKey)}`,
  'an unknown key id': header({ kid: 'unknown' }),
  'an empty key id': header({ kid: '' }),
  'a key id that is a path': header({ kid: '../../dev/null' }),
  'a key id that is a number': header({ kid: 1 }),
  'no key id': header({ kid: undefined }),
  'the key id of another key': header({ kid: 'other' }),
  'the key id of an encryption key': header({ kid: 'encryption' }),
  'the signing key in jwk': async (it) =>
    `Bearer ${await it.sign({}, { jwk: it.stranger.jwk, kid: it.stranger.kid }, it.stranger.privateKey)}`,
  'our own public key in jwk': async (it) => `Bearer ${await it.sign({}, { jwk: it.pair.jwk })}`,
  'a foreign key set in jku': header({ jku: 'https://evil.example/keys' }),
  'the key set of the issuer in jku': header({ jku: `${ISSUER}/protocol/openid-connect/certs` }),
  'a foreign certificate in x5u': header({ x5u: 'https://evil.example/cert' }),
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
  'an ID token without typ': claims({ typ: undefined, nonce: 'n' }),
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
  'a subject that is not a uuid': claims({ sub: 'admin' }),
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
  'a start of validity in the future': claims({ nbf: SECONDS + 31 }),
  'a start of validity that is text': claims({ nbf: String(SECONDS) }),
}

/** Valid, though different from the plain case. */
export const RIGHT: Record<string, (it: Forge) => Promise<string | undefined>> = {
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
  'unknown claims': claims({ acr: '1', scope: 'openid', jti: 'x', realm_access: { roles: ['admin'] } }),
}
