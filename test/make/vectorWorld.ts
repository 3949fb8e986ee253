import { Registry } from 'prom-client'
import { FakeQdrant } from '../../src/adapters/qdrant/fake.ts'
import { EngineMetrics } from '../../src/controllers/engine/metrics.ts'
import { Reconciler, type Verdict } from '../../src/controllers/engine/reconcile.ts'
import { cachedResources, openWorkspace } from '../../src/controllers/engine/workspace.ts'
import { vectorController } from '../../src/controllers/vector/index.ts'
import type { VectorOptions } from '../../src/controllers/vector/types.ts'
import type { Condition } from '../../src/core/conditions.ts'
import { BOUNDARY_LABEL, GROUP_LABEL } from '../../src/core/labels.ts'
import { silentLog } from '../../src/core/log.ts'
import { type KubeObject, objectKey } from '../../src/core/object.ts'
import { decodeVectorKeys, type VectorKeys } from '../../src/core/vector.ts'
import { Boundary } from '../../src/crds/boundaries.ts'
import { PlatformCluster } from '../../src/crds/clusters.ts'
import { ComputePlan } from '../../src/crds/plans.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import { namespace, persistentVolumeClaim, pod, secret, statefulSet, storageClass } from '../../src/kube/builtin.ts'
import { CacheSet } from '../../src/kube/caches.ts'
import { FakeKubeClient } from '../../src/kube/fake.ts'
import { ManualClock, settle } from './clock.ts'
import { computePlans, type VectorSpec, vectorCluster } from './vector.ts'

export const BOUNDARY_ID = '11111111-1111-4111-8111-111111111111'
export const HOME = 'search-0123456789'
export const DOMAIN = 'cloud.example.org'

type Workload = KubeObject & {
  spec: { replicas: number; template: { metadata: { annotations: Record<string, string> } } }
}

type Variable = { name: string; valueFrom?: { secretKeyRef?: { name: string; key: string } } }

/** The process ended in the middle of a pass. */
export class Crash extends Error {}

/**
 * A platform in memory with one group, in which the controller of vector databases runs pass by pass. `play` does what
 * the controllers of Kubernetes and the nodes would do with its workloads.
 */
