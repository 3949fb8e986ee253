import type { KubeObject } from '../../core/object.ts'
import { STORAGE_SIZE_ANNOTATION } from '../../desired/workload/pod.ts'
import { KubeError } from '../../kube/errors.ts'
import { writeChildren } from '../workload/children.ts'
import { refOfPass } from '../workload/pass.ts'
import { observedWorkload, type StatefulPass } from './pass.ts'
import type { StatefulSet } from './types.ts'

/** Writes the StatefulSet; creates it only if its resource still exists. */
export async function writeWorkload(pass: StatefulPass, desired: KubeObject): Promise<void> {
  if (observedWorkload(pass) === undefined) await requireExisting(pass)
  const [workload] = await writeChildren(pass, [withTemplateFor(pass, desired)])
  pass.state.workload = workload as StatefulSet
}

function withTemplateFor({ state: { templateFor } }: StatefulPass, desired: KubeObject): KubeObject {
  if (templateFor === undefined) return desired
  const annotations = { ...desired.metadata.annotations, [STORAGE_SIZE_ANNOTATION]: templateFor }
  return { ...desired, metadata: { ...desired.metadata, annotations } }
}

/**
 * Requires that the resource exists, asking the API server before the first claims are created. The API server can miss
 * a finalizer that is added while it deletes an object. Then no teardown runs: the garbage collector deletes the
 * children, but not the claims, which would hold the name for ever.
 *
 * @throws KubeError NotFound, Conflict: the next pass starts from the present state
 */
async function requireExisting(pass: StatefulPass): Promise<void> {
  const { kind, key, object, records } = pass
  const { namespace, name } = refOfPass(pass)
  const { uid, deletionTimestamp } = (await records.client.get(kind.resource, { namespace, name })).metadata
  if (uid === object.metadata.uid && deletionTimestamp === undefined) return
  const message = `${kind.kind} "${key}" was deleted meanwhile.`
  throw new KubeError('Conflict', message, { status: 409, resource: kind.resource, namespace, name })
}
