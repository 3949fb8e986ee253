import { isReachable } from '../../contracts/clusters.ts'
import { messageOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { KubeObject, Resource } from '../../core/object.ts'
import type { CachedCluster, CacheView, ClusterListener, OtherClusters, Workspace } from './pass.ts'
import { type ClusterConnection, openWorkspace } from './workspace.ts'

/** A connection through the tunnel of a cluster's agent. */
export type OpenConnection = ClusterConnection & { close(): Promise<void> }

type Open = { connection: OpenConnection; workspace: Workspace; isSynced: boolean; ends: (() => void)[] }

/**
 * Works on each cluster while its record says that it can be reached: the state is the only thing followed here. One that
 * is offline costs nothing: its caches are closed, and filled anew when it is back.
 */
export class FollowedClusters implements OtherClusters {
  readonly #connect: (clusterId: string) => OpenConnection
  readonly #resources: readonly Resource[]
  readonly #log: Log
  readonly #open = new Map<string, Open>()
  readonly #listeners = new Set<ClusterListener>()
  #unsubscribe = () => {}

  constructor(connect: (clusterId: string) => OpenConnection, resources: readonly Resource[], log: Log) {
    this.#connect = connect
    this.#resources = resources
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
      if (open.isSynced) open.ends.push(listener(clusterId, open.workspace))
    }
    return () => this.#listeners.delete(listener)
  }

  #follow(object: KubeObject, isGone: boolean): void {
    const { metadata, spec, status } = object as CachedCluster
    const state = (status?.state ?? 'AwaitingJoin') as Parameters<typeof isReachable>[0]
    const isWanted = !isGone && !spec.isPlatform && isReachable(state)
    const isOpen = this.#open.has(metadata.name)
    if (isWanted && !isOpen) this.#begin(metadata.name)
    if (!isWanted && isOpen) {
      this.#close(metadata.name).catch((error: unknown) =>
        this.#log.warn({ clusterId: metadata.name, error: messageOf(error) }, 'A cluster was not left cleanly.'),
      )
    }
  }

  #begin(clusterId: string): void {
    const connection = this.#connect(clusterId)
    const open: Open = {
      connection,
      workspace: openWorkspace(connection, this.#resources),
      isSynced: false,
      ends: [],
    }
    this.#open.set(clusterId, open)
    connection.caches.start()
    connection.caches.whenAllSynced().then(
      () => this.#synced(clusterId, open),
      // It was closed before.
      () => {},
    )
  }

  #synced(clusterId: string, open: Open): void {
    if (this.#open.get(clusterId) !== open) return
    open.isSynced = true
    for (const listener of this.#listeners) open.ends.push(listener(clusterId, open.workspace))
    this.#log.info({ clusterId }, 'The cluster can be worked on.')
  }

  async #close(clusterId: string): Promise<void> {
    const open = this.#open.get(clusterId)
    if (open === undefined) return
    this.#open.delete(clusterId)
    for (const end of open.ends) end()
    await open.connection.caches.stopAll()
    await open.connection.close()
    this.#log.info({ clusterId }, 'The cluster is left alone until it can be reached.')
  }
}
