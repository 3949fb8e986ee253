import { type Revision, revisionOf } from '../../contracts/revisions.ts'
import { isOwnedBy, ownerLabelSelector } from '../../contracts/workloads.ts'
import type { KubeObject, Resource } from '../../core/object.ts'
import { formatBytes, formatCores, parseForeignQuantity } from '../../core/quantity.ts'
import { compareTexts } from '../../core/textOrder.ts'
import { controllerRevision, event, pod } from '../../kube/builtin.ts'
import type { WatchCache } from '../../kube/cache.ts'
import type { KubeClient } from '../../kube/client.ts'
import { isKubeError } from '../../kube/errors.ts'
import { refuseFollowedList } from './refuseFollowedList.ts'

/** A resource, and the other cluster that its pods are on; the platform's own if undefined. */
export type WorkloadRef = {
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly clusterId?: string | undefined
}

export type PodEvent = {
  timestamp: string
  type: 'Normal' | 'Warning'
  reason: string
  message: string
  count: number
}
export type PodUsage = { cpu: string; memory: string }

/**
 * The live state of a resource beside its object. Pods of the platform's own cluster come from a cache, everything else
 * is read on demand.
 *
 * @throws KubeError if the other cluster does not answer
 */
export interface LiveState {
  pods(ref: WorkloadRef): Promise<readonly KubeObject[]>
  /** Returns the Kubernetes events of a pod, newest first. */
  events(ref: Pick<WorkloadRef, 'namespace' | 'clusterId'>, podName: string): Promise<PodEvent[]>
  /** Returns what pods use now, by name; empty if nothing measures it. */
  usage(ref: WorkloadRef): Promise<ReadonlyMap<string, PodUsage>>
  /** The newest first. */
  revisions<Content>(ref: WorkloadRef): Promise<Revision<Content>[]>
}

declare module '../http/context.ts' {
  interface Services {
    readonly live: LiveState
  }
}

export type Caches = { has(resource: Resource): boolean; get(resource: Resource): Pick<WatchCache<KubeObject>, 'list'> }

const podMetrics: Resource = {
  group: 'metrics.k8s.io',
  version: 'v1beta1',
  plural: 'pods',
  kind: 'PodMetrics',
  namespaced: true,
}

type StoredEvent = KubeObject & {
  type?: string
  reason?: string
  note?: string
  eventTime?: string
  series?: { count?: number; lastObservedTime?: string }
  deprecatedLastTimestamp?: string
  deprecatedCount?: number
}
type PodMetricsObject = KubeObject & { containers?: { usage?: { cpu?: string; memory?: string } }[] }

type Lister = Pick<KubeClient, 'list'>

/** @param clientOf returns the client for the API server of another cluster */
export function createLiveState({
  client,
  caches,
  clientOf,
}: {
  client: Lister
  caches: Caches
  clientOf: (clusterId: string) => Lister
}): LiveState {
  const clientAt = ({ clusterId }: Pick<WorkloadRef, 'clusterId'>) =>
    clusterId === undefined ? client : clientOf(clusterId)
  const ofResource = ({ kind, namespace, name }: WorkloadRef) => ({
    namespace,
    labelSelector: ownerLabelSelector(kind, name),
  })
  return {
    async pods(ref) {
      const { kind, namespace, name, clusterId } = ref
      if (clusterId !== undefined) {
        refuseFollowedList('Pods')
        return (await clientAt(ref).list(pod, ofResource(ref))).items
      }
      const all = caches.has(pod) ? caches.get(pod).list({ namespace }) : []
      return all.filter(({ metadata }) => isOwnedBy(metadata, kind, name))
    },
    async events({ namespace, clusterId }, podName) {
      const fieldSelector = `regarding.kind=Pod,regarding.name=${podName}`
      const { items } = await clientAt({ clusterId }).list<StoredEvent>(event, { namespace, fieldSelector })
      return items.map(shownEvent).sort((one, other) => compareTexts(other.timestamp, one.timestamp))
    },
    async usage(ref) {
      try {
        const { items } = await clientAt(ref).list<PodMetricsObject>(podMetrics, ofResource(ref))
        return new Map(items.map((one) => [one.metadata.name, usageOf(one)]))
      } catch (error) {
        // There is no metrics API, or it does not answer: the pods are shown without usage.
        if (isKubeError(error)) return new Map()
        throw error
      }
    },
    async revisions<Content>(ref: WorkloadRef) {
      const { items } = await client.list<KubeObject & { revision?: number; data?: unknown }>(
        controllerRevision,
        ofResource(ref),
      )
      return items.flatMap((one) => revisionOf<Content>(one) ?? []).sort((one, other) => other.number - one.number)
    },
  }
}

function shownEvent({ metadata, type, reason = '', note = '', eventTime, series, ...old }: StoredEvent): PodEvent {
  const seen = series?.lastObservedTime ?? eventTime ?? old.deprecatedLastTimestamp ?? metadata.creationTimestamp ?? ''
  return {
    timestamp: seen,
    type: type === 'Warning' ? 'Warning' : 'Normal',
    reason,
    message: note.slice(0, 1024),
    count: series?.count ?? old.deprecatedCount ?? 1,
  }
}

function usageOf({ containers = [] }: PodMetricsObject): PodUsage {
  const sum = (what: 'cpu' | 'memory') =>
    containers.reduce((total, { usage }) => total + parseForeignQuantity(usage?.[what]), 0n)
  return { cpu: formatCores(sum('cpu')), memory: formatBytes(sum('memory')) }
}
