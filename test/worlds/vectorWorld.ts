import { Registry } from 'prom-client'
import { FakeQdrant } from '../../src/adapters/qdrant/fake.ts'
import { decodeVectorKeys, type VectorKeys } from '../../src/contracts/vector.ts'
import type { Controller, Workspace } from '../../src/controllers/engine/controller.ts'
import { EngineMetrics } from '../../src/controllers/engine/metrics.ts'
import { type ReconcileResult, Reconciler } from '../../src/controllers/engine/reconcile.ts'
import { cachedResources, openWorkspace } from '../../src/controllers/engine/workspace.ts'
import { vectorController } from '../../src/controllers/vector/index.ts'
import type { VectorOptions } from '../../src/controllers/vector/types.ts'
import type { Condition } from '../../src/core/conditions.ts'
import { BOUNDARY_LABEL, GROUP_LABEL } from '../../src/core/labels.ts'
import { silentLog } from '../../src/core/log.ts'
import { type KubeObject, objectKey, type Resource } from '../../src/core/object.ts'
import type { SecretObject } from '../../src/core/secretData.ts'
import { Boundary } from '../../src/crds/boundaries.ts'
import { PlatformCluster } from '../../src/crds/clusters.ts'
import { ComputePlan } from '../../src/crds/plans.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import { namespace, secret, statefulSet, storageClass } from '../../src/kube/builtin.ts'
import { CacheSet } from '../../src/kube/caches.ts'
import { FakeKubeClient } from '../../src/kube/fake.ts'
import { ManualClock, NEVER_SILENT, settle } from '../make/clock.ts'
import { computePlans, type VectorSpec, vectorCluster } from '../make/vector.ts'
import { KubernetesPlay, type Workload } from './kubernetesPlay.ts'

export const BOUNDARY_ID = '11111111-1111-4111-8111-111111111111'
export const HOME = 'search-0123456789'
export const DOMAIN = 'cloud.example.org'

/** The process ended in the middle of a pass. */
export class Crash extends Error {}

/**
 * A platform in memory with one group, in which the controller of vector databases runs pass by pass. `play` simulates
 * Kubernetes' controllers and nodes for its workloads.
 */
