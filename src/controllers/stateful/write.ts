import type { KubeObject } from '../../core/object.ts'
import { STORAGE_SIZE_ANNOTATION } from '../../desired/workload/pod.ts'
import { KubeError } from '../../kube/errors.ts'
import { writeChildren } from '../workload/children.ts'
import { observedWorkload, placeOfStateful, type StatefulPass } from './pass.ts'
import type { StatefulSet } from './types.ts'

/** Writes the StatefulSet; a new one only if the resource that it is for is still there. */
export async function writeWorkload(pass: StatefulPass, desired: KubeObject): Promise<void> {
  if (observedWorkload(pass) === undefined) await requireThere(pass)
  const [workload] = await writeChildren(pass, [withTemplateFor(pass, desired)])
  pass.state.workload = workload as StatefulSet
}

function withTemplateFor({ state: { templateFor } }: StatefulPass, desired: KubeObject): KubeObject {
  if (templateFor === undefined) return desired
  const annotations = { ...desired.metadata.annotations, [STORAGE_SIZE_ANNOTATION]: templateFor }
  return { ...desired, metadata: { ...desired.metadata, annotations } }
}

/**
 * Between its look at an object and its removal, the API server overlooks a finalizer that is put on meanwhile. Then the
 * object goes with the finalizer and nobody tears anything down: the garbage collector takes what was made for it, but no claims,
 * which would hold the name for ever. So the last look before there are claims is at the API server.
 *
 * @throws KubeError NotFound, Conflict: the next pass sees what is there
 */
async function requireThere(pass: StatefulPass): Promise<void> {
  const { kind, key, object, records } = pass
  const { namespace, name } = placeOfStateful(pass)
  const { uid, deletionTimestamp } = (await records.client.get(kind.resource, { namespace, name })).metadata
  if (uid === object.metadata.uid && deletionTimestamp === undefined) return
  const message = `${kind.kind} "${key}" was deleted meanwhile.`
  throw new KubeError('Conflict', message, { status: 409, resource: kind.resource, namespace, name })
}
