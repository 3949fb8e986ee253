import { CLIENT_SECRET_KEY } from '../contracts/managedIdentities.ts'
import { isUuid, SYSTEM_NAMESPACE } from '../core/names.ts'
import { type SecretObject, secretText } from '../core/secretData.ts'
import { PlatformClient } from '../crds/identity.ts'
import * as builtin from '../kube/builtin.ts'
import type { KubeClient } from '../kube/client.ts'
import { absent } from '../kube/errors.ts'
import type { KubeObject } from '../kube/object.ts'

/** A service account that may ask for tokens. `secret` never leaves the provider. */
export type IdentityClient = {
  clientId: string
  secret: string
  displayName: string
  isEnabled: boolean
  uid?: string | undefined
}

/** Where the provider finds service accounts. Asked for every token, so that a change counts at once. */
export interface ClientStore {
  /** @throws Error if the store does not answer */
  find(clientId: string): Promise<IdentityClient | undefined>
}

export { CLIENT_SECRET_KEY }

type ClientObject = PlatformClient & KubeObject

/**
 * PlatformClient objects and their Secrets, read from the API server each time: two short reads, and a client that is
 * disabled or deleted gets no further token, on whichever replica.
 */
export function kubeClientStore(client: Pick<KubeClient, 'get'>): ClientStore {
  return {
    async find(clientId) {
      // Only a uuid can name a client or become part of a path.
      if (!isUuid(clientId)) return undefined
      const found = await client
        .get<ClientObject>(PlatformClient.resource, { namespace: SYSTEM_NAMESPACE, name: clientId })
        .catch(absent)
      if (found === undefined || found.metadata.deletionTimestamp !== undefined) return undefined
      const { displayName, isEnabled, secretName } = found.spec
      const secretObject = await client
        .get<SecretObject>(builtin.secret, { namespace: SYSTEM_NAMESPACE, name: secretName })
        .catch(absent)
      const secret = secretText(secretObject?.data, CLIENT_SECRET_KEY) ?? ''
      return secret === '' ? undefined : { clientId, secret, displayName, isEnabled, uid: found.metadata.uid }
    },
  }
}
