import { clusterStateOf, isClusterReachable } from '../../contracts/clusters.ts'
import type { KubeObject, Resource } from '../../core/object.ts'
import { compareTexts } from '../../core/textOrder.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { namespace, networkPolicy, pod } from '../../kube/builtin.ts'
import { CILIUM_POLICIES, ciliumClusterwideNetworkPolicy, ciliumNetworkPolicy } from '../../kube/cilium.ts'
import type { KubeClient } from '../../kube/client.ts'
import { absent, isKubeError } from '../../kube/errors.ts'
import type { Services } from '../http/context.ts'
import { otherClusterOf } from '../resources/find.ts'
import type { CiliumPolicy } from './policy/cilium.ts'
import type { NetworkPolicy } from './policy/kubernetes.ts'
import type { Policies } from './policy/verdict.ts'

export type SeenPod = KubeObject & {
  spec?: {
    serviceAccountName?: string
    containers?: { ports?: { name?: string; containerPort: number; protocol?: string }[] }[]
  }
  status?: { phase?: string; podIP?: string; podIPs?: { ip?: string }[] }
}

/** The current state of a cluster that decides about traffic of some namespaces. */
export type ClusterNetworkState = {
  /** Labels of the existing namespaces. */
  readonly namespaceLabels: ReadonlyMap<string, Readonly<Record<string, string>>>
  readonly pods: readonly SeenPod[]
  readonly policies: Policies
  /** Whether Cilium is installed, which selects pods by labels only. */
  readonly hasCilium: boolean
}

/** Reads policies on demand, so that none have to be watched. */
export interface NetworkStateReader {
  /**
   * @param clusterId of another cluster
   * @throws KubeError if the cluster does not answer
   */
  at(namespaces: readonly string[], clusterId?: string): Promise<ClusterNetworkState>
}

/** Returns the permissions of the facade for this. The types of Cilium may be missing. */
export function policyReads(): { resource: Resource; verbs: readonly string[] }[] {
  return [networkPolicy, ...CILIUM_POLICIES].map((resource) => ({ resource, verbs: ['list'] }))
}

/** Returns what a cluster shows, or a sentence why it does not: an unknown state is a valid answer here. */
export async function readNetworkState(
  services: Services,
  clusterId: string,
  namespaces: readonly string[],
): Promise<ClusterNetworkState | string> {
  const other = otherClusterOf(services, clusterId)
  if (other === undefined) return services.network.stateReader.at(namespaces)
  const cluster = services.records.peek(PlatformCluster, { name: other })
  const name = cluster?.spec.displayName ?? other
  const state = cluster === undefined ? 'Revoked' : clusterStateOf(cluster, services.clock.now())
  if (!isClusterReachable(state)) return `Cluster "${name}" cannot be queried: it is ${state}.`
  try {
    return await services.network.stateReader.at(namespaces, other)
  } catch (error) {
    if (isKubeError(error)) return `Cluster "${name}" did not answer.`
    throw error
  }
}

type Reader = Pick<KubeClient, 'get' | 'list'>

/** @param clientOf returns the client for the API server of another cluster */
export function createNetworkStateReader(client: Reader, clientOf: (clusterId: string) => Reader): NetworkStateReader {
  return {
    async at(namespaces, clusterId) {
      const clusterClient = clusterId === undefined ? client : clientOf(clusterId)
      const inEach = async <T extends KubeObject>(resource: Resource) =>
        (await Promise.all(namespaces.map((name) => clusterClient.list<T>(resource, { namespace: name })))).flatMap(
          ({ items }) => items,
        )
      const [labels, pods, kubernetes, own, clusterwide] = await Promise.all([
        Promise.all(namespaces.map(async (name) => [name, await labelsOf(clusterClient, name)] as const)),
        inEach<SeenPod>(pod),
        inEach<NetworkPolicy>(networkPolicy),
        unlessMissing(() => inEach<CiliumPolicy>(ciliumNetworkPolicy)),
        unlessMissing(async () => (await clusterClient.list<CiliumPolicy>(ciliumClusterwideNetworkPolicy)).items),
      ])
      const byName = <T extends KubeObject>(objects: readonly T[]) =>
        objects.toSorted((one, other) => compareTexts(one.metadata.name, other.metadata.name))
      return {
        namespaceLabels: new Map(labels.flatMap(([name, found]) => (found === undefined ? [] : [[name, found]]))),
        pods: byName(pods),
        policies: { kubernetes: byName(kubernetes), cilium: [...byName(own ?? []), ...byName(clusterwide ?? [])] },
        hasCilium: own !== undefined || clusterwide !== undefined,
      }
    },
  }
}

/** Returns undefined if the namespace does not exist, and so has no pods. */
async function labelsOf(client: Reader, name: string): Promise<Record<string, string> | undefined> {
  const found = await client.get(namespace, { name }).catch(absent)
  return found && (found.metadata.labels ?? {})
}

/** Returns undefined if the cluster does not have the type. */
async function unlessMissing<T>(list: () => Promise<T[]>): Promise<T[] | undefined> {
  try {
    return await list()
  } catch (error) {
    if (isKubeError(error, 'NotServed')) return undefined
    throw error
  }
}
