import type { KubeObject, Resource } from '../../core/object.ts'
import { node, persistentVolume, persistentVolumeClaim, pod } from '../../kube/builtin.ts'
import type { CacheSet } from '../../kube/caches.ts'
import type { KubeClient } from '../../kube/client.ts'
import { isKubeError } from '../../kube/errors.ts'

/** The cluster to query, undefined for the platform's own, and its timeout. */
export type ClusterTarget = { readonly otherClusterId: string | undefined; readonly signal: AbortSignal | undefined }

/**
 * Reads nodes and volumes of a cluster for administrators. Nodes and pods of the platform's own cluster come from the
 * caches, all else is read on demand.
 * @throws KubeError if the cluster does not answer
 */
export interface KubernetesObjects {
  nodes(location: ClusterTarget): Promise<readonly KubeObject[]>
  pods(location: ClusterTarget): Promise<readonly KubeObject[]>
  /** Returns the current usage of nodes by name; empty if there are no metrics. */
  nodeUsage(location: ClusterTarget): Promise<ReadonlyMap<string, { cpu?: string; memory?: string }>>
  volumes(location: ClusterTarget): Promise<readonly KubeObject[]>
  claims(location: ClusterTarget): Promise<readonly KubeObject[]>
}

/** The most objects in one list; of a larger cluster, only a part is shown. */
const LIST_MAX = 10_000

const nodeMetrics: Resource = {
  group: 'metrics.k8s.io',
  version: 'v1beta1',
  plural: 'nodes',
  kind: 'NodeMetrics',
  namespaced: false,
}
type NodeMetrics = KubeObject & { usage?: { cpu?: string; memory?: string } }

type Lister = Pick<KubeClient, 'list'>

/** @param clientOf returns the client for the API server of another cluster */
export function createKubernetesObjects({
  client,
  caches,
  clientOf,
}: {
  client: Lister
  caches: Pick<CacheSet, 'has' | 'get'>
  clientOf: (clusterId: string) => Lister
}): KubernetesObjects {
  async function listed<T extends KubeObject = KubeObject>(
    resource: Resource,
    { otherClusterId, signal }: ClusterTarget,
  ) {
    const clusterClient = otherClusterId === undefined ? client : clientOf(otherClusterId)
    // Lets the API server answer from its cache, because slightly stale data is good enough here.
    return (await clusterClient.list<T>(resource, { limit: LIST_MAX, resourceVersion: '0', signal })).items.slice(
      0,
      LIST_MAX,
    )
  }
  const held = (resource: Resource, location: ClusterTarget) =>
    location.otherClusterId === undefined && caches.has(resource)
      ? caches.get<KubeObject>(resource).list()
      : listed(resource, location)
  return {
    nodes: async (location) => held(node, location),
    pods: async (location) => held(pod, location),
    async nodeUsage(location) {
      try {
        const found = await listed<NodeMetrics>(nodeMetrics, location)
        return new Map(found.map(({ metadata, usage = {} }) => [metadata.name, usage]))
      } catch (error) {
        if (isKubeError(error)) return new Map()
        throw error
      }
    },
    volumes: (location) => listed(persistentVolume, location),
    claims: (location) => listed(persistentVolumeClaim, location),
  }
}
