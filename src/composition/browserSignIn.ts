import { Agent, fetch } from 'undici'
import type { TokenVerifier } from '../api/callers/tokens.ts'
import { type BrowserSignIn, SIGNED_IN_PATH, SignInRefused } from '../api/people/browserSignIn.ts'
import type { Configuration } from '../config.ts'
import { PlatformError } from '../core/errors.ts'
import { issuerConnector } from './issuerTrust.ts'

type Options = Pick<Configuration, 'issuer' | 'issuerCertificateAuthority'> & {
  clientId: string
  /** Prefix of the redirect path. */
  linkBase: string
  tokens: Pick<TokenVerifier, 'verify'>
}

const TIMEOUT_SECONDS = 10

/**
 * Signs users in with the facade as a public client (RFC 7636, OpenID Connect Core section 3.1). The access token
 * identifies the user, by the same check as for requests, and is then discarded.
 */
export async function browserSignIn(options: Options): Promise<BrowserSignIn & { close(): Promise<void> }> {
  const oidc = await import('openid-client')
  const { issuer, clientId, linkBase, tokens } = options
  const agent = new Agent({ connect: issuerConnector(options) })
  const redirectUri = `${linkBase}${SIGNED_IN_PATH}`
  const customFetch = async (url: string, init: object) =>
    (await fetch(url, { ...init, dispatcher: agent })) as unknown as Response
  let discovered: ReturnType<typeof oidc.discovery> | undefined
  const client = async () => {
    discovered ??= oidc.discovery(new URL(issuer), clientId, undefined, oidc.None(), {
      execute: issuer.startsWith('http:') ? [oidc.allowInsecureRequests] : [],
      timeout: TIMEOUT_SECONDS,
      [oidc.customFetch]: customFetch,
    })
    try {
      return await discovered
    } catch (error) {
      discovered = undefined
      throw error
    }
  }
  return {
    begin: (token) => ({
      token,
      state: oidc.randomState(),
      nonce: oidc.randomNonce(),
      verifier: oidc.randomPKCECodeVerifier(),
    }),
    async addressOf({ state, nonce, verifier }) {
      const url = oidc.buildAuthorizationUrl(await client(), {
        redirect_uri: redirectUri,
        scope: 'openid email',
        // An existing session may be of another user than the invited one.
        prompt: 'login',
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state,
        nonce,
      })
      return url.href
    },
    async finish({ state, nonce, verifier }, search) {
      const callbackUrl = new URL(`${redirectUri}?${search}`)
      const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true }
      try {
        const granted = await oidc.authorizationCodeGrant(await client(), callbackUrl, checks)
        return await tokens.verify(`Bearer ${granted.access_token}`)
      } catch (error) {
        const isAnswer = error instanceof oidc.ResponseBodyError || error instanceof oidc.AuthorizationResponseError
        const isRefused = isAnswer || (error instanceof oidc.ClientError && !isAbsence(error))
        const isUnknown = error instanceof PlatformError && error.code === 'UNAUTHORIZED'
        if (!isRefused && !isUnknown) throw error
        throw new SignInRefused('The sign-in failed. Start it again.', { cause: error })
      }
    },
    close: () => agent.close(),
  }
}

/** Whether there was no answer, which is not the user's fault. */
function isAbsence({ code }: { code?: string }): boolean {
  return code === 'OAUTH_TIMEOUT' || code === 'OAUTH_ABORT'
}
