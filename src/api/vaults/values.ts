import { decodeJwe, decodeNewestValue, encodeNewestValue } from '../../contracts/vaults/valueSecret.ts'
import { PlatformError } from '../../core/errors.ts'
import type { KubeObject } from '../../core/object.ts'
import type { SecretObject } from '../../core/secretData.ts'
import { secret } from '../../kube/builtin.ts'
import type { KubeClient } from '../../kube/client.ts'
import { isKubeError } from '../../kube/errors.ts'

/** Stores wrapped keys and encrypted values in Secrets. Nothing is cached: each call goes to the API server. */
export interface ValueStore {
  /** Returns the JWE; undefined if there is none or its content was wiped. */
  read(namespace: string, name: string): Promise<string | undefined>
  /** Returns a wrapped key, and the newest value if it is stored beside it. */
  readKey(namespace: string, name: string): Promise<{ wrapped: string; newest: string | undefined } | undefined>
  /** Stores the newest value beside the key; does nothing if the key is gone. */
  keepNewest(namespace: string, name: string, sealed: string): Promise<void>
  /** Returns false if the name is taken. */
  create(object: KubeObject): Promise<boolean>
  /** Removes the content at once; the object is deleted later. Does nothing if there is none. */
  wipe(namespace: string, name: string): Promise<void>
}

export function kubeValues(client: Pick<KubeClient, 'get' | 'create' | 'mergePatch'>): ValueStore {
  return {
    async read(namespace, name) {
      try {
        return decodeJwe((await client.get<SecretObject>(secret, { namespace, name })).data)
      } catch (error) {
        if (isKubeError(error, 'NotFound')) return undefined
        throw namespaceNotReady(error)
      }
    },
    async readKey(namespace, name) {
      try {
        const { data } = await client.get<SecretObject>(secret, { namespace, name })
        const wrapped = decodeJwe(data)
        return wrapped === undefined ? undefined : { wrapped, newest: decodeNewestValue(data) }
      } catch (error) {
        if (isKubeError(error, 'NotFound')) return undefined
        throw namespaceNotReady(error)
      }
    },
    async keepNewest(namespace, name, sealed) {
      try {
        await client.mergePatch(secret, { namespace, name }, { data: encodeNewestValue(sealed) })
      } catch (error) {
        if (!isKubeError(error, 'NotFound')) throw namespaceNotReady(error)
      }
    },
    async create(object) {
      try {
        await client.create(secret, object)
        return true
      } catch (error) {
        if (isKubeError(error, 'AlreadyExists')) return false
        throw namespaceNotReady(error)
      }
    },
    async wipe(namespace, name) {
      try {
        await client.mergePatch(secret, { namespace, name }, { data: null })
      } catch (error) {
        if (!isKubeError(error, 'NotFound')) throw namespaceNotReady(error)
      }
    },
  }
}

/** The facade gets access to a group's namespace shortly after its creation. */
function namespaceNotReady(error: unknown): unknown {
  if (!isKubeError(error, 'Forbidden')) return error
  const extras = { status: 'Pending', phase: 'WaitingForGroup' }
  return new PlatformError('INVALID_STATE', 'The resource group is not ready yet: try again.', extras, { cause: error })
}
