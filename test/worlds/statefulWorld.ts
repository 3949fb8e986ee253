import { noKeys } from '../../src/adapters/platformkeys/file.ts'
import { FakeQdrant } from '../../src/adapters/qdrant/fake.ts'
import { silentEngine } from '../../src/adapters/sql/fake.ts'
import type { SqlEngine } from '../../src/adapters/sql/port.ts'
import { containerController } from '../../src/controllers/containerinstances/index.ts'
import { sqlController } from '../../src/controllers/sql/index.ts'
import { vectorController } from '../../src/controllers/vector/index.ts'
import type { Condition } from '../../src/core/conditions.ts'
import type { KubeObject, Resource } from '../../src/core/object.ts'
import { PlatformCluster } from '../../src/crds/clusters.ts'
import { DEFAULT_PLANS } from '../../src/crds/defaultPlans.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { ComputePlan } from '../../src/crds/plans.ts'
import { statefulSet, storageClass } from '../../src/kube/builtin.ts'
import type { ApplyOptions } from '../../src/kube/client.ts'
import { settle } from '../make/clock.ts'
import { ControllerBench } from './controllers.ts'
import { KubernetesPlay } from './kubernetesPlay.ts'

type Status = { status?: string; conditions?: Condition[]; [field: string]: unknown }

function templateRequests(object: KubeObject): { storage: string } {
  type Template = { spec: { resources: { requests: { storage: string } } } }
  const [template] = (object.spec as { volumeClaimTemplates: [Template] }).volumeClaimTemplates
  return template.spec.resources.requests
}

/**
 * A group in memory with the kinds that run as StatefulSets or Deployments, and a simulation of Kubernetes for them.
 */
export class StatefulWorld {
  readonly bench: ControllerBench
  readonly #kubernetes: KubernetesPlay
  home = ''

  constructor(sql: Partial<SqlEngine> = {}) {
    const engine = { ...silentEngine, ...sql }
    let passwords = 0
    this.bench = new ControllerBench([
      vectorController({ engine: new FakeQdrant(), allowOwnImages: false }),
      sqlController({
        engines: { MsSql: engine, MariaDb: engine },
        generatePassword: () => `made-${++passwords}`,
        backupNamespace: 'velero',
      }),
      containerController({ keys: noKeys(), backupNamespace: 'velero' }),
    ])
    this.#kubernetes = new KubernetesPlay(this.bench.client)
  }

  async start(): Promise<this> {
    const { bench } = this
    this.home = bench.seedGroup('shop').groupSpace
    for (const [name, spec] of Object.entries(DEFAULT_PLANS)) bench.seed(ComputePlan, name, spec)
    const here = { displayName: 'here', region: '', domain: 'example.test', isPlatform: true }
    bench.seed(PlatformCluster, '22222222-2222-4222-8222-222222222222', here)
    this.setExpansion(true)
    await bench.start()
    return this
  }

  setExpansion(allowVolumeExpansion: boolean): void {
    const metadata = { name: 'standard' }
    const object = { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata, allowVolumeExpansion }
    this.bench.client.seed(storageClass, object)
  }

  /** From now on the API server stores a different size in the claim templates of StatefulSets. */
  storeTemplatesOf(written: string, stored: string): void {
    const { client } = this.bench
    const apply = client.apply.bind(client)
    client.apply = <T extends KubeObject>(resource: Resource, object: T, options?: ApplyOptions): Promise<T> => {
      if (resource !== statefulSet) return apply(resource, object, options)
      const other = structuredClone(object)
      const requests = templateRequests(other)
      if (requests.storage === written) requests.storage = stored
      return apply(resource, other, options)
    }
  }

  async create(kind: AnyKind, name: string, spec: object): Promise<void> {
    this.bench.seed(kind, name, kind.spec.parse(spec) as object, { namespace: this.home })
    await this.converge()
  }

  /** A merge patch, after which everything settles. */
  async change(kind: AnyKind, name: string, spec: object): Promise<void> {
    await this.bench.client.mergePatch(kind.resource, { namespace: this.home, name }, { spec })
    await this.converge()
  }

  /** Changes the status of an object as another controller does. */
  async edit(resource: Resource, name: string, change: (object: KubeObject) => void): Promise<void> {
    this.bench.client.edit(resource, { namespace: this.home, name }, change)
    await this.converge()
  }

  /** Passes, and Kubernetes' reactions between them, until nothing changes any more. */
  async converge(rounds = 12): Promise<void> {
    for (let round = 0; round < rounds; round += 1) {
      await this.bench.rest()
      const played = await this.#kubernetes.play()
      await settle()
      if (!played) return
    }
    throw new Error(`Nothing settled in ${rounds} rounds.`)
  }

  find<T extends KubeObject = KubeObject>(resource: Resource, name: string): Promise<T | undefined> {
    return this.bench.find<T>(resource, name, this.home)
  }

  async status(kind: AnyKind, name: string): Promise<Status> {
    return ((await this.find(kind.resource, name))?.status ?? {}) as Status
  }

  /** `status reason: message` as people read it. */
  async says(kind: AnyKind, name: string): Promise<string> {
    const { status, conditions = [] } = await this.status(kind, name)
    const ready = conditions.find(({ type }) => type === 'Ready')
    return `${status} ${ready?.reason}: ${ready?.message}`
  }

  stop(): Promise<void> {
    return this.bench.stop()
  }
}
