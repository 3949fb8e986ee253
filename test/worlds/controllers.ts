import { Registry } from 'prom-client'
import type { Controller } from '../../src/controllers/engine/controller.ts'
import type { Environment } from '../../src/controllers/engine/environment.ts'
import { EngineMetrics } from '../../src/controllers/engine/metrics.ts'
import type { OtherClusters } from '../../src/controllers/engine/pass.ts'
import { Runner } from '../../src/controllers/engine/runner.ts'
import { cachedResources, openWorkspace } from '../../src/controllers/engine/workspace.ts'
import { INCARNATION_ANNOTATION } from '../../src/core/labels.ts'
import type { Log } from '../../src/core/log.ts'
import { silentLog } from '../../src/core/log.ts'
import { boundaryNamespaceObject, groupNamespaceObject } from '../../src/core/namespaces.ts'
import { type KubeObject, keyOf, type Resource } from '../../src/core/object.ts'
import { Boundary } from '../../src/crds/boundaries.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { namespace } from '../../src/kube/builtin.ts'
import { CacheSet } from '../../src/kube/caches.ts'
import type { WatchStreamOptions } from '../../src/kube/client.ts'
import { FakeKubeClient } from '../../src/kube/fake.ts'
import { ManualClock, NEVER_SILENT, settle } from '../make/clock.ts'

export const BOUNDARY_ID = '3d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b01'

export type SaidEvent = { key: string; type: string; reason: string; note: string }

/** An API server in memory, real caches and queues, and a stopped clock. */
export class ControllerBench {
  readonly clock = new ManualClock()
  readonly client: FakeKubeClient
  readonly events: SaidEvent[] = []
  readonly registry = new Registry()
  readonly environment: Environment
  readonly #caches: CacheSet
  readonly #runners: Runner[]

  /**
   * @param telling whether caches learn of own writes at once, as in a real process; otherwise only from their watch
   */
  constructor(
    controllers: readonly Controller[],
    {
      telling = true,
      log = silentLog,
      workers = 4,
      others,
    }: {
      telling?: boolean
      log?: Log
      workers?: number
      /** Other clusters, by id. */
      others?: OtherClusters
    } = {},
  ) {
    this.client = new FakeKubeClient({
      now: () => this.clock.now(),
      observer: {
        written: (resource, object) => telling && this.#caches.observer().written(resource, object),
        removed: (resource, ref, uid) => telling && this.#caches.observer().removed(resource, ref, uid),
      },
    })
    this.#caches = new CacheSet({ client: this.client, clock: this.clock, timings: NEVER_SILENT, random: () => 0 })
    const resources = [...cachedResources(controllers, 'records'), ...cachedResources(controllers, 'workloads')]
    const workspace = openWorkspace({ client: this.client, caches: this.#caches }, resources)
    let ids = 0
    this.environment = {
      records: workspace,
      workloads: workspace,
      ...(others !== undefined && { others }),
      clock: this.clock,
      log,
      random: () => 0,
      workers,
      newId: () => `incarnation-${++ids}`,
      metrics: new EngineMetrics(this.registry),
      events: { emit: (about, event) => void this.events.push({ key: keyOf(about), ...event }) },
    }
    this.#runners = controllers.map((controller) => new Runner(controller, this.environment))
  }

  /** Fills the caches and starts working on the seeded objects. */
  async start(): Promise<void> {
    this.#caches.start()
    await this.#caches.whenAllSynced()
    for (const runner of this.#runners) runner.start()
    await this.rest()
  }

  /**
   * Fills the caches and lets them become stale: no watch event arrives any more. For tests that run passes themselves.
   */
  async freeze(): Promise<void> {
    this.#caches.start()
    await this.#caches.whenAllSynced()
    await this.#caches.stopAll()
  }

  /** Before `start`: the caches of these resources receive no changes until the returned function is called. */
  holdBack(...held: readonly Resource[]): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { client } = this
    const watch = client.watchStream.bind(client)
    client.watchStream = async function* <T extends KubeObject>(resource: Resource, options: WatchStreamOptions) {
      for await (const event of watch<T>(resource, options)) {
        if (event.type !== 'BOOKMARK' && held.includes(resource)) await promise
        yield event
      }
    }
    return resolve
  }

  /** Until no key is queued or in progress and every watch event was delivered. Timers do not fire. */
  async rest(): Promise<void> {
    for (let quiet = 0, calls = -1; quiet < 2; ) {
      await settle()
      await Promise.all(this.#runners.map((runner) => runner.whenIdle()))
      quiet = this.client.calls.length === calls ? quiet + 1 : 0
      calls = this.client.calls.length
    }
  }

  /** The number of keys that the engine stores, by purpose. */
  remembered(): Record<string, number> {
    const sums: Record<string, number> = {}
    for (const { remembered } of this.#runners)
      for (const [what, count] of Object.entries(remembered)) sums[what] = (sums[what] ?? 0) + count
    return sums
  }

  async stop(): Promise<void> {
    await Promise.all(this.#runners.map((runner) => runner.stop()))
    await this.#caches.stopAll()
  }

  /** Verb, resource and key of the calls since the last look, without those of watches. */
  writes(): string[] {
    const made = this.client.calls.filter(({ verb }) => verb !== 'watch' && verb !== 'list')
    const news = made
      .slice(this.#looked)
      .map(({ verb, resource, key, subresource }) =>
        [verb, subresource === undefined ? resource : `${resource}/${subresource}`, key].join(' '),
      )
    this.#looked = made.length
    return news
  }

  #looked = 0

  async find<T extends KubeObject = KubeObject>(
    resource: Resource,
    name: string,
    space?: string,
  ): Promise<T | undefined> {
    const { items } = await this.client.list<T>(resource)
    return items.find(({ metadata }) => metadata.name === name && metadata.namespace === space)
  }

  seed(kind: AnyKind, name: string, spec: object, metadata: Partial<KubeObject['metadata']> = {}): KubeObject {
    return this.client.seed(kind.resource, {
      apiVersion: kind.apiVersion,
      kind: kind.kind,
      metadata: { name, ...metadata },
      spec,
    })
  }

  /** The boundary's and the group's namespaces as their controllers create them. */
  seedGroup(group: string): { boundarySpace: string; groupSpace: string } {
    const boundary = this.seed(
      Boundary,
      BOUNDARY_ID,
      { displayName: 'Shop', quota: {}, tags: {} },
      { annotations: { [INCARNATION_ANNOTATION]: 'of-the-boundary' } },
    )
    const outer = this.client.seed(namespace, boundaryNamespaceObject(boundary))
    const inner = this.client.seed(namespace, groupNamespaceObject(BOUNDARY_ID, group, 'of-the-group'))
    return { boundarySpace: outer.metadata.name, groupSpace: inner.metadata.name }
  }
}
