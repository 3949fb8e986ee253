import { type KubeObject, type Resource, refOf } from '../../core/object.ts'
import type { KubeClient } from '../../kube/client.ts'
import { isKubeError } from '../../kube/errors.ts'

/** The field manager for values that fill a spec, so that kubectl and Git keep their own fields; it keeps none. */
export const FILLING_MANAGER = 'freehold-replicas'

/**
 * Gives up the fields that were filled in, with their values: whoever applied another one server-side would be told of a
 * conflict with a manager that has no opinion of it. The API server gives each written field to its writer, so it takes a
 * write of its own. Caches hold no field managers, but the answer to every write does: what a process that died has kept,
 * the next status gives up.
 *
 * @param written what the API server answered to a write
 * @returns what is stored now
 */
export async function givenWay(
  client: Pick<KubeClient, 'mergePatch'>,
  resource: Resource,
  written: KubeObject,
): Promise<KubeObject> {
  const { managedFields = [], resourceVersion, uid } = written.metadata
  const others = managedFields.filter((fields) => (fields as { manager?: string }).manager !== FILLING_MANAGER)
  // The API server takes no empty list for one that was emptied.
  if (others.length === managedFields.length || others.length === 0) return written
  const patch = { metadata: { managedFields: others } }
  try {
    return await client.mergePatch(resource, refOf(written), patch, { resourceVersion, uid })
  } catch (error) {
    // Somebody else wrote or deleted meanwhile: the next answer shows it again.
    if (isKubeError(error, 'Conflict', 'NotFound')) return written
    throw error
  }
}
