import type { KubeObject, Resource } from '../../src/core/object.ts'
import { persistentVolumeClaim, pod, secret, statefulSet } from '../../src/kube/builtin.ts'
import type { FakeKubeClient } from '../../src/kube/fake.ts'
import { settle } from '../make/clock.ts'

export type Workload = KubeObject & {
  spec: { replicas: number; template: { metadata: { annotations: Record<string, string> } } }
}
type Variable = { name: string; valueFrom?: { secretKeyRef?: { name: string; key: string } } }

/** Kubernetes' controllers and nodes for StatefulSets, on an API server in memory. */
export class KubernetesPlay {
  /** The keys that each running pod accepts, from its Secret when the pod started. */
  readonly accepted = new Map<string, readonly string[]>()
  /** Pods that could not start because an entry of the Secret was missing. */
  readonly broken: string[] = []
  /** Called when a round has changed workloads, before anybody else can see them. */
  onRound: () => void = () => {}
  readonly #client: FakeKubeClient
  readonly #revisions = new Map<string, number>()

  constructor(client: FakeKubeClient) {
    this.#client = client
  }

  /**
   * One round of Kubernetes: claims and pods of each StatefulSet follow its replicas, pods use the newest template and
   * are ready. True if anything changed.
   *
   * @param only ordinals whose pods are replaced in this round, to stop in the middle of a rollout
   */
  async play(only?: readonly number[]): Promise<boolean> {
    const before = await this.#version()
    const { items } = await this.#client.list<Workload>(statefulSet)
    for (const workload of items) {
      if (workload.metadata.deletionTimestamp === undefined) this.#playWorkload(workload, only)
      else this.#letGo(workload)
    }
    const pods = await this.#client.list(pod)
    for (const { metadata } of pods.items) {
      if (metadata.labels?.['batch.kubernetes.io/job-name'] !== undefined) continue
      if (metadata.labels?.['pod-template-hash'] !== undefined) continue
      const owner = items.find((each) => metadata.name.startsWith(`${each.metadata.name}-`))
      if (owner === undefined) await this.#client.remove(pod, metadata)
    }
    this.onRound()
    await settle()
    return (await this.#version()) !== before
  }

  /** The garbage collector's part of a deletion with `Orphan`; the pods remain for the next StatefulSet. */
  #letGo({ metadata: { name, namespace = '' } }: Workload): void {
    this.#client.edit(statefulSet, { namespace, name }, ({ metadata }) => {
      metadata.finalizers = []
    })
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
        this.#client.seed(persistentVolumeClaim, { ...claim, spec, status: { phase: 'Bound', capacity: sizeOf(spec) } })
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
      this.#client.seed(pod, born as unknown as KubeObject)
      this.accepted.set(podRef.name, this.#acceptedBy(workload, podRef.name))
    }
    this.#removePodsFrom(name, home ?? '', replicas)
    this.#report(workload, revision, generation)
  }

  #removePodsFrom(name: string, home: string, replicas: number): void {
    for (let ordinal = replicas; ordinal < 10; ordinal += 1) {
      const ref = { namespace: home, name: `${name}-${ordinal}` }
      if (this.#has(pod, ref) === undefined) continue
      void this.#client.remove(pod, ref)
      this.accepted.delete(ref.name)
    }
  }

  /** The container's environment, resolved as by a kubelet. */
  #acceptedBy(workload: Workload, podName: string): string[] {
    const { spec } = workload.spec.template as unknown as { spec: { containers: [{ env: Variable[] }] } }
    return spec.containers[0].env.flatMap(({ name, valueFrom }) => {
      const ref = valueFrom?.secretKeyRef
      if (ref === undefined || name.includes('READ_ONLY')) return []
      const data = (
        this.#has(secret, { namespace: workload.metadata.namespace ?? '', name: ref.name }) as
          | { data?: Record<string, string> }
          | undefined
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
    this.#client.edit(statefulSet, { namespace: home, name }, (object) => {
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

  #has(resource: Resource, { namespace, name }: { namespace: string; name: string }): Readonly<KubeObject> | undefined {
    const all = [...this.#client.stored(resource)]
    return all.find(({ metadata }) => metadata.name === name && (metadata.namespace ?? '') === namespace)
  }

  #revision(template: string): string {
    const known = this.#revisions.get(template) ?? this.#revisions.size + 1
    this.#revisions.set(template, known)
    return `revision-${known}`
  }

  async #version(): Promise<string> {
    const parts = await Promise.all(
      [statefulSet, pod, persistentVolumeClaim].map((resource) => this.#client.list(resource)),
    )
    return JSON.stringify(
      parts.map(({ items }) => items.map(({ metadata }) => [metadata.name, metadata.resourceVersion])),
    )
  }
}

function revisionOf(object: KubeObject): string | undefined {
  return object.metadata.labels?.revision
}

function sizeOf(spec: object): Record<string, string> {
  return (spec as { resources: { requests: Record<string, string> } }).resources.requests
}
