import { CLIENT_SECRET_KEY } from '../contracts/managedIdentities.ts'
import { isUuid, SYSTEM_NAMESPACE } from '../core/names.ts'
import { type SecretObject, secretText } from '../core/secretData.ts'
import { PlatformClient } from '../crds/identity.ts'
import * as builtin from '../kube/builtin.ts'
import type { KubeClient } from '../kube/client.ts'
import { absent } from '../kube/errors.ts'
import type { KubeObject } from '../kube/object.ts'

/** A service account that may request tokens. `secret` never leaves the provider. */
export type IdentityClient = {
  clientId: string
  secret: string
  displayName: string
  isEnabled: boolean
  uid?: string | undefined
}

/** The service accounts of the provider. Looked up for every token, so that changes take effect at once. */
export interface ClientStore {
  /** @throws Error if the store does not answer */
  find(clientId: string): Promise<IdentityClient | undefined>
}

export { CLIENT_SECRET_KEY }

type ClientObject = PlatformClient & KubeObject

/**
 * Reads PlatformClient objects and their Secrets from the API server each time. This costs two short reads and ensures
 * that no replica issues a token to a disabled or deleted client.
 */
export function kubeClientStore(client: Pick<KubeClient, 'get'>): ClientStore {
  return {
    async find(clientId) {
      // Client ids are uuids. Nothing else may become part of a path.
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
