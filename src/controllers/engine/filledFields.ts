import { type KubeObject, type Resource, refOf } from '../../core/object.ts'
import type { KubeClient } from '../../kube/client.ts'
import { isKubeError } from '../../kube/errors.ts'

/** Field manager for filled-in values, so that kubectl and Git keep their own fields. It gives its fields up again. */
export const FILL_FIELD_MANAGER = 'freehold-replicas'

/**
 * Gives up ownership of filled-in fields. Otherwise a server-side apply of another value would conflict with a manager
 * that has no opinion on it. The API server assigns written fields to the writer, so this takes a separate write.
 * Caches hold no managed fields, but the answer to every write does, so the next status write also cleans up after a
 * process that died.
 *
 * @param written the API server's answer to a write
 * @returns the object as stored now
 */
export async function releaseFilledFields(
  client: Pick<KubeClient, 'mergePatch'>,
  resource: Resource,
  written: KubeObject,
): Promise<KubeObject> {
  const { managedFields = [], resourceVersion, uid } = written.metadata
  const others = managedFields.filter((fields) => (fields as { manager?: string }).manager !== FILL_FIELD_MANAGER)
  // The API server ignores an empty list, so the last manager cannot be removed.
  if (others.length === managedFields.length || others.length === 0) return written
  const patch = { metadata: { managedFields: others } }
  try {
    return await client.mergePatch(resource, refOf(written), patch, { resourceVersion, uid })
  } catch (error) {
    // Somebody else wrote or deleted meanwhile: the next write's answer shows it again.
    if (isKubeError(error, 'Conflict', 'NotFound')) return written
    throw error
  }
}
