import { type PodWithSecrets, podSecretRights, secretUsesOfPod } from '../../contracts/podSecretAccess.ts'
import { type ReferencedRight, referencedRights } from '../../contracts/references.ts'
import type { AnyKind } from '../../crds/define.ts'
import { KINDS_WITH_VALUE_REFERENCES } from '../../crds/valueReferences.ts'
import type { Context, Services } from '../http/context.ts'
import type { RecordOf } from '../records/records.ts'
import { locationOf } from './find.ts'
import { requireReferencedRights, withUncachedReferences } from './references.ts'

/**
 * Returns the rights needed to write a file. A file can be code, and runs beside all that the resource refers to,
 * because each of its components may mount the volume: so writing needs what a change of the image needs. Running pods
 * may still have what earlier revisions gave them, which counts too.
 */
export async function rightsOfCode(
  { live }: Pick<Services, 'live'>,
  { kind, metadata, spec }: RecordOf<AnyKind>,
  pods: readonly (PodWithSecrets & { status?: unknown })[],
): Promise<readonly ReferencedRight[]> {
  const of = KINDS_WITH_VALUE_REFERENCES[kind]?.of
  if (of === undefined) return []
  const running = pods.filter((pod) => !isPodFinished(pod))
  const areAsked = running.map(secretUsesOfPod).some(({ variables, files }) => variables || files)
  const { name, namespace = '', creationTimestamp: since = '' } = metadata
  const known = areAsked ? await live.revisions<object>({ kind, namespace, name }) : []
  const revisions = known.map(({ number, content }) => ({ number, refers: of(content) }))
  const given = running.flatMap((pod) => {
    // Revisions belong to the current resource; an older pod may be of a former resource with the same name.
    const isOfNamesake = (pod.metadata.creationTimestamp ?? '') < since
    return podSecretRights(pod, isOfNamesake ? [] : revisions)
  })
  return [...referencedRights(of(spec)), ...given]
}

/** @throws PlatformError FORBIDDEN */
export function requireFileCodeRights(rights: readonly ReferencedRight[], context: Context): Promise<void> {
  const asking = { ...locationOf(context, ''), services: context.services, context }
  return withUncachedReferences(context, () => requireReferencedRights(rights, asking))
}

/** Whether a pod has finished. */
export function isPodFinished({ status }: { status?: unknown }): boolean {
  const { phase = '' } = (status ?? {}) as { phase?: string }
  return phase === 'Failed' || phase === 'Succeeded'
}
