import type { KubeObject, ObjectRef, Resource } from '../../core/object.ts'

export type Ensured<T extends KubeObject> = {
  object: T
  /** Whether a write was needed. */
  changed: boolean
}

/** The objects that belong to the object of a pass. */
export interface Children {
  /**
   * Makes the object be as desired: owner, labels and incarnation are added; nothing is sent where nothing differs.
   *
   * @throws StalledError NameOccupied where an object of that name belongs to somebody else
   */
  ensure<T extends KubeObject>(desired: T, options: { resource: Resource }): Promise<Ensured<T>>
  /** The child as observed: from the cache, or by GET for Secrets, which are never cached. Foreign objects are undefined. */
  get<T extends KubeObject = KubeObject>(resource: Resource, ref: ObjectRef): Promise<T | undefined>
  /** Children of a cached resource, by the owner's uid or incarnation. */
  owned<T extends KubeObject = KubeObject>(resource: Resource): readonly T[]
  /** Deletes one child, with preconditions on uid and version. True once it is gone. */
  remove(resource: Resource, ref: ObjectRef): Promise<boolean>
  /** Deletes the children of a cached resource whose names are not listed; answers the names that were deleted. */
  prune(resource: Resource, keepNames: readonly string[]): Promise<readonly string[]>
}