export class VectorWorld {
  readonly engine = new FakeQdrant()
  readonly clock = new ManualClock(Date.UTC(2026, 10, 1))
  readonly client: FakeKubeClient
  readonly caches: CacheSet
  /** The keys that each running pod accepts, as its Secret was when the pod began. */
  readonly accepted = new Map<string, readonly string[]>()
  /** Pods that could not begin because an entry of the Secret was missing. */
  readonly broken: string[] = []
  /** Runs after each write of the controller. */
  afterWrite: () => void = () => {}
  #crash: { left: number; mode: 'before' | 'after' } | undefined
  #reconciler: Reconciler | undefined
  #restart: () => Reconciler = () => {
    throw new Error('start() comes first.')
  }
  readonly #options: VectorOptions
  #keys = 0
  #revisions = new Map<string, number>()

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
    this.caches = new CacheSet({ client: this.client, clock: this.clock })
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
        newId: () => `incarnation-${ids.next().value}`,
        random: () => 0.5,
      })
    this.#reconciler = this.#restart()
  }

  /** The process dies at its n-th write from now on, before it is sent or before its answer comes. */
  crashAt(write: number, mode: 'before' | 'after'): void {
    this.#crash = { left: write, mode }
  }

  /** A crash that did not happen yet will not. */
  steady(): void {
    this.#crash = undefined
  }

  /** True where the crash happened; a new process has begun then, which knows nothing of the old one. */
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

  /** The client as the controller has it, which may end its process at a write. */
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
  async pass(name = 'products'): Promise<Verdict> {
    await settle()
    const verdict = await this.#reconciler?.reconcile(objectKey(HOME, name))
    await settle()
    if (verdict === undefined) throw new Error('start() comes first.')
    if (verdict.kind === 'failed') throw verdict.error.cause
    return verdict
  }

  /** Passes and what Kubernetes does between them, until nothing changes any more. */
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

  async object<T extends KubeObject>(
    resource: Parameters<FakeKubeClient['get']>[0],
    name: string,
    home: string | undefined = HOME,
  ) {
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
    const found = await this.object<KubeObject & { data?: Record<string, string> }>(secret, 'vc-products-apikey')
    return decodeVectorKeys(found?.data)
  }

  async names(resource: Parameters<FakeKubeClient['list']>[0]): Promise<string[]> {
    const { items } = await this.client.list(resource)
    return items.map(({ metadata }) => metadata.name).sort()
  }

  /**
   * One round of Kubernetes: claims and pods of each StatefulSet come and go with its replicas, pods take the newest
   * template and are ready. True where anything changed.
   *
   * @param only ordinals whose pods are replaced in this round, to stop in the middle of a rollout
   */
  async play(only?: readonly number[]): Promise<boolean> {
    const before = await this.#version()
    const { items } = await this.client.list<Workload>(statefulSet)
    for (const workload of items) this.#playWorkload(workload, only)
    const pods = await this.client.list(pod)
    for (const { metadata } of pods.items) {
      const owner = items.find((each) => metadata.name.startsWith(`${each.metadata.name}-`))
      if (owner === undefined) await this.client.remove(pod, metadata)
    }
    await settle()
    return (await this.#version()) !== before
  }

  #playWorkload(workload: Workload, only: readonly number[] | undefined): void {
    const { name, namespace: home, generation = 1, annotations: _ } = workload.metadata
    const { template, replicas } = workload.spec
    const volume = (workload.spec as unknown as { volumeClaimTemplates: [KubeObject] }).volumeClaimTemplates[0]
    const revision = this.#revision(JSON.stringify(template))
    for (let ordinal = 0; ordinal < replicas; ordinal += 1) {
      const claim: KubeObject = {
        ...volume,
        metadata: { ...volume.metadata, name: `storage-${name}-${ordinal}`, namespace: home ?? '' },
      }
      const ref = { namespace: home ?? '', name: claim.metadata.name }
      if (!this.#has(persistentVolumeClaim, ref)) {
        const spec = { storageClassName: 'standard', ...(volume.spec as object) }
        this.client.seed(persistentVolumeClaim, { ...claim, spec, status: { phase: 'Bound', capacity: sizeOf(spec) } })
      }
      const podRef = { namespace: home ?? '', name: `${name}-${ordinal}` }
      const current = this.#has(pod, podRef)
      if (current !== undefined && (only?.includes(ordinal) === false || revisionOf(current) === revision)) continue
      const labels = { ...(template.metadata as { labels?: Record<string, string> }).labels, revision }
      const born = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { ...podRef, labels },
        spec: {},
        status: { phase: 'Running' },
      }
      this.client.seed(pod, born as unknown as KubeObject)
      this.accepted.set(podRef.name, this.#acceptedBy(workload, podRef.name))
    }
    this.#removePodsFrom(name, home ?? '', replicas)
    this.#report(workload, revision, generation)
  }

  #removePodsFrom(name: string, home: string, replicas: number): void {
    for (let ordinal = replicas; ordinal < 10; ordinal += 1) {
      const ref = { namespace: home, name: `${name}-${ordinal}` }
      if (this.#has(pod, ref) === undefined) continue
      void this.client.remove(pod, ref)
      this.accepted.delete(ref.name)
    }
  }

  /** What the container's environment says, resolved as a kubelet would. */
  #acceptedBy(workload: Workload, podName: string): string[] {
    const { spec } = workload.spec.template as unknown as { spec: { containers: [{ env: Variable[] }] } }
    return spec.containers[0].env.flatMap(({ name, valueFrom }) => {
      const ref = valueFrom?.secretKeyRef
      if (ref === undefined || name.includes('READ_ONLY')) return []
      const data = (
        this.#has(secret, { namespace: HOME, name: ref.name }) as { data?: Record<string, string> } | undefined
      )?.data
      const value = data?.[ref.key]
      if (value === undefined) this.broken.push(`${podName}: ${ref.key} is missing`)
      return value === undefined ? [] : [Buffer.from(value, 'base64').toString()]
    })
  }

  #report(workload: Workload, revision: string, generation: number): void {
    const { name, namespace: home = '' } = workload.metadata
    const { replicas } = workload.spec
    const running = Array.from({ length: replicas }, (_, ordinal) =>
      this.#has(pod, { namespace: home, name: `${name}-${ordinal}` }),
    )
    const updated = running.filter((each) => each !== undefined && revisionOf(each) === revision).length
    const ready = running.filter((each) => each !== undefined).length
    this.client.edit(statefulSet, { namespace: home, name }, (object) => {
      object.status = {
        observedGeneration: generation,
        replicas,
        readyReplicas: ready,
        updatedReplicas: updated,
        currentRevision: updated === replicas ? revision : 'older',
        updateRevision: revision,
      }
    })
  }

  #has(
    resource: Parameters<FakeKubeClient['get']>[0],
    ref: { namespace: string; name: string },
  ): KubeObject | undefined {
    let found: KubeObject | undefined
    try {
      this.client.edit(resource, ref, (object) => {
        found = structuredClone(object)
      })
    } catch {
      return undefined
    }
    return found
  }

  #revision(template: string): string {
    const known = this.#revisions.get(template) ?? this.#revisions.size + 1
    this.#revisions.set(template, known)
    return `revision-${known}`
  }

  async #version(): Promise<string> {
    const parts = await Promise.all(
      [statefulSet, pod, persistentVolumeClaim].map((resource) => this.client.list(resource)),
    )
    return JSON.stringify(
      parts.map(({ items }) => items.map(({ metadata }) => [metadata.name, metadata.resourceVersion])),
    )
  }

  #key(version: number) {
    this.#keys += 1
    return { version, id: `id-${this.#keys}`, apiKey: `full-${this.#keys}`, readOnlyApiKey: `read-${this.#keys}` }
  }

  #seed(
    kind: { resource: Parameters<FakeKubeClient['seed']>[0] },
    name: string,
    home: string | undefined,
    spec: object,
  ): void {
    const metadata = { name, ...(home === undefined ? {} : { namespace: home }) }
    this.client.seed(kind.resource, { apiVersion: '', kind: '', metadata, spec })
  }
}

function revisionOf(object: KubeObject): string | undefined {
  return object.metadata.labels?.revision
}

function sizeOf(spec: object): Record<string, string> {
  return (spec as { resources: { requests: Record<string, string> } }).resources.requests
}

function* numbers(): Generator<number, number> {
  for (let next = 1; ; next += 1) yield next
}
