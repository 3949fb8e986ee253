import type { SecretData, SecretObject } from '../../core/secretData.ts'
import { secret } from '../../kube/builtin.ts'
import type { KubeClient } from '../../kube/client.ts'
import { isKubeError } from '../../kube/errors.ts'
import { putSecret, type SecretOwner } from '../../kube/putSecret.ts'

/** Secrets of resources, for data-plane routes only. Each read goes to the API server: secrets are never cached. */
export interface SecretReader {
  /**
   * The `data`; undefined if there is none, or the facade has no access to its namespace yet.
   *
   * @param clusterId the cluster that the resource runs on; the platform's own if undefined
   */
  read(namespace: string, name: string, clusterId?: string): Promise<SecretData | undefined>
}

type Getter = Pick<KubeClient, 'get'>

export function kubeSecrets(client: Getter, clientOf: (clusterId: string) => Getter = () => client): SecretReader {
  return {
    async read(namespace, name, clusterId) {
      const clusterClient = clusterId === undefined ? client : clientOf(clusterId)
      try {
        const found = await clusterClient.get<SecretObject>(secret, { namespace, name })
        return found.data
      } catch (error) {
        if (isKubeError(error, 'NotFound', 'Forbidden')) return undefined
        throw error
      }
    },
  }
}

/** Sets entries of a resource's Secret and keeps the others. */
export interface SecretWriter {
  /** @param clusterId the cluster that the resource runs on; the platform's own if undefined */
  put(ref: { namespace: string; name: string }, data: SecretData, owner: SecretOwner, clusterId?: string): Promise<void>
}

type Writer = Pick<KubeClient, 'create' | 'mergePatch'>

export function kubeSecretWriter(client: Writer, clientOf: (clusterId: string) => Writer = () => client): SecretWriter {
  return {
    async put(ref, data, owner, clusterId) {
      const clusterClient = clusterId === undefined ? client : clientOf(clusterId)
      await putSecret(clusterClient, ref, data, { ...owner, isElsewhere: clusterId !== undefined })
    },
  }
}
