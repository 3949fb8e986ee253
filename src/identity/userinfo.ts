import type { Request, RequestHandler, Response } from 'express'
import { createLocalJWKSet, type JWTPayload, jwtVerify } from 'jose'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { personClaims } from './accounts.ts'
import { PRINCIPAL_UID } from './claims.ts'
import { SIGNING_ALGORITHM } from './keyRing.ts'
import { isOutage } from './outage.ts'
import type { SigningKeys } from './signingKeys.ts'
import type { UserStore } from './users.ts'

export type UserinfoOptions = { issuer: string; audience: string; keys: SigningKeys; users: UserStore; log: Log }

/**
 * OIDC Core section 5.3 for the platform's own access tokens, as in Keycloak. oidc-provider accepts only tokens that
 * have no other audience.
 */
export function userinfo({ issuer, audience, keys, users, log }: UserinfoOptions): RequestHandler {
  async function claimsOf(token: string): Promise<JWTPayload | undefined> {
    const published = keys.ring().map(({ kid, jwk: { kty, n, e } }) => ({ kid, kty, n: n ?? '', e: e ?? '' }))
    try {
      const expected = { issuer, audience, algorithms: [SIGNING_ALGORITHM], requiredClaims: ['exp', 'sub'] }
      const { payload } = await jwtVerify(token, createLocalJWKSet({ keys: published }), expected)
      return payload.typ === 'Bearer' ? payload : undefined
    } catch {
      return undefined
    }
  }
  async function answer(request: Request, response: Response): Promise<void> {
    const token = /^bearer ([\w.-]+)$/i.exec(request.headers.authorization ?? '')?.[1]
    const claims = token === undefined ? undefined : await claimsOf(token)
    const found = claims?.sub === undefined ? undefined : await users.find(claims.sub)
    const uid = claims?.[PRINCIPAL_UID]
    // The id may belong to a different person by now.
    const user = uid === undefined || found?.uid === uid ? found : undefined
    response.set('cache-control', 'no-store')
    if (user?.isEnabled === true) {
      response.json({ sub: user.id, ...personClaims(user) })
      return
    }
    const error = token === undefined ? '' : ' error="invalid_token"'
    response.status(401).set('www-authenticate', `Bearer realm="${issuer}"${error && `,${error}`}`)
    response.json({ error: 'invalid_token', error_description: 'the access token does not belong to a person here' })
  }
  return (request, response) => {
    answer(request, response).catch((error: unknown) => {
      log.error({ error: messageOf(error) }, 'The identity provider failed on a request.')
      if (isOutage(error)) response.status(503).json({ error: 'temporarily_unavailable' })
      else response.status(500).json({ error: 'server_error' })
    })
  }
}
