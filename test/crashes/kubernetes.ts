import { vectorNames } from '../../src/contracts/vector.ts'
import type { EngineBackup } from '../../src/controllers/relational/types.ts'
import { OWNER_KIND_LABEL, OWNER_NAME_LABEL } from '../../src/core/labels.ts'
import { type KubeObject, type Resource, refOf } from '../../src/core/object.ts'
import { compareQuantities } from '../../src/core/quantity.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import { namespace, persistentVolumeClaim, pod, service } from '../../src/kube/builtin.ts'
import { postgresqlBackup, postgresqlCluster } from '../../src/kube/postgresql.ts'
import { volumeSnapshot } from '../../src/kube/velero.ts'
import { playDeployments } from '../worlds/deploymentsPlay.ts'
import { playJobs } from '../worlds/jobsPlay.ts'
import { KubernetesPlay } from '../worlds/kubernetesPlay.ts'
import { NAMESPACE_FINALIZER, type PlayedApiServer, RESOURCES } from './apiServer.ts'
import type { Engines } from './engines.ts'

type Sized = { spec: { resources?: { requests?: { storage?: string } } }; status?: { capacity?: { storage?: string } } }

/** What plays the controller of StatefulSets and the nodes. */
export type WorkloadPlay = Pick<KubernetesPlay, 'accepted' | 'broken' | 'onRound'> & { play(): Promise<boolean> }

/**
 * Everything in a cluster except the operator: workloads and their volumes, addresses, the deletion of namespaces, the
 * garbage collector, CloudNativePG. Each round does what is due.
 */
export class PlayedKubernetes {
  readonly workloads: WorkloadPlay
  readonly #server: PlayedApiServer
  readonly #engines: Engines
  /** Called after changes, before the operator can see them. */
  onChange: () => void = () => {}
  #seen = ''

  constructor(server: PlayedApiServer, engines: Engines, workloads: WorkloadPlay = new KubernetesPlay(server)) {
    this.workloads = workloads
    this.#server = server
    this.#engines = engines
    this.workloads.onRound = () => {
      this.#runEngines()
      this.#tell()
    }
  }

