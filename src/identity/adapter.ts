import { type Adapter, type AdapterPayload, errors } from 'oidc-provider'
import type { Attempts } from './attempts.ts'
import { PRINCIPAL_UID } from './claims.ts'
import type { ClientStore, IdentityClient } from './clients.ts'
import { ACCOUNT_CLIENT, accountClient, PUBLIC_CLIENTS } from './publicClients.ts'
import type { StateStore } from './state.ts'
import { stateAdapter } from './stateAdapter.ts'

/** 429 in the form of RFC 6749 section 5.2, with the seconds that the answer's Retry-After names. */
export class TooManyAttempts extends errors.OIDCProviderError {
  readonly retryAfterSeconds: number

  constructor(retryAfterSeconds: number) {
    super(429, 'temporarily_unavailable')
    this.error_description = `too many refused secrets for this client; try again in ${retryAfterSeconds} s`
    this.retryAfterSeconds = retryAfterSeconds
  }
}

export type AdapterOptions = {
  issuer: string
  clients: ClientStore
  state: StateStore
  attempts: Attempts
  /** The caller's address in the request that is being answered. */
  address: () => string
  /** Whether that request revokes one token (RFC 7009), and so leaves its grant to the others. */
  revokesOne: () => boolean
}

/**
 * oidc-provider's storage over our kinds and Secrets. Access tokens are self-contained and stored nowhere; whatever the
 * provider would keep of protocols that are not ours is refused.
 */
export function adapterFor(options: AdapterOptions): (model: string) => Adapter {
  return (model) =>
    model === 'Client' ? clientAdapter(options) : (stateAdapter(model, options) ?? unusedAdapter(model))
}

function clientAdapter({ issuer, clients, attempts, address }: AdapterOptions): Adapter {
  return {
    ...unusedAdapter('Client'),
    async find(clientId) {
      const builtIn = PUBLIC_CLIENTS.get(clientId)
      if (builtIn !== undefined) return builtIn
      if (clientId === ACCOUNT_CLIENT) return accountClient(issuer)
      const blocked = await attempts.blockedFor(address(), clientId)
      if (blocked !== undefined) throw new TooManyAttempts(blocked)
      const client = await clients.find(clientId)
      return client?.isEnabled === true ? clientMetadata(client) : undefined
    },
  }
}

/** RFC 7591 section 2. `client_secret_post` also admits HTTP Basic: both are compared in constant time. */
function clientMetadata({ clientId, secret, displayName, uid }: IdentityClient): AdapterPayload {
  return {
    client_id: clientId,
    client_secret: secret,
    client_name: displayName,
    ...(uid === undefined ? {} : { [PRINCIPAL_UID]: uid }),
    grant_types: ['client_credentials'],
    response_types: [],
    redirect_uris: [],
    token_endpoint_auth_method: 'client_secret_post',
  }
}

function unusedAdapter(model: string): Adapter {
  const refuse = async (): Promise<never> => {
    throw new Error(`The identity provider stores no ${model}.`)
  }
  const none = async () => undefined
  return {
    upsert: refuse,
    consume: refuse,
    find: none,
    findByUid: none,
    findByUserCode: none,
    destroy: none,
    revokeByGrantId: none,
  }
}
