import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify, type ProtectedHeaderParameters } from 'jose'
import { type Clock, systemClock } from '../../core/clock.ts'
import { PlatformError } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { createLruCache } from '../../core/lruCache.ts'
import { isUuid } from '../../core/names.ts'
import { createTokenKeys, type KeySet, keyFetcher, type TokenKeys } from './tokenKeys.ts'

/** Who calls, as the access token says. Times are milliseconds since the epoch. */
export type Caller = Readonly<{
  /** The token's subject. */
  principalId: string
  principalType: 'User' | 'ServicePrincipal'
  displayName?: string
  /** Only an address that the issuer has verified. */
  email?: string
  /** The person's session that issued the token (OpenID Connect's `sid`). */
  sessionId?: string
  /** The uid of the principal's object, if the issuer keeps one. */
  principalUid?: string
  /** When a person last proved who they are. */
  authTime?: number
  expiresAt: number
}>

export interface TokenVerifier {
  /**
   * @throws PlatformError UNAUTHORIZED for anything but one valid access token; SERVICE_UNAVAILABLE while the issuer
   * has never published its keys
   */
  verify(authorizationHeader: string | undefined): Promise<Caller>
  /** The issuer's keys changed: fetch them again at once. */
  keysChanged(): Promise<void>
  stop(): Promise<void>
}

/** RFC 8725 section 3.1: no symmetric algorithm, which would take a public key for a secret, and no `none`. */
export const TOKEN_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const

export type TokenVerifierOptions = {
  /** Exactly the `iss` of accepted tokens. */
  issuer: string
  /** Must be among the `aud`. */
  audience: string
  jwksUrl: string
  /** Returns PEM; the public authorities when absent. */
  certificateAuthority?: (() => string) | undefined
  clock?: Clock
  log: Log
  /** In place of `jwksUrl`, for tests. */
  keys?: TokenKeys
}

const MAX_HEADER_CHARACTERS = 16 * 1024
const CLOCK_SKEW_SECONDS = 30
/** The same limit as the API server's, so that a token good here is good there. */
const MAX_LIFETIME_SECONDS = 86_400
const CACHED_TOKENS_MAX = 10_000

/** Verifies access tokens (RFC 9068, and Keycloak's form of them; interface section 5). */
export function createTokenVerifier(options: TokenVerifierOptions): TokenVerifier {
  const { clock = systemClock, log } = options
  const fetcher = keyFetcher(options.jwksUrl, options.certificateAuthority)
  const keys = options.keys ?? createTokenKeys({ fetchKeys: fetcher.fetchKeys, clock, log })
  const check = claimsVerifier(options, clock)
  const remembered = new CallerCache(clock)

  async function verify(token: string): Promise<Caller> {
    const keySet = await keys.current()
    const digest = hash('sha256', token, 'base64')
    const found = keySet === undefined ? undefined : remembered.find(digest, keySet)
    if (found !== undefined) return found
    requireCanonical(token)
    if (keySet === undefined) {
      throw new PlatformError(
        'SERVICE_UNAVAILABLE',
        'Tokens cannot be verified: the issuer has not published its keys yet.',
      )
    }
    const header = headerOf(token)
    try {
      return remember(digest, header, keySet, await check(token, keySet))
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
    }
    const renewed = (await keys.renewed()) ?? keySet
    return remember(digest, header, renewed, await check(token, renewed))
  }
  function remember(digest: string, { kid }: { kid: string }, keySet: KeySet, caller: Caller): Caller {
    remembered.add(digest, caller, kid, keySet)
    return caller
  }
  return {
    async verify(authorizationHeader) {
      const token = bearerToken(authorizationHeader)
      try {
        return await verify(token)
      } catch (error) {
        if (error instanceof PlatformError) throw error
        throw translateError(error)
      }
    },
    keysChanged: () => keys.changed(),
    async stop() {
      await Promise.all([fetcher.close(), keys.stop()])
    },
  }
}

/**
 * Returns the Authorization header of a request. Of several, Node would silently keep the first, and a proxy the last.
 *
 * @throws PlatformError UNAUTHORIZED for more than one
 */
export function authorizationHeader(request: Pick<IncomingMessage, 'headers' | 'rawHeaders'>): string | undefined {
  const { headers, rawHeaders } = request
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length === 'authorization'.length && name.toLowerCase() === 'authorization') count += 1
  }
  if (count > 1) throw unauthorized('The request has more than one Authorization header.')
  return headers.authorization
}

const BEARER = /^bearer ([A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)$/i

/** RFC 6750 section 2.1, narrowed to one space and a signed token in compact form (RFC 7515 section 7.1). */
function bearerToken(header: string | undefined): string {
  if (header === undefined) throw unauthorized('The request carries no access token.')
  const token = header.length > MAX_HEADER_CHARACTERS ? undefined : BEARER.exec(header)?.[1]
  if (token === undefined) throw unauthorized('The Authorization header must be "Bearer" and one access token.')
  return token
}

/** Accepts one spelling of a token only: spare bits at the end of a segment would allow others. */
function requireCanonical(token: string): void {
  const isCanonical = token.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part)
  if (!isCanonical) throw unauthorized('The access token is malformed.')
}

/** Headers by which a token would bring or choose its own key, or change how it is to be read (RFC 8725 section 3.10). */
const REFUSED_HEADERS = ['jwk', 'jku', 'x5u', 'x5c', 'crit', 'b64', 'zip', 'enc', 'cty'] as const
const HEADER_TYPES = new Set(['at+jwt', 'application/at+jwt', 'jwt'])

