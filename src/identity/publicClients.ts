import type { AdapterPayload } from 'oidc-provider'

/** The command-line client is public (RFC 8252 section 8.5): only PKCE and the loopback redirect protect it. */
export const COMMAND_LINE_CLIENT = 'freehold-cli'
/** The provider's own account page, which signs a person in and needs no token. */
export const ACCOUNT_CLIENT = 'freehold-account'
export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

const LOOPBACK = ['http://127.0.0.1', 'http://localhost']

/** Built-in clients, as RFC 7591 section 2 metadata. Any port of a loopback address is accepted. */
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
