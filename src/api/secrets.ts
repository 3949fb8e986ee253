import type { KubeObject } from '../core/object.ts'
import { secret } from '../kube/builtin.ts'
import type { KubeClient } from '../kube/client.ts'
import { isKubeError } from '../kube/errors.ts'

/** Secrets of resources, for data-plane routes only. Each read goes to the API server: secrets are never kept. */
export interface SecretReader {
  /** The base64 `data`; undefined where there is none, or its namespace is not opened to the facade yet. */
  read(namespace: string, name: string): Promise<Readonly<Record<string, string>> | undefined>
}

export function kubeSecrets(client: Pick<KubeClient, 'get'>): SecretReader {
  return {
    async read(namespace, name) {
      try {
        const found = await client.get<KubeObject & { data?: Record<string, string> }>(secret, { namespace, name })
        return found.data
      } catch (error) {
        if (isKubeError(error, 'NotFound', 'Forbidden')) return undefined
        throw error
      }
    },
  }
}
