import { type Adapter, type AdapterPayload, errors } from 'oidc-provider'
import type { LateRefusals } from '../core/lateRefusals.ts'
import { PRINCIPAL_UID } from './claims.ts'
import type { ClientStore, IdentityClient } from './clients.ts'
import type { GuessLimiter } from './guessLimiter.ts'
import { ACCOUNT_CLIENT, accountClient, PUBLIC_CLIENTS } from './publicClients.ts'
import { type StateAdapterOptions, stateAdapter } from './stateAdapter.ts'

/**
 * Returns whether a service account presented its secret, within the limit on guesses.
 * @throws OIDCProviderError 429 in the form of RFC 6749 section 5.2
 */
export type VerifySecret = (clientId: string, isRight: () => boolean | Promise<boolean>) => Promise<boolean>

/** @param current returns the request in progress */
export function createSecretVerifier(
  guesses: GuessLimiter,
  current: () => { address: string; retryAfter(seconds: number): void; signal: AbortSignal | undefined },
  refusals: LateRefusals,
): VerifySecret {
  return async (clientId, isRight) => {
    const { address, retryAfter, signal } = current()
    const judged = await guesses.judge(address, clientId, async () => ((await isRight()) ? true : undefined))
    if ('value' in judged) return judged.value === true
    retryAfter(judged.blockedFor)
    await refusals.wait(signal)
    const refusal = new errors.OIDCProviderError(429, 'temporarily_unavailable')
    refusal.error_description = `too many refused secrets for this client; try again in ${judged.blockedFor} s`
    throw refusal
  }
}

export type AdapterOptions = StateAdapterOptions & {
  issuer: string
  clients: ClientStore
  judgeSecret: VerifySecret
  /** Whether the current request comes from a client that presents its secret. */
  showsSecret: () => boolean
}

/**
 * The storage of oidc-provider, on our kinds and Secrets. Access tokens are self-contained and not stored. Models of
 * protocols that we do not offer are refused.
 */
export function adapterFor(options: AdapterOptions): (model: string) => Adapter {
  return (model) =>
    model === 'Client' ? clientAdapter(options) : (stateAdapter(model, options) ?? unusedAdapter(model))
}

function clientAdapter({ issuer, clients, judgeSecret, showsSecret }: AdapterOptions): Adapter {
  return {
    ...unusedAdapter('Client'),
    async find(clientId) {
      const builtIn = PUBLIC_CLIENTS.get(clientId)
      if (builtIn !== undefined) return builtIn
      if (clientId === ACCOUNT_CLIENT) return accountClient(issuer)
      const client = await clients.find(clientId)
      if (client?.isEnabled === true) return clientMetadata(client)
      // Counted like a wrong secret: otherwise the limit would reveal which clients exist.
      if (showsSecret()) await judgeSecret(clientId, () => false)
      return undefined
    },
  }
}

/** RFC 7591 section 2. `client_secret_post` also accepts HTTP Basic; both compare in constant time. */
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