  /** One round; true if anything changed. */
  async play(): Promise<boolean> {
    const before = this.#server.version
    this.#seen = before
    await this.workloads.play()
    this.#growVolumes()
    this.#giveAddresses()
    this.#runPostgresql()
    await playDeployments(this.#server)
    await playJobs(this.#server, this.#engines, this.#server.time)
    await this.#emptyNamespaces()
    await this.#collectGarbage()
    this.#tell()
    return this.#server.version !== before
  }

  #tell(): void {
    if (this.#server.version === this.#seen) return
    this.#seen = this.#server.version
    this.onChange()
  }

  #growVolumes(): void {
    for (const claim of this.#all<KubeObject & Sized>(persistentVolumeClaim)) {
      const { storage = '0' } = claim.spec.resources?.requests ?? {}
      if (compareQuantities(claim.status?.capacity?.storage ?? '0', storage) >= 0) continue
      this.#server.edit(persistentVolumeClaim, refOf(claim), (object) => {
        object.status = { phase: 'Bound', capacity: { storage } }
      })
    }
  }

  #giveAddresses(): void {
    for (const each of this.#all(service)) {
      if ((each.spec as { type?: string }).type !== 'LoadBalancer' || each.status !== undefined) continue
      this.#server.edit(service, refOf(each), (object) => {
        object.status = { loadBalancer: { ingress: [{ ip: '203.0.113.7' }] } }
      })
    }
  }

  #runPostgresql(): void {
    type Cluster = KubeObject & {
      spec: { instances: number; imageName: string }
      metadata: { annotations?: Record<string, string> }
    }
    for (const cluster of this.#all<Cluster>(postgresqlCluster)) {
      const isAsleep = cluster.metadata.annotations?.['cnpg.io/hibernation'] === 'on'
      const { instances, imageName: image } = cluster.spec
      this.#server.edit(postgresqlCluster, refOf(cluster), (object) => {
        object.status = {
          phase: 'Cluster in healthy state',
          instances,
          readyInstances: isAsleep ? 0 : instances,
          image,
          currentPrimary: `${cluster.metadata.name}-1`,
          conditions: [{ type: 'cnpg.io/hibernation', status: isAsleep ? 'True' : 'False' }],
        }
      })
    }
    for (const backup of this.#all<EngineBackup>(postgresqlBackup)) {
      if (backup.status !== undefined) continue
      const [startedAt, stoppedAt] = ['2026-01-01T00:00:00Z', '2026-01-01T00:01:00Z']
      const taken = backup.spec.method === 'volumeSnapshot' ? this.#snapshotVolumes(backup) : {}
      this.#server.edit(postgresqlBackup, refOf(backup), (object) => {
        object.status = { phase: 'completed', backupId: 'base', startedAt, stoppedAt, ...taken }
      })
    }
  }

  /** Of the data volume; the garbage collector deletes it with the Backup. */
  #snapshotVolumes({ apiVersion, kind, metadata: { name, namespace = '', uid = '' }, spec }: EngineBackup): object {
    const [cluster] = this.#all<KubeObject & { spec: { backup?: object } }>(postgresqlCluster).filter(
      ({ metadata }) => metadata.name === spec.cluster?.name && metadata.namespace === namespace,
    )
    if (cluster?.spec.backup === undefined)
      return { phase: 'failed', error: 'no volumeSnapshot section defined on the target cluster', startedAt: undefined }
    this.#server.seed(volumeSnapshot, {
      ...{ apiVersion: 'snapshot.storage.k8s.io/v1', kind: volumeSnapshot.kind },
      metadata: { name, namespace, ownerReferences: [{ apiVersion, kind, name, uid }] },
      status: { restoreSize: '20Gi' },
    })
    return { snapshotBackupStatus: { elements: [{ name, type: 'PG_DATA' }] } }
  }

  /** Objects in a deleted namespace are deleted; after the last finalizer, so is the namespace. */
  async #emptyNamespaces(): Promise<void> {
    for (const space of this.#all(namespace)) {
      if (space.metadata.deletionTimestamp === undefined) continue
      const left = this.#contentOf(space.metadata.name)
      for (const [resource, object] of left) {
        if (object.metadata.deletionTimestamp === undefined) await this.#server.remove(resource, refOf(object))
      }
      if (left.length > 0) continue
      this.#server.edit(namespace, refOf(space), ({ metadata }) => {
        metadata.finalizers = (metadata.finalizers ?? []).filter((name) => name !== NAMESPACE_FINALIZER)
      })
    }
  }

  #contentOf(name: string): [Resource, KubeObject][] {
    const found: [Resource, KubeObject][] = []
    for (const resource of RESOURCES) {
      if (!resource.namespaced) continue
      const items = this.#all(resource).filter(({ metadata }) => metadata.namespace === name)
      found.push(...items.map((item): [Resource, KubeObject] => [resource, item]))
    }
    return found
  }

  /** Deletes objects whose owners are all gone. */
  async #collectGarbage(): Promise<void> {
    const all: [Resource, KubeObject][] = []
    for (const resource of RESOURCES) {
      for (const object of this.#all(resource)) all.push([resource, object])
    }
    const alive = new Set(all.map(([, { metadata }]) => metadata.uid))
    for (const [resource, { metadata }] of all) {
      const owners = metadata.ownerReferences ?? []
      if (owners.length === 0 || metadata.deletionTimestamp !== undefined) continue
      if (!owners.some(({ uid }) => alive.has(uid))) await this.#server.remove(resource, metadata)
    }
  }

  /** Engines start with their pods, on the existing volumes, with the keys of the pods. */
  #runEngines(): void {
    const pods = this.#all(pod)
    const claims = new Map(this.#all(persistentVolumeClaim).map((claim) => [claim.metadata.name, claim]))
    this.#engines.run(
      pods.map(({ metadata: { name, namespace: space = '', labels = {} } }) => ({
        name,
        namespace: space,
        kind: labels[OWNER_KIND_LABEL] ?? '',
        owner: labels[OWNER_NAME_LABEL] ?? '',
        service:
          labels[OWNER_KIND_LABEL] === VectorCluster.kind ? vectorNames(labels[OWNER_NAME_LABEL] ?? '').peers : '',
        volume: claims.get(`storage-${name}`)?.metadata.uid ?? '',
        accepted: this.workloads.accepted.get(name) ?? [],
      })),
    )
  }

  #all<T extends KubeObject = KubeObject>(resource: Resource): readonly T[] {
    return [...this.#server.stored(resource)] as T[]
  }
}
