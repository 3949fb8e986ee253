import { Registry } from 'prom-client'
import type { Controller, Workspace } from '../../src/controllers/engine/controller.ts'
import type { Environment } from '../../src/controllers/engine/environment.ts'
import { EngineMetrics } from '../../src/controllers/engine/metrics.ts'
import type { OtherClusters } from '../../src/controllers/engine/pass.ts'
import { Runner, watchesOtherClusters } from '../../src/controllers/engine/runner.ts'
import { cachedResources, openWorkspace } from '../../src/controllers/engine/workspace.ts'
import type { Clock, Timer } from '../../src/core/clock.ts'
import { silentLog } from '../../src/core/log.ts'
import { keyOf, type ObjectRef, type Resource, refOf, resourceId } from '../../src/core/object.ts'
import { CacheSet } from '../../src/kube/caches.ts'
import type { KubeClient, WriteObserver } from '../../src/kube/client.ts'
import { NEVER_SILENT } from '../make/clock.ts'
import type { PlayedApiServer } from './apiServer.ts'
import { type Life, type Mutations, mortal } from './life.ts'

/** The id of the other cluster. */
export const FAR = '4a7f8a52-7a4e-4b52-9a55-0d6c8f3f9b77'

function oneOther(workspace: Workspace): OtherClusters {
  return {
    find: (clusterId) => (clusterId === FAR ? workspace : undefined),
    each: (listener) => listener(FAR, workspace),
    lost: () => undefined,
    refused: () => [],
    onLost: () => () => {},
  }
}

export type OperatorOptions = {
  server: PlayedApiServer
  /** That of the cluster with the id `FAR`. */
  far: PlayedApiServer
  clock: Clock
  life: Life
  newId: () => string
  /** The controllers with ports that die with this process. */
  controllers: readonly Controller[]
}

/** One process of the operator: its own caches, queues and expectations, all lost when it ends. */
export class OperatorProcess {
  readonly life: Life
  readonly #caches: CacheSet
  readonly #farCaches: CacheSet | undefined
  readonly #runners: readonly Runner[]
  readonly #clock: MortalClock

  constructor({ server, far, clock, life, newId, controllers }: OperatorOptions) {
    this.life = life
    this.#clock = new MortalClock(clock)
    const caches = new CacheSet({ client: server, clock: this.#clock, timings: NEVER_SILENT, random: () => 0 })
    this.#caches = caches
    const resources = [...cachedResources(controllers, 'records'), ...cachedResources(controllers, 'workloads')]
    const workspace = openWorkspace({ client: server, caches }, resources)
    // Few flows involve another cluster; the others need no second set of caches.
    const isFar = controllers.some(({ name }) => name === 'boundaryprojection')
    const farCaches = new CacheSet({ client: far, clock: this.#clock, timings: NEVER_SILENT, random: () => 0 })
    const farResources = cachedResources(controllers.filter(watchesOtherClusters), 'workloads')
    const farWorkspace = isFar ? openWorkspace({ client: far, caches: farCaches }, farResources) : undefined
    this.#farCaches = isFar ? farCaches : undefined
    const metrics = new EngineMetrics(new Registry())
    this.#runners = controllers.map((controller) => {
      const client = clientOf(controller.name, server, caches.observer(), life)
      const own: Workspace = { ...workspace, client }
      const environment: Environment = {
        records: own,
        workloads: own,
        ...(farWorkspace !== undefined && {
          others: oneOther({ ...farWorkspace, client: clientOf(controller.name, far, farCaches.observer(), life) }),
        }),
        clock: this.#clock,
        log: silentLog,
        random: () => 0,
        workers: 4,
        newId,
        metrics,
        events: { emit: () => {} },
      }
      return new Runner(controller, environment)
    })
    void life.died.then(() => this.#vanish())
  }

  async start(): Promise<void> {
    this.#caches.start()
    this.#farCaches?.start()
    await Promise.all([this.#caches.whenAllSynced(), this.#farCaches?.whenAllSynced()])
    for (const runner of this.#runners) runner.start()
  }

  /** Resolves when nothing is queued or in progress, or when the process is dead. */
  async whenIdle(): Promise<void> {
    await Promise.race([Promise.all(this.#runners.map((runner) => runner.whenIdle())), this.life.died])
  }

  async stop(): Promise<void> {
    if (this.life.isOver) return
    await Promise.all(this.#runners.map((runner) => runner.stop()))
    this.#vanish()
  }

  #vanish(): void {
    this.#clock.stop()
    void this.#caches.stopAll()
    void this.#farCaches?.stopAll()
  }
}

/** Timers of a process go with it. */
class MortalClock implements Clock {
  readonly #clock: Clock
  readonly #timers = new Set<Timer>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  now(): number {
    return this.#clock.now()
  }

  monotonic(): number {
    return this.#clock.monotonic()
  }

  setTimeout(task: () => void, milliseconds: number): Timer {
    const timer = this.#clock.setTimeout(() => {
      this.#timers.delete(timer)
      task()
    }, milliseconds)
    this.#timers.add(timer)
    return { cancel: () => void (this.#timers.delete(timer) && timer.cancel()) }
  }

  stop(): void {
    for (const timer of this.#timers) timer.cancel()
    this.#timers.clear()
  }
}

const named = (resource: Resource, object: Parameters<typeof keyOf>[0]) => `${resourceId(resource)} ${keyOf(object)}`
const referred = (resource: Resource, { namespace, name }: ObjectRef) =>
  `${resourceId(resource)} ${namespace === undefined ? name : `${namespace}/${name}`}`

/** The client's calls that change something. */
export const API_WRITES: Mutations<KubeClient> = {
  create: (resource, object) => named(resource, object),
  update: (resource, object) => named(resource, object),
  apply: (resource, object) => named(resource, object),
  mergePatch: (resource, ref, _patch, options) =>
    `${referred(resource, ref)}${options?.subresource === undefined ? '' : ` ${options.subresource}`}`,
  remove: (resource, ref) => referred(resource, ref),
  request: ({ method = 'GET', path }) => `${method} ${path}`,
}

/** The client of one controller, which informs the caches of its process of its writes, like the real one. */
function clientOf(by: string, server: PlayedApiServer, caches: WriteObserver, life: Life): KubeClient {
  const telling = new Proxy(server as KubeClient, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target)
      if (typeof value !== 'function') return value
      const call = value.bind(target) as (...args: unknown[]) => unknown
      if (property === 'remove') return removing(server, caches, life)
      if (!['create', 'update', 'apply', 'mergePatch'].includes(String(property))) return call
      return async (resource: Resource, ...args: unknown[]) => {
        const answer = (await call(resource, ...args)) as Parameters<WriteObserver['written']>[1]
        if (!life.isOver) caches.written(resource, answer)
        return answer
      }
    },
  })
  return mortal(telling, API_WRITES, by, life)
}

function removing(server: PlayedApiServer, caches: WriteObserver, life: Life): KubeClient['remove'] {
  return async (resource, ref, options) => {
    const before = await server.peek(resource, ref)
    const left = await server.remove(resource, ref, options)
    if (life.isOver) return left
    if (left !== undefined) caches.written(resource, left)
    else if (before !== undefined) caches.removed(resource, refOf(before), before.metadata.uid)
    return left
  }
}
