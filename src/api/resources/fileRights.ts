import { type GivenPod, givenRights, waysOf } from '../../contracts/given.ts'
import { type ReferencedRight, referencedRights } from '../../contracts/references.ts'
import type { AnyKind } from '../../crds/define.ts'
import { REFERRING } from '../../crds/referring.ts'
import type { Context, Services } from '../http/context.ts'
import type { RecordOf } from '../records/records.ts'
import { placeOf } from './places.ts'
import { requireAll, withUnseenReferences } from './references.ts'

/**
 * A file can be code, and runs beside all that the resource refers to: each of its components may mount the volume. So whoever
 * writes one needs what a change of the image needs. Copies may still run what was there before, with what they were given.
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
    // Revisions are those of the resource that is there, which may be a namesake of the pod's.
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

/** Nothing runs in it any more. */
export function isOver({ status }: { status?: unknown }): boolean {
  const { phase = '' } = (status ?? {}) as { phase?: string }
  return phase === 'Failed' || phase === 'Succeeded'
}
