import { NetworkError } from '../client/index.ts'
import type { TokenIssuer } from './credentials.ts'
import { readDevFile } from './devFile.ts'
import { notSignedIn } from './failure.ts'
import { type Provider, printableCode } from './settings.ts'
import type { StoredLogin } from './storedLogin.ts'

const REQUEST_SECONDS = 30

/** Loads the module for signing in only on demand: it takes a seventh of the start-up time. */
export function tokenIssuer(provider: Provider): TokenIssuer {
  return {
    clientToken: async (clientId, clientSecret) => (await clientToken(provider, clientId, clientSecret)).accessToken,
    async refresh(login) {
      const { refreshToken, credentialsFile } = login
      if (credentialsFile !== undefined) return loginFromFile(provider, credentialsFile)
      if (refreshToken === undefined) throw notSignedIn('The login has ended: run `freehold login`.')
      const { renew } = await import('./signIn.ts')
      return renew(provider, login.issuer, refreshToken)
    },
  }
}

/**
 * Signs in as the service account of a dev.json.
 *
 * @throws CommandFailure (local) if the file is gone, (notSignedIn) if the provider refuses its secret
 */
export async function loginFromFile(provider: Provider, credentialsFile: string): Promise<StoredLogin> {
  const { clientId, clientSecret } = await readDevFile(credentialsFile)
  const { accessToken, seconds } = await clientToken(provider, clientId, clientSecret)
  const obtainedAt = provider.now()
  const { issuer, clientId: publicClient } = provider.settings
  const expiresAt = obtainedAt + seconds * 1000
  return { issuer, clientId: publicClient, accessToken, credentialsFile, obtainedAt, expiresAt }
}

/** Requests a token at the URL of interface section 5; discovery would double the number of requests. */
async function clientToken({ settings, fetch }: Provider, clientId: string, clientSecret: string) {
  const url = `${settings.issuer}/protocol/openid-connect/token`
  let answer: Response
  try {
    answer = await fetch(url, {
      method: 'POST',
      redirect: 'error',
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: clientId,
        client_secret: clientSecret,
      }).toString(),
      signal: AbortSignal.timeout(REQUEST_SECONDS * 1000),
    })
  } catch (error) {
    throw new NetworkError(url, error)
  }
  const body = (await answer.json().catch(() => ({}))) as Record<string, unknown>
  if (answer.ok && typeof body.access_token === 'string') {
    return { accessToken: body.access_token, seconds: typeof body.expires_in === 'number' ? body.expires_in : 300 }
  }
  const code = typeof body.error === 'string' ? printableCode(body.error) : `status ${answer.status}`
  throw notSignedIn(`The identity provider gave no token for the client "${printableCode(clientId)}": ${code}.`)
}
