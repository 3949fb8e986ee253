import { Gauge, type Registry } from 'prom-client'
import type { Clock } from '../../core/clock.ts'
import { BOUNDARY_LABEL, FULL_LABEL, GROUP_LABEL } from '../../core/labels.ts'
import type { Log } from '../../core/log.ts'
import { type KubeObject, resourceId } from '../../core/object.ts'
import { fullLabelValue, isFullLabelValueFor, isFullWith } from '../../core/objectCount.ts'
import { COUNT_LIMITED_KINDS } from '../../crds/index.ts'
import { namespace as namespaceResource } from '../../kube/builtin.ts'
import type { CacheEvent } from '../../kube/cache.ts'
import { absent } from '../../kube/errors.ts'
import { KeyedQueue } from '../../kube/queue.ts'
import type { ClusterConnection } from '../engine/workspace.ts'
import { ObjectCounter } from './objectCounter.ts'

const READ_VERBS = ['get', 'list', 'watch'] as const

/** Rights for counting objects, independent of other controllers. */
export const OBJECT_COUNT_RIGHTS = [
  ...COUNT_LIMITED_KINDS.map(({ resource }) => ({ resource, verbs: READ_VERBS })),
  { resource: namespaceResource, verbs: [...READ_VERBS, 'patch'] },
]

export type FullBoundaryOptions = {
  records: ClusterConnection
  /** Maximum number of objects in a boundary's own namespace, and also in all its groups together. */
  maxObjects: number
  clock: Clock
  log: Log
}

/** Maximum concurrent patches of one boundary's namespaces. */
const MAX_CONCURRENT_PATCHES = 16

/**
 * Labels the namespaces of boundaries that hold the maximum number of objects, so that admission refuses more. A
 * boundary's own namespace and those of its groups are two separate pools with a limit each: users who may write in a group must not be
 * able to block the Owners' assignments and denies. Nothing is written while no pool becomes full or free.
 */
export class FullBoundaryMarker {
  readonly #options: FullBoundaryOptions
  readonly #tally = new ObjectCounter()
  readonly #full = new Set<string>()
  readonly #queue: KeyedQueue
  readonly #subscriptions: (() => void)[] = []

  constructor(options: FullBoundaryOptions) {
    const { clock, log } = options
    this.#options = options
    this.#queue = new KeyedQueue({
      name: 'room',
      workers: 4,
      clock,
      log,
      handle: (pool) => this.#labelNamespaces(pool),
    })
  }

  /** Number of full pools. */
  get size(): number {
    return this.#full.size
  }

  /** Requires synced caches. */
  start(): void {
    const { caches } = this.#options.records
    const namespaces = caches.get(namespaceResource)
    this.#subscriptions.push(
      namespaces.subscribe((event) => this.#namespaceChanged(event), { replay: true }),
      ...COUNT_LIMITED_KINDS.map(({ resource }) => {
        const cache = caches.get(resource)
        const id = resourceId(resource)
        return cache.subscribe(
          ({ object: { metadata } }) => {
            const { namespace = '' } = metadata
            this.#tally.count(namespace, id, cache.heldIn(namespace))
            this.#evaluatePool(this.#tally.poolOf(namespace))
          },
          { replay: true },
        )
      }),
    )
    this.#queue.start()
    // Pools that an earlier leader marked may no longer be full.
    for (const pool of this.#tally.pools) this.#queue.add(pool)
  }

  async stop(): Promise<void> {
    for (const unsubscribe of this.#subscriptions.splice(0)) unsubscribe()
    await this.#queue.shutDown()
  }

  whenIdle(): Promise<void> {
    return this.#queue.whenIdle()
  }

  #namespaceChanged({ type, object }: CacheEvent<KubeObject>): void {
    const { name } = object.metadata
    const before = this.#tally.poolOf(name)
    this.#tally.assign(name, type === 'removed' ? undefined : poolOf(object))
    const pool = this.#tally.poolOf(name)
    for (const one of new Set([before, pool])) this.#evaluatePool(one)
    if (pool !== undefined && this.#wantedLabel(object, pool) !== fullLabelOf(object)) this.#queue.add(pool)
  }

  #evaluatePool(pool: string | undefined): void {
    if (pool === undefined) return
    const { maxObjects, log } = this.#options
    const wasFull = this.#full.has(pool)
    const held = this.#tally.heldIn(pool)
    const isFull = isFullWith(held, maxObjects, wasFull)
    if (isFull === wasFull) return
    const [boundary = '', groups] = pool.split('/')
    const about = { boundary, of: groups ?? 'boundary', held, most: maxObjects }
    if (isFull) {
      this.#full.add(pool)
      log.warn(about, 'A boundary holds as many objects as it may: nothing more is created in it.')
    } else {
      this.#full.delete(pool)
      log.info(about, 'A boundary has room for objects again.')
    }
    this.#queue.add(pool)
  }

  /** Keeps an existing mark, although its count may be outdated. */
  #wantedLabel(namespace: KubeObject, pool: string): string | undefined {
    const { maxObjects } = this.#options
    if (!this.#full.has(pool)) return undefined
    const label = fullLabelOf(namespace)
    return label !== undefined && isFullLabelValueFor(label, maxObjects)
      ? label
      : fullLabelValue(this.#tally.heldIn(pool), maxObjects)
  }

  async #labelNamespaces(pool: string): Promise<void> {
    const { client, caches } = this.#options.records
    const namespaces = this.#tally.namespacesOf(pool).values()
    const patchOthers = async () => {
      for (const name of namespaces) {
        const found = caches.get(namespaceResource).get(undefined, name)
        if (found === undefined || found.metadata.deletionTimestamp !== undefined) continue
        const label = this.#wantedLabel(found, pool)
        if (label === fullLabelOf(found)) continue
        const patch = { metadata: { labels: { [FULL_LABEL]: label ?? null } } }
        await client.mergePatch(namespaceResource, { name }, patch).catch(absent)
      }
    }
    await Promise.all(Array.from({ length: MAX_CONCURRENT_PATCHES }, patchOthers))
    this.#queue.forget(pool)
  }
}

const fullLabelOf = ({ metadata }: KubeObject) => metadata.labels?.[FULL_LABEL]

function poolOf({ metadata: { labels = {} } }: KubeObject): string | undefined {
  const boundary = labels[BOUNDARY_LABEL]
  return boundary === undefined || labels[GROUP_LABEL] === undefined ? boundary : `${boundary}/groups`
}

export function countFullBoundaries(registry: Registry, marker: Pick<FullBoundaryMarker, 'size'>): void {
  new Gauge({
    name: 'freehold_full_boundaries',
    help: 'Boundaries that hold as many objects as they may, in their own namespace or in their groups',
    registers: [registry],
    collect() {
      this.set(marker.size)
    },
  })
}
