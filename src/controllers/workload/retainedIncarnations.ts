import {
  FORMER_INCARNATIONS_ANNOTATION,
  INCARNATION_ANNOTATION,
  OWNER_INCARNATION_ANNOTATION,
  RETAINED_FOR_ANNOTATION,
  RETAINED_INCARNATIONS_ANNOTATION,
} from '../../core/labels.ts'
import { type KubeObject, type ObjectMeta, type Resource, refOf } from '../../core/object.ts'
import type { AnyKind } from '../../crds/define.ts'
import type { Pass } from '../engine/controller.ts'

type LivingPass = Pick<Pass, 'records'> & {
  readonly kind: Pick<AnyKind, 'kind' | 'resource'>
  readonly object: { readonly metadata: ObjectMeta }
}
type KeepingPass = LivingPass & Pick<Pass, 'workloads' | 'incarnation'>

/** Maximum number of owners' incarnations that are remembered; the newest are kept. */
const MAX_INCARNATIONS = 50

const parseIncarnations = (text: string | undefined) => (text ?? '').split(',').filter((id) => id !== '')

type AnnotationPatch = Readonly<Record<string, string | null>>

/** Whether the data was retained for a resource of this kind and name in the same namespace. */
export const isKeptFor = (pass: LivingPass, { metadata }: KubeObject): boolean =>
  metadata.annotations?.[RETAINED_FOR_ANNOTATION] === keeperOf(pass)

const keeperOf = ({ kind, object }: LivingPass) => `${kind.kind}/${object.metadata.name}`

/** Returns the annotations that retain data for the next resource of this kind and name. */
export const retained = (pass: LivingPass): AnnotationPatch => ({
  ...retainedIncarnations(pass),
  [RETAINED_FOR_ANNOTATION]: keeperOf(pass),
  [OWNER_INCARNATION_ANNOTATION]: null,
})

/** Gives retained data to the resource. */
export async function adopt<T extends KubeObject>(pass: KeepingPass, resource: Resource, kept: T): Promise<T> {
  await recordFormerIncarnations(pass, kept)
  return annotateData(pass, resource, kept, {
    [OWNER_INCARNATION_ANNOTATION]: pass.incarnation,
    [RETAINED_FOR_ANNOTATION]: null,
    [RETAINED_INCARNATIONS_ANNOTATION]: null,
  })
}

/** Sets annotations of data, only if it has not changed since it was read. */
export async function annotateData<T extends KubeObject>(
  { workloads }: Pick<Pass, 'workloads'>,
  resource: Resource,
  data: T,
  annotations: AnnotationPatch,
  extraMetadata: object = {},
): Promise<T> {
  const { uid, resourceVersion } = data.metadata
  const patch = { metadata: { annotations, ...extraMetadata } }
  return workloads.client.mergePatch<T>(resource, refOf(data), patch, { uid, resourceVersion })
}

/** The incarnations of the owners of retained data, with this resource last. */
function retainedIncarnations({ object: { metadata } }: Pick<LivingPass, 'object'>): AnnotationPatch {
  const own = parseIncarnations(metadata.annotations?.[INCARNATION_ANNOTATION])
  const incarnations = [...parseIncarnations(metadata.annotations?.[FORMER_INCARNATIONS_ANNOTATION]), ...own]
  return { [RETAINED_INCARNATIONS_ANNOTATION]: incarnations.slice(-MAX_INCARNATIONS).join(',') }
}

/**
 * Records the former owners of retained data at the resource that adopts it, so that their deny assignments still
 * apply. Grants do not come back.
 */
async function recordFormerIncarnations({ records, kind, object }: LivingPass, kept: KubeObject): Promise<void> {
  const known = parseIncarnations(object.metadata.annotations?.[FORMER_INCARNATIONS_ANNOTATION])
  const incarnations = [
    ...new Set([...known, ...parseIncarnations(kept.metadata.annotations?.[RETAINED_INCARNATIONS_ANNOTATION])]),
  ]
  if (incarnations.length === known.length) return
  const { uid } = object.metadata
  const annotations = { [FORMER_INCARNATIONS_ANNOTATION]: incarnations.slice(-MAX_INCARNATIONS).join(',') }
  await records.client.mergePatch(kind.resource, refOf(object as KubeObject), { metadata: { annotations } }, { uid })
}
