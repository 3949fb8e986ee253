import { type KubeObject, objectKey, type Resource, refOf, resourceId } from '../../core/object.ts'
import { applyIfAbsent, applyIfChanged } from '../../kube/apply.ts'
import { secret } from '../../kube/builtin.ts'
import { absent } from '../../kube/errors.ts'
import type { Expectations } from './expectations.ts'
import { occupantId, StalledError, WaitingError } from './interruptions.ts'
import type { MutatedWrites } from './mutatedWrites.ts'
import { belongsTo, OWNER_INDEX, type Owner, withOwner } from './ownership.ts'
import type { CacheView, Children, EnsureOptions, EnsureResult, Workspace } from './pass.ts'
import { findUnwatched } from './unwatched.ts'

const AMENDING_MANAGER = 'freehold-amending'

/** Children of one object during one pass. */
export class PassChildren implements Children {
  readonly #owner: Owner
  readonly #key: string
  readonly #workspace: Workspace
  readonly #expectations: Expectations
  readonly #mutatedWrites: MutatedWrites
  /** The message about children that are stored differently from how they were written. */
  readonly mutations = new Set<string>()

  constructor(
    owner: Owner,
    key: string,
    workspace: Workspace,
    remembered: { expectations: Expectations; otherwise: MutatedWrites },
  ) {
    this.#owner = owner
    this.#key = key
    this.#workspace = workspace
    this.#expectations = remembered.expectations
    this.#mutatedWrites = remembered.otherwise
  }

  async ensure<T extends KubeObject>(desired: T, { resource, adopts }: EnsureOptions): Promise<EnsureResult<T>> {
    const { namespace, name } = desired.metadata
    const view = this.#view<T>(resource, namespace)
    const held = view === undefined ? await this.#read<T>(resource, namespace, name) : view.get(namespace, name)
    if (held === undefined) {
      const made = await this.create(desired, { resource })
      if (made !== undefined) return { object: made, changed: true }
    }
    // An object unknown to the cache has the name: look at it before overwriting it.
    const observed = held ?? (await this.#read<T>(resource, namespace, name))
    if (observed !== undefined && adopts?.(observed) !== true) this.#requireUsable(resource, observed)
    const wanted = withOwner(desired, this.#owner)
    const skipReason = this.#mutatedWrites.skipReason(this.#key, wanted, observed)
    if (observed !== undefined && skipReason !== undefined) {
      this.mutations.add(skipReason)
      return { object: observed, changed: false }
    }
    const { object, changed } = await applyIfChanged<T>(this.#workspace.client, resource, wanted, observed)
    if (changed) this.#recordWrite(wanted, object, view)
    return { object, changed }
  }

  async create<T extends KubeObject>(desired: T, { resource }: { resource: Resource }): Promise<T | undefined> {
    const wanted = withOwner(desired, this.#owner)
    const made = await applyIfAbsent<T>(this.#workspace.client, resource, wanted)
    if (made !== undefined) this.#recordWrite(wanted, made, this.#view(resource, desired.metadata.namespace))
    return made
  }

  #recordWrite(wanted: KubeObject, stored: KubeObject, view: CacheView | undefined): void {
    if (view !== undefined) this.#expectations.written(this.#key, view, stored)
    const mutation = this.#mutatedWrites.written(this.#key, wanted, stored)
    if (mutation !== undefined) this.mutations.add(mutation)
  }

  async get<T extends KubeObject>(
    resource: Resource,
    namespace: string | undefined,
    name: string,
  ): Promise<T | undefined> {
    const view = this.#view<T>(resource, namespace)
    return this.#own(view === undefined ? await this.#read<T>(resource, namespace, name) : view.get(namespace, name))
  }

  #own<T extends KubeObject>(found: T | undefined): T | undefined {
    return found !== undefined && belongsTo(found, this.#owner) ? found : undefined
  }

  owned<T extends KubeObject>(resource: Resource): readonly T[] {
    const cache = this.#workspace.cache<T>(resource)
    const { object, incarnation } = this.#owner
    const found = new Map<string, T>()
    for (const key of [object.metadata.uid, incarnation]) {
      if (key === undefined || key === '') continue
      for (const child of cache.byIndex(OWNER_INDEX, key)) {
        found.set(objectKey(child.metadata.namespace, child.metadata.name), child)
      }
    }
    return [...found.values()]
  }

  async remove(resource: Resource, namespace: string | undefined, name: string): Promise<boolean> {
    const child = this.#workspace.isServed(resource)
      ? await this.get(resource, namespace, name)
      : this.#own(await findUnwatched(this.#workspace, resource, { namespace, name }))
    if (child === undefined) return true
    if (child.metadata.deletionTimestamp !== undefined) return false
    return this.#delete(resource, child)
  }

  async amend(resource: Resource, { apiVersion, kind, metadata }: KubeObject, fields: Partial<KubeObject> = {}) {
    const { namespace, name, uid } = metadata
    const amended = {
      ...fields,
      apiVersion,
      kind,
      metadata: { ...fields.metadata, name, ...(namespace !== undefined && { namespace }), uid },
    } as KubeObject
    const options = { force: true, fieldManager: AMENDING_MANAGER }
    const stored = await this.#workspace.client.apply<KubeObject>(resource, amended, options)
    const view = this.#view(resource, namespace)
    if (view !== undefined) this.#expectations.written(this.#key, view, stored)
  }

  async prune(resource: Resource, keepNames: readonly string[]): Promise<readonly string[]> {
    const keep = new Set(keepNames)
    const pruned: string[] = []
    for (const child of this.owned(resource)) {
      if (keep.has(child.metadata.name) || child.metadata.deletionTimestamp !== undefined) continue
      await this.#delete(resource, child)
      pruned.push(child.metadata.name)
    }
    return pruned
  }

  async #delete(resource: Resource, child: KubeObject): Promise<boolean> {
    const { uid, resourceVersion } = child.metadata
    const remaining = await this.#workspace.client.remove(resource, refOf(child), { uid, resourceVersion })
    const view = this.#view(resource, child.metadata.namespace)
    if (view !== undefined) this.#expectations.removed(this.#key, view, child)
    return remaining === undefined
  }

  /** Returns the cache for these objects; undefined if there is none or it has not synced. */
  #view<T extends KubeObject>(resource: Resource, namespace: string | undefined): CacheView<T> | undefined {
    const workspace = this.#workspace
    if (workspace.isCached(resource)) return workspace.cache<T>(resource)
    const isSecret = resourceId(resource) === resourceId(secret)
    // The caller named the type together with the resource, as with every cache.
    return isSecret && namespace !== undefined ? (workspace.secrets(namespace) as CacheView<T> | undefined) : undefined
  }

  #read<T extends KubeObject>(resource: Resource, namespace: string | undefined, name: string): Promise<T | undefined> {
    return this.#workspace.client.get<T>(resource, { namespace, name }).catch(absent)
  }

  #requireUsable(resource: Resource, observed: KubeObject): void {
    const subject = `${resource.kind} "${objectKey(observed.metadata.namespace, observed.metadata.name)}"`
    if (!belongsTo(observed, this.#owner)) {
      throw new StalledError(
        'NameOccupied',
        `${subject} exists and does not belong to this ${this.#owner.object.kind}. Delete it, or choose another name.`,
        occupantId(resource, observed),
      )
    }
    if (observed.metadata.deletionTimestamp !== undefined) {
      throw new WaitingError('WaitingForDependency', `${subject} is being deleted; it is created again after that.`)
    }
  }
}
