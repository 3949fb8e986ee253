import type { KubeObject, Resource } from '../../src/core/object.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import { configMap, statefulSet } from '../../src/kube/builtin.ts'
import { WatchCache } from '../../src/kube/cache.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { OwnPlatform } from '../cluster/platform.ts'
import { until } from '../make/until.ts'
import { isReady, makeFleet, objectOf } from '../worlds/fleet.ts'
import { atMost } from './goals.ts'
import { percentiles } from './load.ts'
import type { BenchmarkOptions } from './options.ts'
import { circumstances, UNLIMITED } from './stage.ts'

/** Results when each child was read before it was created: milliseconds, and the ratio to the peer. */
const BEFORE = { milliseconds: 132, timesPeer: 7.4 }
/** Warm-up rounds, which open connections and compile code. */
const WARMING = 5
const PEER_LABEL = 'bench.freehold.dev/peer'
const PEER_READY = 'bench.freehold.dev/ready'
const READY_WITHIN = 60_000

type Parent = KubeObject & { data?: object }
type Arm = { create(name: string): Promise<unknown>; whenReady(name: string): Promise<void> }

/**
 * B6: the time from creating a stopped vector database until it is Ready, as seen by a watch. The peer, on the same API
 * server, is a plain watch loop with two writes: a child with an owner reference, then a mark on its parent.
 */
export async function runReconcile({ count = 40 }: BenchmarkOptions): Promise<object> {
  const own = await OwnPlatform.prepare({ proxied: true, environment: UNLIMITED })
  const caches: WatchCache<KubeObject>[] = []
  try {
    await own.startOperator()
    const { namespaces } = await makeFleet(own.admin, { groups: 1, databases: 0 })
    const [namespace = ''] = namespaces
    const watch = async (resource: Resource, labelSelector?: string) => {
      const cache = new WatchCache<KubeObject>({ client: own.admin, resource, namespace, labelSelector })
      caches.push(cache)
      cache.start()
      await cache.whenSynced()
      return cache
    }
    const ours = databases(own.admin, namespace, await watch(VectorCluster.resource))
    const peer = plainLoop(own.admin, namespace, await watch(configMap, PEER_LABEL))
    await compareContents(own.admin, namespace, ours, peer)
    const [mine, theirs]: [number[], number[]] = [[], []]
    let calls = 0
    for (let round = -WARMING; round < count; round += 1) {
      own.proxies?.controllers.reset()
      const milliseconds = await timed(ours, `db-${round + WARMING}`)
      const made = own.proxies?.controllers.requests() ?? []
      const peerMilliseconds = await timed(peer, `peer-${round + WARMING}`)
      if (round < 0) continue
      mine.push(milliseconds)
      theirs.push(peerMilliseconds)
      calls = Math.max(calls, made.filter(({ verb, resource }) => verb !== 'watch' && resource !== 'events').length)
    }
    const [figure, peerFigure] = [percentiles(mine), percentiles(theirs)]
    return {
      benchmark: 'reconcile',
      ...circumstances({ own }),
      objects: count,
      createToReady: { ours: figure, plainLoop: peerFigure },
      goals: [
        atMost('calls until a stopped vector database is Ready', '', 11, calls),
        atMost('creation to Ready, p50', 'ms', BEFORE.milliseconds / 2, figure.p50),
        atMost('creation to Ready over a plain loop, p50', '', BEFORE.timesPeer / 2, figure.p50 / peerFigure.p50),
      ],
    }
  } finally {
    await Promise.all(caches.map((cache) => cache.stop()))
    await own.stop()
  }
}

export function databases(client: KubeClient, namespace: string, cache: WatchCache<KubeObject>): Arm {
  const create = (name: string) =>
    client.create(VectorCluster.resource, objectOf(VectorCluster, name, namespace, { running: false }))
  return { create, whenReady: whenever(cache, isReady) }
}

/** Two writes for each parent, as soon as the watch reports it. */
function plainLoop(client: KubeClient, namespace: string, cache: WatchCache<KubeObject>): Arm {
  const reconcile = async ({ metadata: { name, uid = '' } }: KubeObject) => {
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name, uid, controller: true }
    const metadata = { name: `child-of-${name}`, namespace, ownerReferences: [owner] }
    await client.apply<Parent>(configMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { of: name } })
    await client.mergePatch(configMap, { namespace, name }, { metadata: { annotations: { [PEER_READY]: 'true' } } })
  }
  cache.subscribe(({ type, object }) => (type === 'added' ? void reconcile(object) : undefined))
  const create = (name: string) => {
    const metadata = { name, namespace, labels: { [PEER_LABEL]: 'true' } }
    return client.create<Parent>(configMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: {} })
  }
  return { create, whenReady: whenever(cache, ({ metadata }) => metadata.annotations?.[PEER_READY] === 'true') }
}

/** @returns a promise for the event, of an object that does not exist yet */
function whenever(cache: WatchCache<KubeObject>, holds: (object: KubeObject) => boolean) {
  return (wanted: string) =>
    new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`"${wanted}" was not ready in time.`)), READY_WITHIN)
      const unsubscribe = cache.subscribe(({ object }) => {
        if (object.metadata.name !== wanted || !holds(object)) return
        clearTimeout(timer)
        unsubscribe()
        resolve()
      })
    })
}

export async function timed({ create, whenReady }: Arm, name: string): Promise<number> {
  const ready = whenReady(name)
  const began = performance.now()
  await create(name)
  await ready
  return performance.now() - began
}

/** In both arms Ready means that the wanted children exist and belong to the parent. */
async function compareContents(client: KubeClient, namespace: string, ours: Arm, peer: Arm): Promise<void> {
  await timed(ours, 'compared')
  await timed(peer, 'compared-too')
  const database = await client.get(VectorCluster.resource, { namespace, name: 'compared' })
  const sets = await until('the database has its StatefulSet', async () => {
    const { items } = await client.list(statefulSet, { namespace })
    return items.length > 0 && items
  })
  const parent = await client.get(configMap, { namespace, name: 'compared-too' })
  const child = await client.get(configMap, { namespace, name: 'child-of-compared-too' })
  const isOwned = ({ metadata }: KubeObject, by: KubeObject) =>
    metadata.ownerReferences?.some(({ uid }) => uid === by.metadata.uid) === true
  if (!sets.some((set) => isOwned(set, database)) || !isOwned(child, parent))
    throw new Error('An arm reports ready without its child.')
}