export class VectorWorld {
  readonly engine = new FakeQdrant()
  readonly clock = new ManualClock(Date.UTC(2026, 10, 1))
  readonly client: FakeKubeClient
  readonly caches: CacheSet
  /** Runs after each write of the controller. */
  afterWrite: () => void = () => {}
  #crash: { left: number; mode: 'before' | 'after' } | undefined
  #reconciler: Reconciler | undefined
  #restart: () => Reconciler = () => {
    throw new Error('start() comes first.')
  }
  readonly #options: VectorOptions
  readonly #kubernetes: KubernetesPlay
  #controller: Controller | undefined
  #workspace: Workspace | undefined
  #keys = 0

  constructor(options: Partial<VectorOptions> = {}) {
    const observer = {
      written: (...args: Parameters<ReturnType<CacheSet['observer']>['written']>) =>
        this.caches.observer().written(...args),
      removed: (...args: Parameters<ReturnType<CacheSet['observer']>['removed']>) =>
        this.caches.observer().removed(...args),
    }
    this.client = new FakeKubeClient({
      fieldManager: 'freehold',
      observer,
      now: () => this.clock.now(),
    })
    this.caches = new CacheSet({ client: this.client, clock: this.clock, timings: NEVER_SILENT })
    this.#kubernetes = new KubernetesPlay(this.client)
    this.#options = {
      engine: this.engine,
      allowOwnImages: false,
      generateKey: (version) => this.#key(version),
      ...options,
    }
  }

  async start(): Promise<void> {
    const labels = { [BOUNDARY_LABEL]: BOUNDARY_ID, [GROUP_LABEL]: 'search' }
    this.client.seed(namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: HOME, labels } })
    for (const plan of computePlans()) this.client.seed(ComputePlan.resource, plan as unknown as KubeObject)
    this.#seed(PlatformCluster, '22222222-2222-4222-8222-222222222222', undefined, {
      displayName: 'here',
      region: '',
      domain: DOMAIN,
      isPlatform: true,
    })
    this.#seed(Boundary, BOUNDARY_ID, undefined, { displayName: 'Acme', quota: {}, tags: {} })
    this.#seed(ResourceGroup, 'search', `boundary-${BOUNDARY_ID}`, { quota: {}, tags: {} })
    this.setExpansion(true)
    const controller = vectorController(this.#options)
    const resources = (['records', 'workloads'] as const).flatMap((side) => cachedResources([controller], side))
    const workspace = openWorkspace({ client: this.#fragile(), caches: this.caches }, resources)
    this.#controller = controller
    this.#workspace = workspace
    this.caches.start()
    await this.caches.whenAllSynced()
    const ids = numbers()
    this.#restart = () =>
      new Reconciler(controller, {
        records: workspace,
        workloads: workspace,
        clock: this.clock,
        log: silentLog,
        events: { emit: () => {} },
        metrics: new EngineMetrics(new Registry()),
        workers: 4,
        newId: () => `incarnation-${ids.next().value}`,
        random: () => 0.5,
      })
    this.#reconciler = this.#restart()
  }

  /** The process dies at its n-th write from now on, before it is sent or before its answer arrives. */
  crashAt(write: number, mode: 'before' | 'after'): void {
    this.#crash = { left: write, mode }
  }

  /** Cancels a crash that has not happened yet. */
  steady(): void {
    this.#crash = undefined
  }

  /** True if the crash happened; a new process has started then, without any memory of the old one. */
  async passOrCrash(name = 'products'): Promise<boolean> {
    try {
      await this.pass(name)
      return false
    } catch (error) {
      if (!(error instanceof Crash)) throw error
      this.#reconciler = this.#restart()
      return true
    }
  }

  /** The controller's client, which may end its process at a write. */
  #fragile(): FakeKubeClient {
    const writes = new Set(['create', 'update', 'mergePatch', 'apply', 'remove'])
    return new Proxy(this.client, {
      get: (target, property) => {
        const value: unknown = Reflect.get(target, property, target)
        if (typeof value !== 'function') return value
        const call = value.bind(target) as (...args: unknown[]) => Promise<unknown>
        return writes.has(String(property)) ? (...args: unknown[]) => this.#write(() => call(...args)) : call
      },
    })
  }

  async #write(send: () => Promise<unknown>): Promise<unknown> {
    const dies = this.#crash !== undefined && this.#crash.left-- === 0
    if (dies && this.#crash?.mode === 'before') throw new Crash()
    const answer = await send()
    this.afterWrite()
    if (dies) throw new Crash()
    return answer
  }

  /** The keys of the objects that a change of this one enqueues, beside owners of children. */
  woken(resource: Resource, object: KubeObject): string[] {
    const [controller, workspace] = [this.#controller, this.#workspace]
    if (controller === undefined || workspace === undefined) throw new Error('start() comes first.')
    return controller.observes
      .flatMap((entry) => ('resource' in entry && entry.resource.plural === resource.plural ? [entry.keysOf] : []))
      .flatMap((keysOf) => keysOf(object, workspace))
      .sort()
  }

  /** The keys that each running pod accepts. */
  get accepted(): ReadonlyMap<string, readonly string[]> {
    return this.#kubernetes.accepted
  }

  /** Pods that could not start because an entry of the Secret was missing. */
  get broken(): readonly string[] {
    return this.#kubernetes.broken
  }

  /** One round of Kubernetes. True if anything changed. */
  play(only?: readonly number[]): Promise<boolean> {
    return this.#kubernetes.play(only)
  }

  async stop(): Promise<void> {
    await this.caches.stopAll()
  }

  setExpansion(allowed: boolean): void {
    const metadata = { name: 'standard' }
    this.client.seed(storageClass, {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata,
      allowVolumeExpansion: allowed,
    })
  }

  /** As kubectl would create it: without incarnation or finalizer. */
  async create(spec: Partial<VectorSpec> = {}, name = 'products'): Promise<void> {
    const { uid: _, resourceVersion: _version, annotations: _annotations, ...metadata } = vectorCluster(spec).metadata
    const object = { ...vectorCluster(spec), metadata: { ...metadata, name } }
    await this.client.create(VectorCluster.resource, object as unknown as KubeObject)
    await settle()
  }

  async change(spec: Partial<VectorSpec>, name = 'products'): Promise<void> {
    this.client.edit(VectorCluster.resource, { namespace: HOME, name }, (object) =>
      Object.assign(object.spec as object, spec),
    )
    await settle()
  }

  /** One pass. */
  async pass(name = 'products'): Promise<ReconcileResult> {
    await settle()
    const verdict = await this.#reconciler?.reconcile(objectKey(HOME, name))
    await settle()
    if (verdict === undefined) throw new Error('start() comes first.')
    if (verdict.kind === 'failed') throw verdict.error.cause
    return verdict
  }

  /** Passes, and Kubernetes' reactions between them, until nothing changes any more. */
  async converge(name = 'products', rounds = 12): Promise<void> {
    for (let round = 0; round < rounds; round += 1) {
      const before = this.writes()
      const verdict = await this.pass(name)
      const played = await this.play()
      const again = verdict.kind === 'conflict' || (verdict.kind === 'settled' && verdict.after === 1)
      if (!again && !played && this.writes() === before) return
    }
  }

  writes(): number {
    return this.client.calls.filter(({ verb }) => !['get', 'list', 'watch'].includes(verb)).length
  }

  async object<T extends KubeObject>(resource: Resource, name: string, home: string | undefined = HOME) {
    try {
      return await this.client.get<T>(resource, { namespace: home, name })
    } catch {
      return undefined
    }
  }

  async cluster(name = 'products'): Promise<VectorCluster> {
    return (await this.client.get(VectorCluster.resource, { namespace: HOME, name })) as unknown as VectorCluster
  }

  /** `phase: message` as people read it. */
  async says(name = 'products'): Promise<string> {
    const { status } = await this.cluster(name)
    const conditions = (status?.conditions ?? []) as Condition[]
    const ready = conditions.find(({ type }) => type === 'Ready')
    return `${status?.status} ${ready?.reason}: ${ready?.message}`
  }

  async workload(name = 'vc-products'): Promise<Workload | undefined> {
    return this.object<Workload>(statefulSet, name)
  }

  async storedKeys(): Promise<VectorKeys | undefined> {
    const found = await this.object<SecretObject>(secret, 'vc-products-apikey')
    return decodeVectorKeys(found?.data)
  }

  async names(resource: Resource): Promise<string[]> {
    const { items } = await this.client.list(resource)
    return items.map(({ metadata }) => metadata.name).sort()
  }

  #key(version: number) {
    this.#keys += 1
    return { version, id: `id-${this.#keys}`, apiKey: `full-${this.#keys}`, readOnlyApiKey: `read-${this.#keys}` }
  }

  #seed(kind: { resource: Resource }, name: string, home: string | undefined, spec: object): void {
    const metadata = { name, ...(home === undefined ? {} : { namespace: home }) }
    this.client.seed(kind.resource, { apiVersion: '', kind: '', metadata, spec })
  }
}

function* numbers(): Generator<number, number> {
  for (let next = 1; ; next += 1) yield next
}
