import { createServer, type Server } from 'node:https'
import { type JWTPayload, SignJWT, UnsecuredJWT } from 'jose'
import { AUDIENCE, type Pair, pairOf } from '../cases/forgedTokens.ts'

/** Seconds. */
const LIFE = 900

/** An issuer that the platform does not administer. Serves its discovery document and keys over https; tests create its tokens. */
export class TokenIssuer {
  readonly url: string
  readonly #pair: Pair
  /** Not published. */
  readonly #stranger: Pair
  readonly #server: Server

  private constructor(url: string, pair: Pair, stranger: Pair, server: Server) {
    this.url = url
    this.#pair = pair
    this.#stranger = stranger
    this.#server = server
  }

  /** @param url where it listens, on this machine */
  static async start(url: string, certificate: { cert: Buffer; key: Buffer }): Promise<TokenIssuer> {
    const [pair, stranger] = await Promise.all([pairOf('ES256', `external-${Date.now()}`), pairOf('ES256', 'stranger')])
    const keysUrl = `${url}/protocol/openid-connect/certs`
    const discovery = { issuer: url, jwks_uri: keysUrl, id_token_signing_alg_values_supported: ['ES256'] }
    const served = new Map<string, object>([
      [`${url}/.well-known/openid-configuration`, discovery],
      [keysUrl, { keys: [pair.jwk] }],
    ])
    const { origin, hostname, port } = new URL(url)
    const server = createServer(certificate, (request, response) => {
      const found = served.get(`${origin}${request.url}`)
      response.writeHead(found === undefined ? 404 : 200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(found ?? {}))
    })
    await new Promise<void>((done) => server.listen(Number(port), hostname, done))
    return new TokenIssuer(url, pair, stranger, server)
  }

  /** An access token of a person who just signed in. `changes` override its claims; undefined removes one. */
  token(subject: string, changes: JWTPayload = {}): Promise<string> {
    const { privateKey, kid } = this.#pair
    return new SignJWT(this.#claims(subject, changes))
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid })
      .sign(privateKey)
  }

  /** Like `token`, signed with another key under the issuer's key id. */
  forged(subject: string): Promise<string> {
    const { kid } = this.#pair
    return new SignJWT(this.#claims(subject, {}))
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid })
      .sign(this.#stranger.privateKey)
  }

  /** Like `token`, unsigned (`alg: none`). */
  unsigned(subject: string): string {
    return new UnsecuredJWT(this.#claims(subject, {})).encode()
  }

  #claims(subject: string, changes: JWTPayload): JWTPayload {
    const now = Math.floor(Date.now() / 1000)
    const usual = { iss: this.url, aud: AUDIENCE, sub: subject, typ: 'Bearer', azp: 'console', sid: subject }
    return { ...usual, iat: now, exp: now + LIFE, auth_time: now, ...changes }
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise<void>((done) => this.#server.close(() => done()))
  }
}
