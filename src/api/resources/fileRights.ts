import { type GivenPod, givenRights, waysOf } from '../../contracts/given.ts'
import { type ReferencedRight, referencedRights } from '../../contracts/references.ts'
import type { AnyKind } from '../../crds/define.ts'
import { REFERRING } from '../../crds/referring.ts'
import type { Context, Services } from '../http/context.ts'
import type { RecordOf } from '../records/records.ts'
import { placeOf } from './places.ts'
import { requireAll, withUnseenReferences } from './references.ts'

/**
 * Returns the rights needed to write a file. A file can be code, and runs beside all that the resource refers to,
 * because each of its components may mount the volume: so writing needs what a change of the image needs. Running pods
 * may still have what earlier revisions gave them, which counts too.
 */
export async function rightsOfCode(
  { live }: Pick<Services, 'live'>,
  { kind, metadata, spec }: RecordOf<AnyKind>,
  pods: readonly (GivenPod & { status?: unknown })[],
): Promise<readonly ReferencedRight[]> {
  const of = REFERRING[kind]?.of
  if (of === undefined) return []
  const running = pods.filter((pod) => !isOver(pod))
  const areAsked = running.map(waysOf).some(({ variables, files }) => variables || files)
  const { name, namespace = '', creationTimestamp: since = '' } = metadata
  const known = areAsked ? await live.revisions<object>({ kind, namespace, name }) : []
  const revisions = known.map(({ number, content }) => ({ number, refers: of(content) }))
  const given = running.flatMap((pod) => {
    // Revisions belong to the current resource; an older pod may be of a former resource with the same name.
    const isOfNamesake = (pod.metadata.creationTimestamp ?? '') < since
    return givenRights(pod, isOfNamesake ? [] : revisions)
  })
  return [...referencedRights(of(spec)), ...given]
}

/** @throws PlatformError FORBIDDEN */
export function refuseForeignCode(rights: readonly ReferencedRight[], context: Context): Promise<void> {
  const asking = { ...placeOf(context, ''), services: context.services, context }
  return withUnseenReferences(context, () => requireAll(rights, asking))
}

/** Whether a pod has finished. */
export function isOver({ status }: { status?: unknown }): boolean {
  const { phase = '' } = (status ?? {}) as { phase?: string }
  return phase === 'Failed' || phase === 'Succeeded'
}
