import { MANAGED_BY_LABEL } from '../../core/labels.ts'
import type { KubeObject } from '../../core/object.ts'
import { namespace } from '../../kube/builtin.ts'
import type { KubeClient } from '../../kube/client.ts'
import { absent, alreadyThere } from '../../kube/errors.ts'

/** The namespaces that the facade makes together with a boundary or a resource group. */
export interface NamespaceStore {
  /** Makes the namespace; one that is there already stays as it is. @throws KubeError */
  ensure(object: KubeObject): Promise<void>
  /** Whether it is there and ours, terminating included. */
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
      // Whose it is, the controller looks at: it never adopts a namespace of somebody else.
      await client.create(namespace, object).catch(alreadyThere)
    },
    async exists(name) {
      const found = await client.get(namespace, { name }).catch(absent)
      return found?.metadata.labels?.[MANAGED_BY_LABEL] !== undefined
    },
  }
}
