import { isDeepStrictEqual } from 'node:util'
import { BOUNDARY_LABEL, GROUP_LABEL } from '../../core/labels.ts'
import { type KubeObject, keyOf, type Resource, refOfKey, resourceId } from '../../core/object.ts'
import { onBehalfOf } from '../../core/origin.ts'
import { namespace, secret, secretMetadata } from '../../kube/builtin.ts'
import type { CacheEvent } from '../../kube/cache.ts'
import { KeyedQueue } from '../../kube/queue.ts'
import type { Controller, Observed, Workspace } from './controller.ts'
import type { Environment } from './environment.ts'
import { occupantId } from './interruptions.ts'
import type { PassResult } from './metrics.ts'
import { boundaryOfKey, dependsOnNamespace } from './objectScope.ts'
import { OrphanCollector } from './orphanCollector.ts'
import { OtherClusterPassLimit } from './otherClusterPassLimit.ts'
import { ownerKeyOf } from './ownership.ts'
import { type ReconcileResult, Reconciler } from './reconcile.ts'
import { resourceOf, workspaceNameOf } from './workspace.ts'

/** Milliseconds until a key whose own writes are not in the cache yet is checked again if no event arrives. */
const CACHE_LAG_RETRY_MS = 1_000

/**
 * Runs one controller: watch events become keys, keys become passes.
 *
 *   cache of the kind ──────────┐
 *   caches of children ─owner──>├─ keys ─> queue ─> workers ─> Reconciler ─> verdict ─> forget | add after | backoff
 *   caches of others ──keysOf──>┘                                                              (one switch)
 */
export class Runner {
  readonly #controller: Controller
  readonly #environment: Environment
  readonly #reconciler: Reconciler
  readonly #queue: KeyedQueue
  readonly #orphans: OrphanCollector
  readonly #passLimit: OtherClusterPassLimit
  readonly #subscriptions: (() => void)[] = []

