import { clusterStateOf, isReachable } from '../../contracts/clusters.ts'
import type { KubeObject, Resource } from '../../core/object.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { namespace, networkPolicy, pod } from '../../kube/builtin.ts'
import { CILIUM_POLICIES, ciliumClusterwideNetworkPolicy, ciliumNetworkPolicy } from '../../kube/cilium.ts'
import type { KubeClient } from '../../kube/client.ts'
import { absent, isKubeError } from '../../kube/errors.ts'
import type { Services } from '../http/context.ts'
import { otherClusterOf } from '../resources/places.ts'
import type { Cilium } from './policy/cilium.ts'
import type { NetworkPolicy } from './policy/kubernetes.ts'
import type { Policies } from './policy/verdict.ts'

export type SeenPod = KubeObject & {
  spec?: {
    serviceAccountName?: string
    containers?: { ports?: { name?: string; containerPort: number; protocol?: string }[] }[]
  }
  status?: { phase?: string; podIP?: string; podIPs?: { ip?: string }[] }
}

/** What of a cluster decides about the traffic of some namespaces, as it is now. */
export type Seen = {
  /** Of those that are there. */
  readonly namespaceLabels: ReadonlyMap<string, Readonly<Record<string, string>>>
  readonly pods: readonly SeenPod[]
  readonly policies: Policies
  /** Whether Cilium is there, which takes pods by labels alone. */
  readonly hasCilium: boolean
}

/** Reads policies when they are asked about: nothing has to be watched for it. */
export interface NetworkLooks {
  /**
   * @param clusterId of another cluster
   * @throws KubeError if the cluster does not answer
   */
  at(namespaces: readonly string[], clusterId?: string): Promise<Seen>
}

/** What the facade may do for it. The types of Cilium may be missing. */
export function policyReads(): { resource: Resource; verbs: readonly string[] }[] {
  return [networkPolicy, ...CILIUM_POLICIES].map((resource) => ({ resource, verbs: ['list'] }))
}

/** What a cluster shows, or why it shows nothing: what is not known is an answer here. */
export async function lookAt(
  services: Services,
  clusterId: string,
  namespaces: readonly string[],
): Promise<Seen | string> {
  const other = otherClusterOf(services, clusterId)
  if (other === undefined) return services.network.looks.at(namespaces)
  const cluster = services.records.peek(PlatformCluster, { name: other })
  const name = cluster?.spec.displayName ?? other
  const state = cluster === undefined ? 'Revoked' : clusterStateOf(cluster, services.clock.now())
  if (!isReachable(state)) return `Cluster "${name}" cannot be queried: it is ${state}.`
  try {
    return await services.network.looks.at(namespaces, other)
  } catch (error) {
    if (isKubeError(error)) return `Cluster "${name}" did not answer.`
    throw error
  }
}

type Reader = Pick<KubeClient, 'get' | 'list'>

/** @param clientOf for the API server of another cluster */
export function createNetworkLooks(client: Reader, clientOf: (clusterId: string) => Reader): NetworkLooks {
  return {
    async at(namespaces, clusterId) {
      const there = clusterId === undefined ? client : clientOf(clusterId)
      const inEach = async <T extends KubeObject>(resource: Resource) =>
        (await Promise.all(namespaces.map((name) => there.list<T>(resource, { namespace: name })))).flatMap(
          ({ items }) => items,
        )
      const [labels, pods, kubernetes, own, clusterwide] = await Promise.all([
        Promise.all(namespaces.map(async (name) => [name, await labelsOf(there, name)] as const)),
        inEach<SeenPod>(pod),
        inEach<NetworkPolicy>(networkPolicy),
        unlessMissing(() => inEach<Cilium>(ciliumNetworkPolicy)),
        unlessMissing(async () => (await there.list<Cilium>(ciliumClusterwideNetworkPolicy)).items),
      ])
      const byName = <T extends KubeObject>(objects: readonly T[]) =>
        objects.toSorted((one, other) => (one.metadata.name < other.metadata.name ? -1 : 1))
      return {
        namespaceLabels: new Map(labels.flatMap(([name, found]) => (found === undefined ? [] : [[name, found]]))),
        pods: byName(pods),
        policies: { kubernetes: byName(kubernetes), cilium: [...byName(own ?? []), ...byName(clusterwide ?? [])] },
        hasCilium: own !== undefined || clusterwide !== undefined,
      }
    },
  }
}

/** Undefined for one that is not there, which has no pods either. */
async function labelsOf(client: Reader, name: string): Promise<Record<string, string> | undefined> {
  const found = await client.get(namespace, { name }).catch(absent)
  return found && (found.metadata.labels ?? {})
}

/** Undefined if the cluster does not know the type. */
async function unlessMissing<T>(list: () => Promise<T[]>): Promise<T[] | undefined> {
  try {
    return await list()
  } catch (error) {
    if (isKubeError(error, 'NotFound')) return undefined
    throw error
  }
}
