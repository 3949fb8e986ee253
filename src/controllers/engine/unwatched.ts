import type { KubeObject, ObjectRef, Resource } from '../../core/object.ts'
import { absent } from '../../kube/errors.ts'
import type { Workspace } from './pass.ts'

/**
 * Asks the API server for an object of an optional type that is not watched: while its definition is replaced, a cache
 * shows nothing. Without a definition there are no objects, and the API server could not say so.
 */
export async function findUnwatched<T extends KubeObject>(
  workspace: Workspace,
  resource: Resource,
  ref: ObjectRef,
): Promise<T | undefined> {
  if (workspace.isServed(resource) || !workspace.isDefined(resource)) return undefined
  return workspace.client.get<T>(resource, ref).catch(absent)
}
