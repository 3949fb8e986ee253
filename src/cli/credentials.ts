import { notSignedIn, usage } from './failure.ts'
import type { Environment } from './files.ts'
import type { Settings } from './settings.ts'
import { type LoginStore, needsRefresh, type StoredLogin } from './storedLogin.ts'

/** The source of the access token. */
export type Credential =
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'client'; readonly clientId: string; readonly clientSecret: string }
  | { readonly kind: 'login' }

/**
 * Chooses the first credential that is set (interface section 5). Empty variables count as unset.
 *
 * @throws CommandFailure (usage) for an invalid token, and for a client id without a secret: falling back to the stored
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

/** Token requests to the identity provider. */
export interface TokenIssuer {
  clientToken(clientId: string, clientSecret: string): Promise<string>
  /** @throws CommandFailure (notSignedIn) if the provider rejects the refresh token */
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
 * Returns a function that gives a valid token. `rejected` is a token that the platform has just refused: it is replaced
 * if possible.
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
 * Returns the stored login, refreshed if it is about to expire. Only one process refreshes at a time: providers rotate
 * refresh tokens, and treat a second use as theft.
 */
async function currentLogin(parts: TokenSourceParts, rejected: string | undefined): Promise<StoredLogin> {
  const { store, issuer, now } = parts
  const isUsable = (login: StoredLogin) => !needsRefresh(login, now()) && login.accessToken !== rejected
  const first = await readOwn(parts)
  if (isUsable(first)) return first
  return store.exclusively(async () => {
    // Another process may have refreshed it meanwhile.
    const login = await readOwn(parts)
    if (isUsable(login)) return login
    const renewed = await issuer.refresh(login)
    await store.write(renewed)
    return renewed
  })
}

/** Ignores a login at another provider or client: its refresh token must not be sent elsewhere. */
async function readOwn({ store, settings }: TokenSourceParts): Promise<StoredLogin> {
  const login = await store.read()
  if (login === undefined) throw notSignedIn('Not signed in: run `freehold login`.')
  if (login.issuer !== settings.issuer || login.clientId !== settings.clientId) {
    throw notSignedIn(`The stored login is for ${login.issuer}, not for ${settings.issuer}: run \`freehold login\`.`)
  }
  return login
}