  constructor(controller: Controller, environment: Environment) {
    const { clock, log, metrics, random, workers } = environment
    const { name } = controller
    this.#controller = controller
    this.#environment = environment
    this.#reconciler = new Reconciler(controller, environment)
    this.#orphans = new OrphanCollector(controller, environment)
    this.#queue = new KeyedQueue({
      name,
      workers,
      clock,
      log,
      random,
      partyOf: (key) => this.#partyOf(key),
      handle: (key) => this.#handle(key),
      onPass: (pass) => metrics.queuePass(pass),
    })
    this.#passLimit = new OtherClusterPassLimit(workers, (key) => this.#queue.add(key))
    metrics.watch(name, this.#queue, workers)
  }

  /** Starts with every object. The caches must be synced: an empty cache would look as if everything was deleted. */
  start(): void {
    const { records } = this.#environment
    const { kind } = this.#controller
    this.#subscriptions.push(
      records.cache(kind.resource).subscribe((event) => this.#queue.add(keyOf(event.object), isUserChange(event))),
      ...this.#controller.observes.map((observed) => this.#observe(observed)),
      this.#controller.onConfigurationChange(() => {
        for (const object of records.cache(kind.resource).list()) this.#queue.add(keyOf(object))
      }),
      ...this.#controller.observes.map((observed) => this.#awaitType(observed)),
    )
    if (watchesOtherClusters(this.#controller)) {
      this.#subscriptions.push(
        this.#observeOthers(),
        this.#environment.others?.onLost((clusterId) => this.#wakeCluster(clusterId)) ?? (() => {}),
      )
    }
    if (dependsOnNamespace(kind)) {
      this.#subscriptions.push(records.cache(namespace).subscribe((event) => this.#namespaceChanged(event)))
    }
    for (const object of records.cache(kind.resource).list()) this.#queue.add(keyOf(object))
    this.#queue.start()
  }

  /** Accepts no more keys and resolves when the running passes have ended. */
  async stop(): Promise<void> {
    for (const unsubscribe of this.#subscriptions.splice(0)) unsubscribe()
    await this.#queue.shutDown()
  }

  /** Number of keys with stored state, by its type. */
  get remembered(): Readonly<Record<string, number>> {
    const { depth, delayed, working, failing } = this.#queue.metrics()
    return { ...this.#reconciler.remembered, depth, delayed, working, failing }
  }

  whenIdle(): Promise<void> {
    return this.#queue.whenIdle()
  }

  /** Observes each other cluster like the platform's own, while it is reachable. */
  #observeOthers(): () => void {
    const { observes, childrenIn } = this.#controller
    const inWorkloads = observes.filter((observed) => workspaceNameOf(observed, childrenIn) === 'workloads')
    return (
      this.#environment.others?.each((clusterId, workspace) => {
        const unsubscribes = inWorkloads.flatMap((observed) => [
          this.#observe(observed, workspace, clusterId),
          this.#awaitType(observed, workspace),
        ])
        this.#wakeCluster(clusterId)
        for (const key of this.#orphans.opened(clusterId, workspace)) this.#queue.add(key)
        return () => {
          for (const unsubscribe of unsubscribes) unsubscribe()
          this.#orphans.closed(clusterId)
          this.#wakeCluster(clusterId)
        }
      }) ?? (() => {})
    )
  }

  /** Keys of other clusters take turns of their own, so that a slow cluster does not delay the boundary's work here. */
  #partyOf(key: string): string | undefined {
    const [boundaryId, clusterId] = [this.#boundaryOf(key), this.#clusterOf(key)]
    return clusterId === undefined ? boundaryId : `${boundaryId} in ${clusterId}`
  }

  #boundaryOf(key: string): string | undefined {
    return boundaryOfKey(this.#controller.kind, key, this.#environment.records.cache(namespace))
  }

  /** Returns the other cluster that the object is in. */
  #clusterOf(key: string): string | undefined {
    const { clusterOf, kind } = this.#controller
    if (clusterOf === undefined) return undefined
    const { records } = this.#environment
    const { namespace, name } = refOfKey(key)
    const object = records.cache(kind.resource).get(namespace, name)
    return object && clusterOf(object, records)
  }

  /** Attributes API calls to the boundary, whose calls in flight are limited across all kinds. */
  #handle(key: string): Promise<void> {
    const caller = this.#boundaryOf(key)
    return onBehalfOf(caller === undefined ? undefined : { caller }, () => this.#work(key))
  }

  #wakeCluster(clusterId: string): void {
    for (const object of this.#environment.records.cache(this.#controller.kind.resource).list()) {
      if (!this.#isIn(clusterId, object)) continue
      this.#reconciler.lost(keyOf(object))
      this.#queue.add(keyOf(object))
    }
  }

  #isIn(clusterId: string, object: KubeObject): boolean {
    const { clusterOf = nameOfRecord } = this.#controller
    return clusterOf(object, this.#environment.records) === clusterId
  }

  /** A cluster may name any object in its events: it wakes only its own, and those that are gone. */
  #wake(key: string, clusterId: string | undefined): void {
    const { namespace, name } = refOfKey(key)
    const object = this.#environment.records.cache(this.#controller.kind.resource).get(namespace, name)
    if (clusterId === undefined || object === undefined || this.#isIn(clusterId, object)) this.#queue.add(key)
  }

  #observe(
    observed: Observed,
    workspace: Workspace = this.#environment[workspaceNameOf(observed, this.#controller.childrenIn)],
    clusterId?: string,
  ): () => void {
    const { records } = this.#environment
    if ('resource' in observed) {
      const { relevant, wakesOnCreate = true } = observed
      const wakeKeys = ({ type, object, previous }: CacheEvent<KubeObject>) => {
        if (type === 'added' && !wakesOnCreate) return
        if (relevant && previous && isDeepStrictEqual(relevant(previous), relevant(object))) return
        for (const key of observed.keysOf(object, records, clusterId)) this.#wake(key, clusterId)
      }
      const isMetadata = resourceId(observed.resource) === resourceId(secretMetadata)
      if (isMetadata) return workspace.subscribeSecretMetadata(wakeKeys)
      return workspace.cache(observed.resource).subscribe(wakeKeys)
    }
    const onEvent = (event: CacheEvent<KubeObject>) => this.#childChanged(event, observed, clusterId)
    const isSecret = resourceId(observed) === resourceId(secret)
    if (!isSecret) return workspace.cache(observed).subscribe(onEvent)
    const unsubscribe = workspace.subscribeSecrets(onEvent)
    // Earlier passes asked the API server for Secrets; no watch has reported later deletions.
    const forget = workspace.onSecretsSynced((name) => this.#wakeNamespace(name))
    return () => {
      unsubscribe()
      forget()
    }
  }

  #wakeNamespace(name: string): void {
    const objects = this.#environment.records.cache(this.#controller.kind.resource).list({ namespace: name })
    for (const object of objects) this.#queue.add(keyOf(object))
  }

  /** Wakes every object when an optional type appears or disappears, because any may have waited for it. */
  #awaitType(
    observed: Observed,
    workspace: Workspace = this.#environment[workspaceNameOf(observed, this.#controller.childrenIn)],
  ): () => void {
    const { kind } = this.#controller
    const { records } = this.#environment
    return workspace.onServed(resourceOf(observed), () => {
      for (const object of records.cache(kind.resource).list()) this.#queue.add(keyOf(object))
    })
  }

  #childChanged({ type, object }: CacheEvent<KubeObject>, child: Resource, clusterId: string | undefined): void {
    const key = ownerKeyOf(object, this.#controller.kind.resource)
    if (key !== undefined) this.#wake(key, clusterId)
    if (type !== 'removed') return
    for (const waitingKey of this.#reconciler.freedBy(occupantId(child, object))) this.#wake(waitingKey, clusterId)
  }

  /** A namespace's labels place its objects. Its other changes are frequent and irrelevant here. */
  #namespaceChanged(event: CacheEvent<KubeObject>): void {
    if (event.type === 'modified' && isSameScope(event.object, event.previous)) return
    this.#wakeNamespace(event.object.metadata.name)
  }

  #work(key: string): Promise<void> {
    return this.#passLimit.take(this.#clusterOf(key), key, () => this.#pass(key))
  }

  async #pass(key: string): Promise<void> {
    const { clock, metrics } = this.#environment
    const started = clock.monotonic()
    const verdict = await this.#reconciler.reconcile(key)
    if (verdict.kind === 'gone' || verdict.kind === 'settled') await this.#orphans.remove(key)
    metrics.reconciled(this.#controller.name, resultOf(verdict), (clock.monotonic() - started) / 1000)
    this.#applyVerdict(key, verdict)
  }

  #applyVerdict(key: string, verdict: ReconcileResult): void {
    switch (verdict.kind) {
      case 'settled':
        this.#queue.forget(key)
        if (verdict.after !== undefined) this.#queue.addAfter(key, verdict.after)
        return
      case 'gone':
        this.#queue.drop(key)
        return
      case 'behind':
        this.#queue.addAfter(key, CACHE_LAG_RETRY_MS)
        return
      case 'conflict':
        // Use backoff, because two writers in conflict would otherwise loop as fast as the server responds.
        this.#queue.addRateLimited(key)
        return
      case 'failed':
        // The queue logs it, counts it and retries with backoff.
        throw verdict.error
    }
  }
}

