import { type KubeObject, keyOf, refOf } from '../../src/core/object.ts'
import { persistentVolumeClaim, pod, statefulSet } from '../../src/kube/builtin.ts'
import type { SeededRandom } from '../make/random.ts'
import type { PlayedApiServer } from './apiServer.ts'

type Workload = KubeObject & {
  spec: {
    replicas: number
    selector: { matchLabels: Record<string, string> }
    template: { metadata: { labels?: Record<string, string> } }
    volumeClaimTemplates: [KubeObject]
  }
}

/**
 * The controller of StatefulSets at its worst: a pass acts on outdated observations, so that claims and pods are
 * created for a StatefulSet that is gone. Pods have the StatefulSet as owner; those left behind by a deletion with
 * `Orphan` have none until another StatefulSet adopts them, and a pod takes a while to shut down.
 */
export class LateStatefulSets {
  readonly accepted = new Map<string, readonly string[]>()
  readonly broken: string[] = []
  onRound: () => void = () => {}
  readonly #server: PlayedApiServer
  readonly #random: SeededRandom
  /** Passes in progress: what each observed, by the key of its StatefulSet. */
  readonly #underWay = new Map<string, Workload>()

  constructor(server: PlayedApiServer, random: SeededRandom) {
    this.#server = server
    this.#random = random
  }

  /** Whether a pass in progress may still create something. */
  get isBusy(): boolean {
    return this.#underWay.size > 0
  }

  async play(): Promise<boolean> {
    const before = this.#server.version
    await this.#shutPodsDown()
    for (const seen of [...this.#underWay.values()]) {
      if (this.#random.chance(0.4)) continue
      this.#underWay.delete(keyOf(seen))
      await this.#act(seen)
    }
    for (const workload of this.#all<Workload>(statefulSet)) {
      if (workload.metadata.deletionTimestamp !== undefined) await this.#letGo(workload)
      else if (!this.#underWay.has(keyOf(workload))) this.#underWay.set(keyOf(workload), structuredClone(workload))
    }
    this.onRound()
    return this.#server.version !== before || this.isBusy
  }

  async #act(seen: Workload): Promise<void> {
    const { name, namespace = '', uid = '' } = seen.metadata
    const { replicas, template, volumeClaimTemplates } = seen.spec
    const volume = volumeClaimTemplates[0]
    const [first] = this.#all<Workload>(statefulSet).filter((each) => each.metadata.uid === uid)
    const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name, uid, controller: true }
    for (let ordinal = 0; ordinal < replicas; ordinal += 1) {
      const claim = { ...volume, metadata: { ...volume.metadata, name: `storage-${name}-${ordinal}`, namespace } }
      await this.#make(persistentVolumeClaim, { ...claim, apiVersion: 'v1', kind: 'PersistentVolumeClaim' })
      const podRef = { namespace, name: `${name}-${ordinal}` }
      const held = this.#all(pod).find((each) => keyOf(each) === `${namespace}/${podRef.name}`)
      // Before it adopts an orphan, it reads the StatefulSet again.
      if (held !== undefined && held.metadata.ownerReferences === undefined && first !== undefined)
        this.#server.edit(pod, podRef, ({ metadata }) => {
          metadata.ownerReferences = [owner]
        })
      if (held !== undefined) continue
      const metadata = {
        ...podRef,
        labels: template.metadata.labels ?? {},
        ownerReferences: [owner],
        finalizers: ['kubelet'],
      }
      await this.#make(pod, { apiVersion: 'v1', kind: 'Pod', metadata, spec: {} })
    }
    const mine = this.#all(pod).filter((each) => each.metadata.ownerReferences?.[0]?.uid === uid)
    for (const each of mine) {
      if (Number(each.metadata.name.slice(name.length + 1)) >= replicas) await this.#server.remove(pod, refOf(each))
    }
    if (first === undefined) return
    const count = this.#all(pod).filter((each) => each.metadata.ownerReferences?.[0]?.uid === uid).length
    const ready = Math.min(count, replicas)
    this.#server.edit(statefulSet, { namespace, name }, (object) => {
      object.status = {
        observedGeneration: seen.metadata.generation,
        replicas: count,
        readyReplicas: ready,
        updatedReplicas: ready,
        currentRevision: 'one',
        updateRevision: 'one',
      }
    })
  }

  async #make(resource: typeof pod, object: KubeObject): Promise<void> {
    try {
      await this.#server.create(resource, object)
    } catch {
      // It already exists, or its namespace is terminating.
    }
  }

  /** What the garbage collector does for a deletion with `Orphan`. */
  async #letGo({ metadata: { uid, name, namespace = '' } }: Workload): Promise<void> {
    for (const each of this.#all(pod)) {
      if (each.metadata.ownerReferences?.[0]?.uid !== uid) continue
      this.#server.edit(pod, refOf(each), ({ metadata }) => {
        delete metadata.ownerReferences
      })
    }
    this.#server.edit(statefulSet, { namespace, name }, ({ metadata }) => {
      metadata.finalizers = []
    })
  }

  async #shutPodsDown(): Promise<void> {
    for (const each of this.#all(pod)) {
      if (each.metadata.deletionTimestamp === undefined || this.#random.chance(0.5)) continue
      this.#server.edit(pod, refOf(each), ({ metadata }) => {
        metadata.finalizers = []
      })
    }
  }

  #all<T extends KubeObject = KubeObject>(resource: typeof pod): T[] {
    return [...this.#server.stored(resource)] as T[]
  }
}
