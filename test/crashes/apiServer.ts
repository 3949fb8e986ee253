import { INCARNATION_ANNOTATION } from '../../src/core/labels.ts'
import { type KubeObject, keyOf, type ObjectRef, type Resource, refOf } from '../../src/core/object.ts'
import { KINDS } from '../../src/crds/index.ts'
import { BUILTIN_RESOURCES, namespace, secret, statefulSet } from '../../src/kube/builtin.ts'
import type {
  ApplyOptions,
  PatchOptions,
  RawAnswer,
  RawRequest,
  RemoveOptions,
  WriteOptions,
} from '../../src/kube/client.ts'
import { FakeKubeClient } from '../../src/kube/fake.ts'
import { fakeKubeError } from '../../src/kube/fakeErrors.ts'
import { cloneJson } from '../../src/kube/fakeMerge.ts'
import { FLUX_RESOURCES } from '../../src/kube/flux.ts'
import { POSTGRESQL_RESOURCES } from '../../src/kube/postgresql.ts'
import { SKUPPER_RESOURCES } from '../../src/kube/skupper.ts'
import { VELERO_RESOURCES, volumeSnapshot, volumeSnapshotClass } from '../../src/kube/velero.ts'
import { StandInApp } from '../make/workload.ts'

/** All types of objects in any flow. */
export const RESOURCES: readonly Resource[] = [
  ...KINDS.map(({ resource }) => resource),
  StandInApp.resource,
  ...BUILTIN_RESOURCES,
  ...POSTGRESQL_RESOURCES,
  ...SKUPPER_RESOURCES,
  ...VELERO_RESOURCES,
  ...FLUX_RESOURCES,
  volumeSnapshot,
  volumeSnapshotClass,
]

/** Keeps a namespace until it is empty; a real one has this in `spec.finalizers`. */
export const NAMESPACE_FINALIZER = 'kubernetes'

/**
 * The API server in memory plus the deletion of whole namespaces: nothing can be created in a missing or terminating
 * one, and a deleted one remains until it is empty. It remembers the owner of each uid and incarnation, so that two
 * runs with different ones can be compared.
 */
export class PlayedApiServer extends FakeKubeClient {
  /** The owner of each uid and incarnation, in readable form. */
  readonly identities = new Map<string, string>()
  /** The answer to a SubjectAccessReview. */
  isAccessAllowed: (spec: { user: string; resourceAttributes: Record<string, string> }) => boolean = () => true
  /** Called for each new incarnation, for names that are derived from it. */
  onIncarnation: (object: KubeObject, incarnation: string) => void = () => {}

  readonly #now: () => number

  constructor(now: () => number) {
    super({ fieldManager: 'freehold', now })
    this.#now = now
    this.answer(/\/secrets$/, () => ({ text: '{}' }))
    this.answer(/\/subjectaccessreviews$/, ({ body }) => {
      const { spec } = JSON.parse(String(body))
      return { status: 201, text: JSON.stringify({ status: { allowed: this.isAccessAllowed(spec) } }) }
    })
  }

  /** RFC 3339, in whole seconds. */
  get time(): string {
    return `${new Date(this.#now()).toISOString().slice(0, 19)}Z`
  }

  override seed<T extends KubeObject>(resource: Resource, object: T): T {
    return this.#remember(resource, super.seed(resource, object))
  }

  override async create<T extends KubeObject>(resource: Resource, object: T, options?: WriteOptions): Promise<T> {
    await this.#admit('create', resource, object)
    return this.#remember(resource, await super.create(resource, object, options))
  }

  override async apply<T extends KubeObject>(resource: Resource, object: T, options?: ApplyOptions): Promise<T> {
    if ((await this.peek(resource, refOf(object))) === undefined) await this.#admit('apply', resource, object)
    return this.#remember(resource, await super.apply(resource, object, options))
  }

  override async mergePatch<T extends KubeObject = KubeObject>(
    resource: Resource,
    ref: ObjectRef,
    patch: object,
    options?: PatchOptions,
  ): Promise<T> {
    return this.#remember(resource, await super.mergePatch<T>(resource, ref, patch, options))
  }

  override async remove(resource: Resource, ref: ObjectRef, options?: RemoveOptions): Promise<KubeObject | undefined> {
    if (resource === namespace && (await this.peek(namespace, ref))?.metadata.deletionTimestamp === undefined) {
      await this.#hold(ref)
    }
    // The garbage collector first removes the dependents' references.
    if (resource === statefulSet && options?.propagation === 'Orphan') {
      this.edit(statefulSet, ref, ({ metadata }) => {
        metadata.finalizers = ['orphan']
      })
      return super.remove(resource, ref, { uid: options.uid })
    }
    return super.remove(resource, ref, options)
  }

  /** The deletion of Secrets by label, the only request of this form that we make. */
  override async request(request: RawRequest): Promise<RawAnswer> {
    const [, space] = /\/namespaces\/([^/]+)\/secrets$/.exec(request.path) ?? []
    if (request.method !== 'DELETE' || space === undefined) return super.request(request)
    const { labelSelector } = request.query as { labelSelector: string }
    const { items } = await this.list(secret, { namespace: space, labelSelector })
    for (const item of items) await this.remove(secret, refOf(item))
    return super.request(request)
  }

  /** The object as it is, or nothing. */
  async peek<T extends KubeObject = KubeObject>(resource: Resource, ref: ObjectRef): Promise<T | undefined> {
    for (const object of this.stored(resource)) {
      const { name, namespace: space } = object.metadata
      if (name === ref.name && space === ref.namespace) return cloneJson(object) as T
    }
    return undefined
  }

  async #admit(verb: string, resource: Resource, { metadata }: KubeObject): Promise<void> {
    if (!resource.namespaced) return
    const space = await this.peek(namespace, { name: metadata.namespace ?? '' })
    if (space === undefined) throw fakeKubeError('NotFound', verb, namespace, { name: metadata.namespace ?? '' })
    if (space.metadata.deletionTimestamp !== undefined) throw fakeKubeError('Forbidden', verb, resource, metadata)
  }

  async #hold(ref: ObjectRef): Promise<void> {
    if ((await this.peek(namespace, ref)) === undefined) return
    this.edit(namespace, ref, ({ metadata }) => {
      metadata.finalizers = [NAMESPACE_FINALIZER]
    })
  }

  #remember<T extends KubeObject>(resource: Resource, object: T): T {
    const { uid = '', annotations } = object.metadata
    const what = `${resource.plural}/${keyOf(object)}`
    this.identities.set(uid, `uid of ${what}`)
    const incarnation = annotations?.[INCARNATION_ANNOTATION]
    if (incarnation !== undefined && !this.identities.has(incarnation)) {
      this.identities.set(incarnation, `incarnation of ${what}`)
      this.onIncarnation(object, incarnation)
    }
    return object
  }
}
