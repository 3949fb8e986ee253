import { isDeepStrictEqual } from 'node:util'
import { isClusterReachable, SILENCE_TIMEOUT_MS } from '../../contracts/clusters.ts'
import type { Clock, Timer } from '../../core/clock.ts'
import { messageOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { type KubeObject, type Resource, resourceId } from '../../core/object.ts'
import type { KubeError, KubeErrorReason } from '../../kube/errors.ts'
import type { WatchObserver } from '../../kube/watch.ts'
import type { CachedCluster, CacheView, ClusterListener, LostConnection, OtherClusters, Workspace } from './pass.ts'
import { type ClusterConnection, openWorkspace } from './workspace.ts'

/** A connection through the tunnel of a cluster's agent. */
export type OpenConnection = ClusterConnection & { close(): Promise<void> }

/** @param observer is called when a watch ends */
export type ConnectOtherCluster = (clusterId: string, observer: WatchObserver) => OpenConnection

type OpenCluster = {
  connection: OpenConnection
  workspace: Workspace
  isSynced: boolean
  disposers: (() => void)[]
  /** Id of the tunnel in use, from the cluster's record. */
  tunnel: string | undefined
  silenceTimer: Timer | undefined
  lost: LostConnection | undefined
  /** By type: why it cannot be watched. */
  refused: Map<string, string>
  /** The same as it was told last, and when. */
  told: { sentences: readonly string[]; at: number }
  tellTimer: Timer | undefined
  /** By type: since when the API server has answered that it is unavailable. */
  busy: Map<string, number>
}

/** Errors that do not pass by themselves, unlike those of an API server that is starting or overloaded. */
const REFUSALS: ReadonlySet<KubeErrorReason> = new Set(['Forbidden', 'Unauthorized', 'NotServed', 'Unexpected'])
/** Milliseconds after which an unavailable API server no longer counts as starting. */
const BUSY_TIMEOUT_MS = 60_000
/** Milliseconds between changes of what is told: each is written, and a cluster could refuse and recover all the time. */
const TELL_INTERVAL_MS = 10_000

/**
 * Works on each cluster while its record says that it is reachable. An unreachable cluster costs nothing: its caches
 * are closed, and filled again when it is back. A lost connection is detected by the watches: a timer runs only from
 * the loss of a watch until one is open again.
 */
export class ConnectedClusters implements OtherClusters {
  readonly #connect: ConnectOtherCluster
  readonly #resources: readonly Resource[]
  readonly #clock: Clock
  readonly #log: Log
  readonly #open = new Map<string, OpenCluster>()
  readonly #listeners = new Set<ClusterListener>()
  readonly #lossListeners = new Set<(clusterId: string) => void>()
  #unsubscribe = () => {}

  constructor(
    connect: ConnectOtherCluster,
    resources: readonly Resource[],
    { clock, log }: { clock: Clock; log: Log },
  ) {
    this.#connect = connect
    this.#resources = resources
    this.#clock = clock
    this.#log = log
  }

  start(clusters: CacheView): void {
    this.#unsubscribe = clusters.subscribe(({ type, object }) => this.#follow(object, type === 'removed'))
    for (const object of clusters.list()) this.#follow(object, false)
  }

  async stop(): Promise<void> {
    this.#unsubscribe()
    await Promise.all([...this.#open.keys()].map((clusterId) => this.#close(clusterId)))
  }

  find(clusterId: string): Workspace | undefined {
    const found = this.#open.get(clusterId)
    return found?.isSynced === true ? found.workspace : undefined
  }

  each(listener: ClusterListener): () => void {
    this.#listeners.add(listener)
    for (const [clusterId, open] of this.#open) {
      if (open.isSynced) open.disposers.push(listener(clusterId, open.workspace))
    }
    return () => this.#listeners.delete(listener)
  }

  lost(clusterId: string): LostConnection | undefined {
    return this.#open.get(clusterId)?.lost
  }

  refused(clusterId: string): readonly string[] {
    return this.#open.get(clusterId)?.told.sentences ?? []
  }

  onLost(listener: (clusterId: string) => void): () => void {
    this.#lossListeners.add(listener)
    return () => this.#lossListeners.delete(listener)
  }

  #follow(object: KubeObject, isGone: boolean): void {
    const { metadata, spec, status } = object as CachedCluster
    const state = (status?.state ?? 'AwaitingJoin') as Parameters<typeof isClusterReachable>[0]
    const isWanted = !isGone && !spec.isPlatform && isClusterReachable(state)
    const open = this.#open.get(metadata.name)
    const tunnel = status?.agent?.connection
    if (isWanted && open === undefined) this.#openCluster(metadata.name, tunnel)
    if (isWanted && open !== undefined && open.tunnel !== tunnel) {
      open.tunnel = tunnel
      open.lost = undefined
      this.#scheduleSilenceCheck(metadata.name, open, SILENCE_TIMEOUT_MS)
    }
    if (!isWanted && open !== undefined) {
      this.#close(metadata.name).catch((error: unknown) =>
        this.#log.warn({ clusterId: metadata.name, error: messageOf(error) }, 'A cluster was not left cleanly.'),
      )
    }
  }

  #openCluster(clusterId: string, tunnel: string | undefined): void {
    const connection = this.#connect(clusterId, {
      live: (resource) => {
        open.busy.delete(resourceId(resource))
        this.#recordRefusal(clusterId, open, resource, undefined)
      },
      ended: (resource, error) => {
        if (error !== undefined && this.#isRefusal(open, resource, error))
          this.#recordRefusal(clusterId, open, resource, error.message)
        if (error !== undefined && open.silenceTimer === undefined)
          this.#scheduleSilenceCheck(clusterId, open, SILENCE_TIMEOUT_MS)
      },
    })
    const open: OpenCluster = {
      connection,
      workspace: openWorkspace(connection, this.#resources),
      isSynced: false,
      disposers: [],
      tunnel,
      silenceTimer: undefined,
      lost: undefined,
      refused: new Map(),
      told: { sentences: [], at: Number.NEGATIVE_INFINITY },
      tellTimer: undefined,
      busy: new Map(),
    }
    this.#open.set(clusterId, open)
    this.#scheduleSilenceCheck(clusterId, open, SILENCE_TIMEOUT_MS)
    connection.caches.start()
    connection.caches.whenAllSynced().then(
      () => this.#markSynced(clusterId, open),
      // It was closed before.
      () => {},
    )
  }

  /** Whether an error is a refusal. A transient one is if it lasts: a broken conversion webhook never recovers. */
  #isRefusal({ busy }: OpenCluster, resource: Resource, { reason, status }: KubeError): boolean {
    if (status === 0 || reason === 'Gone') return false
    if (REFUSALS.has(reason)) return true
    const id = resourceId(resource)
    const now = this.#clock.monotonic()
    const since = busy.get(id) ?? now
    busy.set(id, since)
    return now - since >= BUSY_TIMEOUT_MS
  }

  /** Records why a type cannot be watched; undefined clears it. */
  #recordRefusal(clusterId: string, open: OpenCluster, resource: Resource, reason: string | undefined): void {
    const id = resourceId(resource)
    if (this.#open.get(clusterId) !== open || open.refused.get(id) === reason) return
    if (reason === undefined) open.refused.delete(id)
    else open.refused.set(id, reason)
    const wait = Math.max(0, open.told.at + TELL_INTERVAL_MS - this.#clock.monotonic())
    if (wait === 0) this.#tellRefusals(clusterId, open)
    else open.tellTimer ??= this.#clock.setTimeout(() => this.#tellRefusals(clusterId, open), wait)
  }

  #tellRefusals(clusterId: string, open: OpenCluster): void {
    open.tellTimer = undefined
    const sentences = [...open.refused.values()].sort()
    if (this.#open.get(clusterId) !== open || isDeepStrictEqual(sentences, open.told.sentences)) return
    open.told = { sentences, at: this.#clock.monotonic() }
    for (const listener of this.#lossListeners) listener(clusterId)
  }

  /** Checks after a while whether the connection carries anything. */
  #scheduleSilenceCheck(clusterId: string, open: OpenCluster, after: number): void {
    open.silenceTimer?.cancel()
    open.silenceTimer = this.#clock.setTimeout(() => {
      open.silenceTimer = undefined
      const { silence } = open.connection.caches
      if (this.#open.get(clusterId) !== open || silence === 0) return
      if (silence < SILENCE_TIMEOUT_MS) return this.#scheduleSilenceCheck(clusterId, open, SILENCE_TIMEOUT_MS - silence)
      open.lost = { connection: open.tunnel, since: this.#clock.now() - silence }
      this.#log.info({ clusterId, silence }, 'Nothing gets through to the cluster.')
      for (const listener of this.#lossListeners) listener(clusterId)
    }, after)
  }

  #markSynced(clusterId: string, open: OpenCluster): void {
    if (this.#open.get(clusterId) !== open) return
    open.isSynced = true
    for (const listener of this.#listeners) open.disposers.push(listener(clusterId, open.workspace))
    this.#log.info({ clusterId }, 'The cluster can be worked on.')
  }

  async #close(clusterId: string): Promise<void> {
    const open = this.#open.get(clusterId)
    if (open === undefined) return
    this.#open.delete(clusterId)
    open.silenceTimer?.cancel()
    open.tellTimer?.cancel()
    for (const dispose of open.disposers) dispose()
    await open.connection.caches.stopAll()
    await open.connection.close()
    this.#log.info({ clusterId }, 'The cluster is left alone until it can be reached.')
  }
}
