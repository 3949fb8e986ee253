import { createHash, randomBytes } from 'node:crypto'
import { exportJWK, type GenerateKeyPairResult, generateKeyPair, type JWTPayload, SignJWT } from 'jose'

type Code = { challenge: string; redirectUri: string; nonce: string; claims: JWTPayload }

/** An external OpenID provider as a relying party sees it: discovery, keys, and one token for each code. */
export class ExternalIssuer {
  readonly issuer: string
  readonly metadataUrl: string
  readonly clientId = 'freehold at acme'
  readonly clientSecret = 'the secret: of acme & co'
  /** Seconds since the epoch; now when absent. */
  issuedAt: number | undefined
  /** Wrong claims for the next ID tokens. */
  lies: JWTPayload = {}
  /** A key other than the published one. */
  signsFalsely = false
  readonly #codes = new Map<string, Code>()
  readonly #keys: Promise<{ right: GenerateKeyPairResult; wrong: GenerateKeyPairResult }>

  /** @param address with a scheme if it is not https */
  constructor(address = 'login.acme.example') {
    this.issuer = address.includes('://') ? address : `https://${address}`
    this.metadataUrl = `${this.issuer}/.well-known/openid-configuration`
    const pair = () => generateKeyPair('RS256', { extractable: true })
    this.#keys = Promise.all([pair(), pair()]).then(([right, wrong]) => ({ right, wrong }))
  }

  /** A person signs in; returns the address to which their browser is redirected. */
  signIn(address: URL, claims: JWTPayload): URL {
    const asked = (name: string) => address.searchParams.get(name) ?? ''
    if (`${address.origin}${address.pathname}` !== `${this.issuer}/auth`)
      throw new Error(`${address} is not an address of this issuer.`)
    if (asked('client_id') !== this.clientId || asked('code_challenge_method') !== 'S256') throw new Error('unknown')
    const code = randomBytes(16).toString('hex')
    const redirectUri = asked('redirect_uri')
    this.#codes.set(code, { challenge: asked('code_challenge'), redirectUri, nonce: asked('nonce'), claims })
    const back = new URL(redirectUri)
    back.searchParams.set('code', code)
    back.searchParams.set('state', asked('state'))
    return back
  }

  readonly fetch = async (
    url: string,
    options: { method?: string; headers?: Record<string, string>; body?: string } = {},
  ): Promise<Response> => {
    if (url === this.metadataUrl) return Response.json(this.#discovery())
    if (url === `${this.issuer}/keys`) return Response.json({ keys: [await this.#publicKey()] })
    if (url === `${this.issuer}/token` && options.method === 'POST') return this.#token(options)
    throw new Error(`${url} does not answer.`)
  }

  #discovery() {
    const { issuer } = this
    return {
      issuer,
      authorization_endpoint: `${issuer}/auth`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/keys`,
      id_token_signing_alg_values_supported: ['RS256', 'none'],
    }
  }

  async #publicKey() {
    return { ...(await exportJWK((await this.#keys).right.publicKey)), kid: 'one', alg: 'RS256', use: 'sig' }
  }

  async #token({ headers = {}, body = '' }: { headers?: Record<string, string>; body?: string }): Promise<Response> {
    const form = new URLSearchParams(body)
    const found = this.#codes.get(form.get('code') ?? '')
    this.#codes.delete(form.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    const isGood = found?.challenge === challenge && found.redirectUri === form.get('redirect_uri')
    if (!this.#knows(headers, form)) return Response.json({ error: 'invalid_client' }, { status: 401 })
    if (found === undefined || !isGood) return Response.json({ error: 'invalid_grant' }, { status: 400 })
    const { right, wrong } = await this.#keys
    const claims = { nonce: found.nonce, iss: this.issuer, aud: this.clientId, ...found.claims, ...this.lies }
    const idToken = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', kid: 'one' })
      .setIssuedAt(this.issuedAt)
      .setExpirationTime('5m')
      .sign((this.signsFalsely ? wrong : right).privateKey)
    return Response.json({ access_token: 'opaque', token_type: 'Bearer', id_token: idToken, expires_in: 300 })
  }

  /** RFC 6749 section 2.3.1: both parts are form-encoded, whether they come in a header or in the form itself. */
  #knows(headers: Record<string, string>, form: URLSearchParams): boolean {
    if (headers.authorization === undefined)
      return form.get('client_id') === this.clientId && form.get('client_secret') === this.clientSecret
    const text = Buffer.from((headers.authorization ?? '').replace(/^Basic /, ''), 'base64').toString()
    const plain = text.split(':').map((part) => decodeURIComponent(part.replaceAll('+', ' ')))
    return plain[0] === this.clientId && plain[1] === this.clientSecret
  }
}
