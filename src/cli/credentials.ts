import { notSignedIn, usage } from './failure.ts'
import type { Environment } from './files.ts'
import type { Settings } from './settings.ts'
import { type LoginStore, needsRefresh, type StoredLogin } from './storedLogin.ts'

/** Where a command takes its token from. */
export type Credential =
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'client'; readonly clientId: string; readonly clientSecret: string }
  | { readonly kind: 'login' }

/**
 * The first that is set wins (interface section 5). An empty variable is not set.
 *
 * @throws CommandFailure (usage) for an invalid token, and for a client id without a secret: going on with the stored
 *   login would act as someone else than the caller meant
 */
export function chooseCredential(environment: Environment): Credential {
  const { PLATFORM_TOKEN, PLATFORM_CLIENT_ID, PLATFORM_CLIENT_SECRET } = environment
  if (PLATFORM_TOKEN) {
    const token = PLATFORM_TOKEN.trim()
    if (!/^[\x21-\x7e]+$/.test(token)) throw usage('PLATFORM_TOKEN contains characters that no token has.')
    return { kind: 'token', token }
  }
  if (PLATFORM_CLIENT_ID && PLATFORM_CLIENT_SECRET) {
    return { kind: 'client', clientId: PLATFORM_CLIENT_ID, clientSecret: PLATFORM_CLIENT_SECRET }
  }
  if (PLATFORM_CLIENT_ID || PLATFORM_CLIENT_SECRET) {
    const missing = PLATFORM_CLIENT_ID ? 'PLATFORM_CLIENT_SECRET' : 'PLATFORM_CLIENT_ID'
    throw usage(`${missing} is missing: set both or none of PLATFORM_CLIENT_ID and PLATFORM_CLIENT_SECRET.`)
  }
  return { kind: 'login' }
}

export const CREDENTIAL_NAMES: Readonly<Record<Credential['kind'], string>> = {
  token: 'PLATFORM_TOKEN',
  client: 'PLATFORM_CLIENT_ID',
  login: 'stored login',
}

/** What is asked of the identity provider. */
export interface TokenIssuer {
  clientToken(clientId: string, clientSecret: string): Promise<string>
  /** @throws CommandFailure (notSignedIn) if the provider does not take the refresh token any more */
  refresh(login: StoredLogin): Promise<StoredLogin>
}

export type TokenSourceParts = {
  credential: Credential
  settings: Pick<Settings, 'issuer' | 'clientId'>
  issuer: TokenIssuer
  store: LoginStore
  /** Milliseconds since the epoch. */
  now: () => number
}

/**
 * Gives a token that is good for the next request. `rejected` is one that the platform just refused: another is fetched
 * where that can be done.
 */
export function tokenSource(parts: TokenSourceParts): (rejected?: string) => Promise<string> {
  const { credential, issuer } = parts
  switch (credential.kind) {
    case 'token':
      return () => Promise.resolve(credential.token)
    case 'client': {
      let current: Promise<string> | undefined
      return (rejected) => {
        if (current === undefined || rejected !== undefined) {
          current = issuer.clientToken(credential.clientId, credential.clientSecret)
        }
        return current
      }
    }
    case 'login':
      return async (rejected) => (await currentLogin(parts, rejected)).accessToken
  }
}

/**
 * The stored login, renewed where it is about to end. One process renews: providers rotate refresh tokens and take the
 * second use of one for theft.
 */
async function currentLogin(parts: TokenSourceParts, rejected: string | undefined): Promise<StoredLogin> {
  const { store, issuer, now } = parts
  const isGood = (login: StoredLogin) => !needsRefresh(login, now()) && login.accessToken !== rejected
  const first = await readOwn(parts)
  if (isGood(first)) return first
  return store.exclusively(async () => {
    // Someone else may have renewed it while this process waited.
    const login = await readOwn(parts)
    if (isGood(login)) return login
    const renewed = await issuer.refresh(login)
    await store.write(renewed)
    return renewed
  })
}

/** A login of another provider or client counts as none: its refresh token is not sent anywhere else. */
async function readOwn({ store, settings }: TokenSourceParts): Promise<StoredLogin> {
  const login = await store.read()
  if (login === undefined) throw notSignedIn('Not signed in: run `freehold login`.')
  if (login.issuer !== settings.issuer || login.clientId !== settings.clientId) {
    throw notSignedIn(`The stored login is for ${login.issuer}, not for ${settings.issuer}: run \`freehold login\`.`)
  }
  return login
}