/** Whether a controller runs workloads on other clusters, or reports on them. */
export function watchesOtherClusters({ clusterOf, watchesOtherClusters: isObserver }: Controller): boolean {
  return clusterOf !== undefined || isObserver
}

const nameOfRecord = (object: object) => (object as KubeObject).metadata.name

function resultOf(verdict: ReconcileResult): PassResult {
  switch (verdict.kind) {
    case 'settled':
      return verdict.after === undefined ? 'success' : 'requeue_after'
    case 'gone':
      return 'success'
    case 'behind':
      return 'requeue_after'
    case 'conflict':
      return 'requeue'
    case 'failed':
      return 'error'
  }
}

/** Whether somebody created, changed or deleted the object and waits for the result; our status writes do not count. */
function isUserChange(event: CacheEvent<KubeObject>): boolean {
  if (event.type !== 'modified') return true
  const { generation, deletionTimestamp } = event.object.metadata
  const before = event.previous.metadata
  return generation !== before.generation || deletionTimestamp !== before.deletionTimestamp
}

function isSameScope(next: KubeObject, previous: KubeObject): boolean {
  const { labels, deletionTimestamp } = next.metadata
  const before = previous.metadata
  return (
    labels?.[BOUNDARY_LABEL] === before.labels?.[BOUNDARY_LABEL] &&
    labels?.[GROUP_LABEL] === before.labels?.[GROUP_LABEL] &&
    deletionTimestamp === before.deletionTimestamp
  )
}