function headerOf(token: string): ProtectedHeaderParameters & { kid: string } {
  const header = decodeProtectedHeader(token)
  const refused = REFUSED_HEADERS.find((name) => Object.hasOwn(header, name))
  if (refused !== undefined) throw unauthorized(`The access token has the header "${refused}", which is not accepted.`)
  if (typeof header.typ !== 'string' || !HEADER_TYPES.has(header.typ.toLowerCase())) {
    throw unauthorized('The token is not of the type of access tokens.')
  }
  const { kid } = header
  if (typeof kid !== 'string' || kid === '') throw unauthorized('The access token does not name its key.')
  return { ...header, kid }
}

function claimsVerifier(options: TokenVerifierOptions, clock: Clock) {
  const { issuer, audience } = options
  return async (token: string, keySet: KeySet): Promise<Caller> => {
    const now = clock.now()
    const { payload } = await jwtVerify(token, keySet.resolve, {
      algorithms: [...TOKEN_ALGORITHMS],
      issuer,
      audience,
      requiredClaims: ['exp', 'iat', 'sub'],
      clockTolerance: CLOCK_SKEW_SECONDS,
      currentDate: new Date(now),
    })
    return callerOf(payload, now / 1000)
  }
}

/** Checks what jose does not: the kind of token, its subject, and whether its times make sense. */
function callerOf(claims: JWTPayload, nowSeconds: number): Caller {
  const { sub, iat, exp } = claims
  // ID tokens say ID, refresh tokens Refresh; all have the same issuer and key and may have the same audience.
  if (claims.typ !== 'Bearer') throw unauthorized('The token is not an access token.')
  if (claims.cnf !== undefined) throw unauthorized('The access token is bound to a key and cannot be used alone.')
  if (typeof sub !== 'string' || !isUuid(sub)) throw unauthorized('The subject of the access token is not a uuid.')
  if (typeof iat !== 'number' || typeof exp !== 'number' || iat > nowSeconds + CLOCK_SKEW_SECONDS) {
    throw unauthorized('The access token is not valid yet.')
  }
  if (exp <= iat || exp - iat > MAX_LIFETIME_SECONDS) {
    throw unauthorized(`The access token must expire after it was issued, at most ${MAX_LIFETIME_SECONDS} s later.`)
  }
  const displayName = claimText(claims.name) ?? claimText(claims.preferred_username)
  const email = claims.email_verified === true ? claimText(claims.email) : undefined
  const sessionId = claimText(claims.sid)
  const principalUid = claimText(claims.principal_uid)
  const authTime = typeof claims.auth_time === 'number' ? claims.auth_time * 1000 : undefined
  return Object.freeze({
    principalId: sub,
    principalType: isServiceAccount(claims) ? 'ServicePrincipal' : 'User',
    ...(displayName === undefined ? {} : { displayName }),
    ...(email === undefined ? {} : { email }),
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(principalUid === undefined ? {} : { principalUid }),
    ...(authTime === undefined ? {} : { authTime }),
    expiresAt: exp * 1000,
  })
}

/**
 * The client of our own service accounts has their id. Keycloak gives a service account a user, named after the client,
 * and no session; a person may choose such a name, but signs in with a session.
 */
function isServiceAccount({ sub, azp, client_id, preferred_username, sid }: JWTPayload): boolean {
  if (client_id === sub || azp === sub) return true
  return typeof azp === 'string' && sid === undefined && preferred_username === `service-account-${azp.toLowerCase()}`
}

function claimText(claim: unknown): string | undefined {
  return typeof claim === 'string' && claim !== '' && claim.length <= 256 ? claim : undefined
}

type CachedToken = { caller: Caller; kid: string; thumbprint: string | undefined }

/** Verified tokens by the SHA-256 of their whole text, the least recently used forgotten first. */
class CallerCache {
  readonly #entries = createLruCache<string, CachedToken>(CACHED_TOKENS_MAX)
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Undefined for unknown and expired tokens, and when their key is no longer published. */
  find(digest: string, keySet: KeySet): Caller | undefined {
    const entry = this.#entries.get(digest)
    if (entry === undefined) return undefined
    const isExpired = entry.caller.expiresAt + CLOCK_SKEW_SECONDS * 1000 <= this.#clock.now()
    if (isExpired || keySet.thumbprintOf(entry.kid) !== entry.thumbprint) {
      this.#entries.delete(digest)
      return undefined
    }
    return entry.caller
  }

  add(digest: string, caller: Caller, kid: string, keySet: KeySet): void {
    this.#entries.set(digest, { caller, kid, thumbprint: keySet.thumbprintOf(kid) })
  }
}

/** Replaces the messages of jose, which would name claims and their values. */
function translateError(error: unknown): PlatformError {
  if (error instanceof errors.JWTExpired) {
    return unauthorized('The access token has expired; request a new one.', error)
  }
  if (error instanceof errors.JWTClaimValidationFailed) {
    return unauthorized(`The access token is refused because of its claim "${error.claim}".`, error)
  }
  if (error instanceof errors.JWKSNoMatchingKey) {
    return unauthorized("The access token is signed with a key that is not the issuer's.", error)
  }
  return unauthorized('The access token is not valid.', error)
}

function unauthorized(message: string, cause?: unknown): PlatformError {
  return new PlatformError('UNAUTHORIZED', message, {}, cause === undefined ? undefined : { cause })
}
