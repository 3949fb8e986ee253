import { type DockerAccounts, dockerConfig, pullSecretContent } from '../../contracts/dockerConfig.ts'
import { PlatformError } from '../../core/errors.ts'
import { MANAGED_BY, MANAGED_BY_LABEL, PREFIX } from '../../core/labels.ts'
import type { KubeObject } from '../../core/object.ts'
import { secret } from '../../kube/builtin.ts'
import type { KubeClient } from '../../kube/client.ts'
import { isKubeError } from '../../kube/errors.ts'

/** On a pull secret: the source that it was made of. Nothing else is ever written over. */
const SOURCE_LABEL = `${PREFIX}source`

type PullSecret = {
  namespace: string
  name: string
  sourceId: string
  accounts: DockerAccounts
  /** What it goes with; absent: it stays until somebody deletes it. */
  owner?: { apiVersion: string; kind: string; name: string; uid: string } | undefined
}

/** Secrets of the type that kubelets pull images with. */
export function kubePullSecrets(client: Pick<KubeClient, 'get' | 'create' | 'mergePatch'>) {
  return {
    /** @throws PlatformError already-exists if a Secret of that name is something else */
    async write({ namespace, name, sourceId, accounts, owner }: PullSecret): Promise<void> {
      const content = pullSecretContent(dockerConfig(accounts))
      const labels = { [MANAGED_BY_LABEL]: MANAGED_BY, [SOURCE_LABEL]: sourceId }
      const metadata = { namespace, name, labels, ...(owner !== undefined && { ownerReferences: [owner] }) }
      const object = { apiVersion: 'v1', kind: 'Secret', metadata, ...content }
      try {
        await client.create(secret, object as KubeObject)
      } catch (error) {
        if (!isKubeError(error, 'AlreadyExists')) throw error
        const { metadata: found } = await client.get(secret, { namespace, name })
        if (found.labels?.[SOURCE_LABEL] !== sourceId) {
          const message = `This group has another Secret "${name}", which does not come from this source.`
          throw new PlatformError('already-exists', message, { secretName: name })
        }
        const { uid, resourceVersion } = found
        await client.mergePatch(secret, { namespace, name }, { data: content.data }, { uid, resourceVersion })
      }
    },
  }
}
