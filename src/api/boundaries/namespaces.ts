import { MANAGED_BY_LABEL } from '../../core/labels.ts'
import type { KubeObject } from '../../core/object.ts'
import { namespace } from '../../kube/builtin.ts'
import type { KubeClient } from '../../kube/client.ts'
import { absent, ignoreKubeAlreadyExists } from '../../kube/errors.ts'

/** The namespaces that the facade creates together with a boundary or a resource group. */
export interface NamespaceStore {
  /** Creates the namespace; an existing one is left unchanged. @throws KubeError */
  ensure(object: KubeObject): Promise<void>
  /** Returns whether it exists and is ours, including while it terminates. */
  exists(name: string): Promise<boolean>
}

declare module '../http/context.ts' {
  interface Services {
    readonly namespaces: NamespaceStore
  }
}

export function kubeNamespaces(client: KubeClient): NamespaceStore {
  return {
    async ensure(object) {
      // The controller checks the owner and never adopts a foreign namespace.
      await client.create(namespace, object).catch(ignoreKubeAlreadyExists)
    },
    async exists(name) {
      const found = await client.get(namespace, { name }).catch(absent)
      return found?.metadata.labels?.[MANAGED_BY_LABEL] !== undefined
    },
  }
}
