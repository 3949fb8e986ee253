import type { AdapterPayload } from 'oidc-provider'

/** The command-line client: public (RFC 8252 section 8.5), so that PKCE and its loopback address are all it has. */
export const COMMAND_LINE_CLIENT = 'freehold-cli'
/** The account page of the provider itself, which signs a person in and needs no token. */
export const ACCOUNT_CLIENT = 'freehold-account'
export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

const LOOPBACK = ['http://127.0.0.1', 'http://localhost']

/** Clients that come with the provider, in the words of RFC 7591 section 2. Any port of a loopback address is theirs. */
export const PUBLIC_CLIENTS: ReadonlyMap<string, AdapterPayload> = new Map([
  [
    COMMAND_LINE_CLIENT,
    {
      client_id: COMMAND_LINE_CLIENT,
      client_name: 'Freehold command line',
      application_type: 'native',
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token', DEVICE_GRANT],
      response_types: ['code'],
      redirect_uris: LOOPBACK.map((origin) => `${origin}/callback`),
      post_logout_redirect_uris: LOOPBACK.map((origin) => `${origin}/logged-out`),
    },
  ],
])

export function accountClient(issuer: string): AdapterPayload {
  return {
    client_id: ACCOUNT_CLIENT,
    client_name: 'your account',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code'],
    response_types: ['code'],
    redirect_uris: [`${issuer}/account`],
  }
}
