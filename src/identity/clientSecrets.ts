import { sha256 } from '../core/names.ts'
import { isSameText } from '../core/sameText.ts'
import type { ClientStore, IdentityClient } from './clients.ts'
import type { LastSeen } from './lastSeen.ts'

/** The owner of the secret; undefined if it is wrong. An exception means that nothing was checked. */
export type SecretCheck<T> = (clientId: string, secret: string) => Promise<T | undefined>

/**
 * For a door beside the provider's own, in the same process: over the provider's address all callers of that door would
 * count as one, and whoever guesses there would keep out the others.
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

/** Of one length whatever was given, so that the time tells nothing. */
function isSame(one: string, other: string): boolean {
  return isSameText(sha256(one), sha256(other))
}
