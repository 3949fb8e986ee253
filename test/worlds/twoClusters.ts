import { clusterController } from '../../src/controllers/clusters.ts'
import type { Controller } from '../../src/controllers/engine/controller.ts'
import type { LostConnection } from '../../src/controllers/engine/pass.ts'
import { cachedResources, openWorkspace } from '../../src/controllers/engine/workspace.ts'
import { projectionController } from '../../src/controllers/projections.ts'
import type { GroupOptions } from '../../src/controllers/resourcegroups.ts'
import { FINALIZER, INCARNATION_ANNOTATION } from '../../src/core/labels.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { PlatformCluster } from '../../src/crds/clusters.ts'
import { BoundaryProjection } from '../../src/crds/projections.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import {
  limitRange,
  namespace,
  networkPolicy,
  persistentVolumeClaim,
  resourceQuota,
  roleBinding,
} from '../../src/kube/builtin.ts'
import { CacheSet } from '../../src/kube/caches.ts'
import { FakeKubeClient } from '../../src/kube/fake.ts'
import { ControllerBench } from './controllers.ts'

export const FAR = '4a7f8a52-7a4e-4b52-9a55-0d6c8f3f9b77'

type Shown = KubeObject & {
  status?: {
    state?: string
    status?: string
    phase?: string
    statusMessage?: string
    nodeCount?: number
    capabilities?: string[]
    resolvedNamespaces?: { namespace: string; state: string; message?: string }[]
  }
}

/** The platform's own cluster in memory, and another one. */
export class TwoClusters {
  readonly far: FakeKubeClient
  readonly bench: ControllerBench
  readonly outer: string
  readonly home: string
  readonly #caches: CacheSet
  readonly #losses: ((clusterId: string) => void)[] = []
  #lost: LostConnection | undefined
  #refused: readonly string[] = []

  /** @param others controllers that run beside those of clusters and projections */
  constructor(others: readonly Controller[] = [], options: GroupOptions = {}) {
    const controllers = [clusterController, projectionController(options), ...others]
    const late: { caches?: CacheSet } = {}
    this.far = new FakeKubeClient({
      now: () => Date.UTC(2026, 0, 1),
      observer: {
        written: (resource, object) => late.caches?.observer().written(resource, object),
        removed: (resource, ref, uid) => {
          late.caches?.observer().removed(resource, ref, uid)
          if (resource === namespace) void this.#empty(ref.name)
        },
      },
    })
    this.#caches = new CacheSet({ client: this.far, random: () => 0 })
    late.caches = this.#caches
    const workspace = openWorkspace(
      { client: this.far, caches: this.#caches },
      cachedResources(controllers, 'workloads'),
    )
    this.bench = new ControllerBench(controllers, {
      others: {
        find: (clusterId) => (clusterId === FAR && this.#refused.length === 0 ? workspace : undefined),
        each: (listener) => listener(FAR, workspace),
        lost: () => this.#lost,
        refused: () => this.#refused,
        onLost: (listener) => {
          this.#losses.push(listener)
          return () => {}
        },
      },
    })
    const { boundarySpace, groupSpace } = this.bench.seedGroup('shop')
    this.outer = boundarySpace
    this.home = groupSpace
    const annotations = { [INCARNATION_ANNOTATION]: 'of-the-group' }
    this.bench.seed(ResourceGroup, 'shop', { quota: {}, tags: {} }, { namespace: boundarySpace, annotations })
  }

  /** Another group of the boundary. @returns its namespace */
  group(name: string, quota: object = {}): string {
    const { groupSpace } = this.bench.seedGroup(name)
    const annotations = { [INCARNATION_ANNOTATION]: `of-${name}` }
    this.bench.seed(ResourceGroup, name, { quota, tags: {} }, { namespace: this.outer, annotations })
    return groupSpace
  }

  /** As the namespace controller there does it. */
  async #empty(space: string): Promise<void> {
    for (const resource of [networkPolicy, roleBinding, limitRange, resourceQuota]) {
      const { items } = await this.far.list(resource, { namespace: space })
      for (const { metadata } of items) await this.far.remove(resource, { namespace: space, name: metadata.name })
    }
  }

  /** The connection with this id transfers nothing any more. */
  lose(connection: string): void {
    this.#lost = { connection, since: this.bench.clock.now() }
    for (const tell of this.#losses) tell(FAR)
  }

  /** The cluster permanently refuses a watch that we need. */
  refuse(...sentences: readonly string[]): void {
    this.#refused = sentences
    for (const tell of this.#losses) tell(FAR)
  }

  async start(): Promise<void> {
    this.#caches.start()
    await this.#caches.whenAllSynced()
    await this.bench.start()
  }

  async stop(): Promise<void> {
    await this.bench.stop()
    await this.#caches.stopAll()
  }

  cluster(agent: object = {}, spec: object = {}): void {
    const now = new Date(this.bench.clock.now()).toISOString()
    this.bench.client.seed(PlatformCluster.resource, {
      apiVersion: PlatformCluster.apiVersion,
      kind: PlatformCluster.kind,
      metadata: { name: FAR, annotations: { [INCARNATION_ANNOTATION]: 'of-far' }, finalizers: [FINALIZER] },
      spec: { displayName: 'Far', domain: 'far.example.org', isPlatform: false, region: '', ...spec },
      status: { agent: { joinedAt: '2020-01-01T00:00:00Z', lastSeenAt: now, ...agent } },
    })
  }

  project(spec: object = {}): void {
    this.bench.seed(BoundaryProjection, FAR, { clusterId: FAR, ...spec }, { namespace: this.outer })
  }

  async revoke(): Promise<void> {
    const spec = { revokedAt: '2026-01-01T00:00:00Z' }
    await this.bench.client.mergePatch(PlatformCluster.resource, { name: FAR }, { spec })
    await this.bench.rest()
  }

  /**
   * The boundary is removed from the cluster while that is revoked, and projected there again once it has joined again.
   */
  async projectAgain(meanwhile = async () => {}): Promise<void> {
    await this.revoke()
    await this.bench.client.remove(BoundaryProjection.resource, { namespace: this.outer, name: FAR })
    await this.bench.rest()
    await meanwhile()
    const status = { agent: { joinedAt: '2026-01-02T00:00:00Z', connection: 'second' } }
    await this.bench.client.mergePatch(PlatformCluster.resource, { name: FAR }, { status }, { subresource: 'status' })
    await this.bench.rest()
    this.project()
    await this.bench.rest()
  }

  /** Its volume, which remains when its StatefulSet is removed. */
  volume(annotations: Record<string, string> = {}): void {
    const metadata = { name: 'storage-vect-search-0', namespace: this.home, annotations }
    this.far.seed(persistentVolumeClaim, { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata })
  }

  async says(kind: typeof PlatformCluster | typeof BoundaryProjection): Promise<Shown['status'] & object> {
    const found = await this.bench.find<Shown>(kind.resource, FAR, kind.resource.namespaced ? this.outer : undefined)
    return found?.status ?? {}
  }

  async namespaces(): Promise<string[]> {
    return (await this.far.list(namespace)).items.map(({ metadata }) => metadata.name)
  }
}
