import { createHash, randomBytes } from 'node:crypto'
import type { Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import Provider, { type ClientMetadata, type KoaContextWithOIDC } from 'oidc-provider'

const REALM = '/realms/test'
const OIDC = '/protocol/openid-connect'

export type TestIssuer = {
  url: string
  /** The grants that the token endpoint issued, in order. */
  grants: string[]
  stop(): Promise<void>
}

/** An OpenID provider for people, at Keycloak's paths, that admits everybody who enters a name. */
export async function startIssuer(clients: ClientMetadata[] = []): Promise<TestIssuer> {
  const restore = silenceAdvice()
  const app = express()
  const server: Server = createServer(app)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${REALM}`
  const provider = new Provider(url, {
    clients: [
      {
        client_id: 'freehold-cli',
        application_type: 'native',
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
        response_types: ['code'],
        redirect_uris: ['http://127.0.0.1/callback'],
      },
      ...clients,
    ],
    cookies: { keys: [randomBytes(16).toString('hex')] },
    features: { deviceFlow: { enabled: true }, revocation: { enabled: true }, devInteractions: { enabled: true } },
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    pkce: { required: () => true },
    rotateRefreshToken: true,
    ttl: {
      AccessToken: 900,
      AuthorizationCode: 60,
      DeviceCode: 300,
      Grant: 900,
      IdToken: 900,
      Interaction: 300,
      RefreshToken: 900,
      Session: 900,
    },
    routes: {
      authorization: `${OIDC}/auth`,
      token: `${OIDC}/token`,
      device_authorization: `${OIDC}/auth/device`,
      code_verification: '/device',
      revocation: `${OIDC}/revoke`,
      userinfo: `${OIDC}/userinfo`,
      jwks: `${OIDC}/certs`,
    },
  })
  provider.use(deviceChallenges())
  const grants: string[] = []
  provider.on('grant.success', (context) => grants.push(String(context.oidc.params?.grant_type)))
  app.use(REALM, provider.callback())
  const stop = () =>
    new Promise<void>((done) => {
      server.close(() => {
        restore()
        done()
      })
      server.closeAllConnections()
    })
  return { url, grants, stop }
}

/** The device flow requires PKCE too, as Keycloak does for such a client; oidc-provider supports it for codes only. */
function deviceChallenges() {
  const challenges = new Map<unknown, unknown>()
  const refuse = (context: KoaContextWithOIDC, error: string) =>
    Object.assign(context, { status: 400, body: { error } })
  return async (context: KoaContextWithOIDC, next: () => Promise<void>): Promise<void> => {
    await next()
    const { route, body: asked = {} } = context.oidc ?? {}
    if (route === 'device_authorization') {
      if (asked.code_challenge_method !== 'S256') return void refuse(context, 'invalid_request')
      challenges.set((context.body as { device_code?: string }).device_code, asked.code_challenge)
    }
    if (route !== 'token' || asked.device_code === undefined) return
    const challenge = createHash('sha256').update(`${asked.code_verifier}`).digest('base64url')
    if (challenge !== challenges.get(asked.device_code)) refuse(context, 'invalid_grant')
  }
}

/**
 * A browser that submits every form and follows redirects, also those in pages.
 *
 * @param fields by name of the input
 * @returns the text of the page at the end
 */
export async function browse(start: string, fields: Record<string, string>): Promise<string> {
  const cookies = new Map<string, string>()
  let [url, body] = [start, undefined as URLSearchParams | undefined]
  for (let step = 0; step < 30; step += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await fetch(url, {
      method: body === undefined ? 'GET' : 'POST',
      redirect: 'manual',
      headers: { cookie, accept: 'text/html' },
      ...(body !== undefined && { body }),
    })
    for (const line of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';')[0] ?? '').split(/=(.*)/)
      cookies.set(name, value)
    }
    body = undefined
    const location = answer.headers.get('location')
    if (location !== null) {
      url = new URL(location, url).href
      continue
    }
    const text = await answer.text()
    const onward = /<meta http-equiv="refresh" content="0;url=([^"]*)">/.exec(text)?.[1]
    if (onward !== undefined) {
      url = new URL(entities(onward), url).href
      continue
    }
    const form = /<form[^>]*>[\s\S]*?<\/form>/.exec(text)?.[0]
    if (form === undefined) return text
    url = new URL(attribute(form, 'action') ?? url, url).href
    body = new URLSearchParams()
    for (const [input] of form.matchAll(/<input[^>]*>/g)) {
      const name = attribute(input, 'name')
      if (name !== undefined) body.set(name, fields[name] ?? attribute(input, 'value') ?? '')
    }
  }
  throw new Error(`No end of forms and redirects after ${start}.`)
}

const attribute = (tag: string, name: string) =>
  new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1]?.replaceAll('&amp;', '&')

const entities = (text: string) => text.replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))

/**
 * The provider warns about every default that production should replace. @returns a function that restores its output
 */
function silenceAdvice(): () => void {
  const { info, warn } = console
  const unlessAdvice = (write: (...words: unknown[]) => void) => {
    return (...words: unknown[]) => {
      if (!String(words[0]).startsWith('oidc-provider ')) write(...words)
    }
  }
  console.info = unlessAdvice(info)
  console.warn = unlessAdvice(warn)
  return () => Object.assign(console, { info, warn })
}
