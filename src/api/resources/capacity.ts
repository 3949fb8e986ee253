import type { KubeObject, Resource } from '../../core/object.ts'
import { parseForeignQuantity } from '../../core/quantity.ts'
import { node, pod } from '../../kube/builtin.ts'
import type { WatchCache } from '../../kube/cache.ts'
import type { Capacity, ComputeAmounts } from './plans.ts'

type NodeObject = KubeObject & {
  spec?: { unschedulable?: boolean; taints?: { effect: string }[] }
  status?: { allocatable?: Record<string, string>; conditions?: { type: string; status: string }[] }
}
type Resources = { requests?: Record<string, string> }
export type PodObject = KubeObject & {
  spec?: { nodeName?: string; containers?: { resources?: Resources }[] }
  status?: { phase?: string }
}

type Caches = {
  has(resource: Resource): boolean
  get<T extends KubeObject>(resource: Resource): Pick<WatchCache<T>, 'list' | 'synced'>
}

/** Milliseconds for which sums over all pods are cached: lists of plans must not each walk over every pod. */
const CAPACITY_TTL_MS = 5_000

/** Of the platform's own cluster; free is what is allocatable less what the pods there request. */
export function createCapacity(caches: Caches, clock: { monotonic(): number }): Capacity {
  let sums: { free: readonly ComputeAmounts[]; requested: ComputeAmounts } | undefined
  let until = Number.NEGATIVE_INFINITY
  const sumUp = () => {
    if (!caches.has(node) || !caches.has(pod)) return undefined
    const [nodes, pods] = [caches.get<NodeObject>(node), caches.get<PodObject>(pod)]
    if (!nodes.synced || !pods.synced) return undefined
    if (clock.monotonic() >= until) {
      sums = { free: freeNodeCapacities(nodes.list(), pods.list()), requested: requestedInAll(pods.list()) }
      until = clock.monotonic() + CAPACITY_TTL_MS
    }
    return sums
  }
  return { freeNodeCapacities: () => sumUp()?.free, requested: () => sumUp()?.requested }
}

function requestedInAll(pods: readonly PodObject[]): ComputeAmounts {
  const sums = [...requestedOn(pods).values()]
  const sum = (of: 'cpu' | 'memory') => sums.reduce((total, each) => total + each[of], 0n)
  return { cpu: sum('cpu'), memory: sum('memory') }
}

type Requested = { cpu: bigint; memory: bigint; pods: number }
export const NOTHING_REQUESTED: Readonly<Requested> = { cpu: 0n, memory: 0n, pods: 0 }

/** Returns the requests of unfinished pods by node. */
export function requestedOn(pods: readonly PodObject[]): ReadonlyMap<string, Requested> {
  const sums = new Map<string, Requested>()
  for (const { spec, status } of pods) {
    const name = spec?.nodeName
    if (name === undefined || status?.phase === 'Succeeded' || status?.phase === 'Failed') continue
    const sum = sums.get(name) ?? { ...NOTHING_REQUESTED }
    sum.pods += 1
    for (const { resources } of spec?.containers ?? []) {
      sum.cpu += parseForeignQuantity(resources?.requests?.cpu)
      sum.memory += parseForeignQuantity(resources?.requests?.memory)
    }
    sums.set(name, sum)
  }
  return sums
}

/** Returns the free capacity of each node that accepts anybody's pods. */
export function freeNodeCapacities(nodes: readonly NodeObject[], pods: readonly PodObject[]): ComputeAmounts[] {
  const requested = requestedOn(pods)
  return nodes.filter(takesPods).map(({ metadata, status }) => {
    const sum = requested.get(metadata.name) ?? NOTHING_REQUESTED
    return {
      cpu: parseForeignQuantity(status?.allocatable?.cpu) - sum.cpu,
      memory: parseForeignQuantity(status?.allocatable?.memory) - sum.memory,
    }
  })
}

function takesPods({ spec, status }: NodeObject): boolean {
  const isReady = status?.conditions?.some(({ type, status: state }) => type === 'Ready' && state === 'True') === true
  const isTainted = spec?.taints?.some(({ effect }) => effect !== 'PreferNoSchedule') === true
  return isReady && spec?.unschedulable !== true && !isTainted
}
