import { sha256 } from '../core/names.ts'
import { isSameText } from '../core/sameText.ts'
import type { ClientStore, IdentityClient } from './clients.ts'
import type { LastSeen } from './lastSeen.ts'

/** Returns the owner of the secret; undefined if the secret is wrong. Throws if it could not be checked. */
export type SecretCheck<T> = (clientId: string, secret: string) => Promise<T | undefined>

/**
 * Checks secrets for another endpoint in this process. Calls through the provider's own endpoint would all have the
 * same client address, so one guesser would lock out everybody else.
 */
export function clientSecretCheck(
  clients: ClientStore,
  lastSeen: Pick<LastSeen, 'gotToken'>,
): SecretCheck<IdentityClient> {
  return async (clientId, secret) => {
    const client = await clients.find(clientId)
    if (client === undefined || !client.isEnabled || !isSame(client.secret, secret)) return undefined
    lastSeen.gotToken(clientId)
    return client
  }
}

/** Hashes have a fixed length, so the comparison time reveals nothing. */
function isSame(one: string, other: string): boolean {
  return isSameText(sha256(one), sha256(other))
}
