import { randomBytes } from 'node:crypto'
import { isUuid } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { secretData } from '../../core/secretData.ts'
import type { PlatformClient } from '../../crds/identity.ts'
import { existing, type LocalObjects, metadataOf, namespace, putSecret, read, typeOf } from './localObjects.ts'
import { type ClientDirectory, type ClientRecord, IdentityProviderError, type NewClient } from './port.ts'

type ClientObject = PlatformClient & KubeObject

/** Service accounts as PlatformClient objects, each with a Secret. */
export function localClients({ client, resources }: LocalObjects): ClientDirectory {
  const find = (clientId: string) => read<ClientObject>(client, resources.client, clientId)
  const newSecret = () => randomBytes(32).toString('base64url')
  const store = (name: string, secret: string) =>
    putSecret({ client, resources }, metadataOf(name), secretData({ 'client-secret': secret }))
  return {
    async find(clientId) {
      const found = await find(clientId)
      return found && clientOf(found)
    },
    async create({ clientId, displayName }: NewClient) {
      if (!isUuid(clientId)) throw new Error(`A client of the local identity provider is named by a uuid: ${clientId}`)
      if ((await find(clientId)) !== undefined) throw new IdentityProviderError('NameTaken', 'The client id is taken.')
      const [secret, secretName] = [newSecret(), `client-${clientId}`]
      // First the secret, so that the client is never there without it.
      await store(secretName, secret)
      const made = await client.create<ClientObject>(resources.client, {
        ...typeOf(resources.client),
        metadata: metadataOf(clientId),
        spec: { displayName, description: '', isEnabled: true, secretName },
      } as unknown as ClientObject)
      return { ...clientOf(made), secret }
    },
    async rotateSecret(clientId) {
      const found = existing(await find(clientId))
      const secret = newSecret()
      await store(found.spec.secretName, secret)
      return { ...clientOf(found), secret }
    },
    async setEnabled(clientId, isEnabled) {
      existing(await find(clientId))
      await client.mergePatch(resources.client, { namespace, name: clientId }, { spec: { isEnabled } })
    },
    async delete(clientId) {
      const found = await find(clientId)
      if (found === undefined) return
      await client.remove(resources.client, { namespace, name: clientId })
      await client.remove(resources.secret, { namespace, name: found.spec.secretName })
    },
  }
}

function clientOf({ metadata, spec }: ClientObject): ClientRecord {
  const { displayName, isEnabled } = spec
  return { clientId: metadata.name, principalId: metadata.name, displayName, isEnabled: isEnabled ?? true }
}
