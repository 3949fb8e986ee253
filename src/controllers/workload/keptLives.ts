import { FORMER_INCARNATIONS_ANNOTATION, INCARNATION_ANNOTATION, RETAINED_LIVES_ANNOTATION } from '../../core/labels.ts'
import { type KubeObject, type ObjectMeta, refOf } from '../../core/object.ts'
import type { AnyKind } from '../../crds/define.ts'
import type { Pass } from '../engine/controller.ts'

type LivingPass = Pick<Pass, 'records'> & {
  readonly kind: Pick<AnyKind, 'resource'>
  readonly object: { readonly metadata: ObjectMeta }
}

/** Maximum number of owners' incarnations that are remembered; the newest are kept. */
const MOST_LIVES = 50

const livesIn = (text: string | undefined) => (text ?? '').split(',').filter((life) => life !== '')

/** Returns the annotation for retained data: the incarnations of its owners, with this resource last. */
export function retainedLives({ object: { metadata } }: Pick<LivingPass, 'object'>): Record<string, string> {
  const own = livesIn(metadata.annotations?.[INCARNATION_ANNOTATION])
  const lives = [...livesIn(metadata.annotations?.[FORMER_INCARNATIONS_ANNOTATION]), ...own]
  return { [RETAINED_LIVES_ANNOTATION]: lives.slice(-MOST_LIVES).join(',') }
}

/**
 * Records the former owners of retained data at the resource that adopts it, so that their deny assignments still
 * apply. Grants do not come back.
 */
export async function continueLives({ records, kind, object }: LivingPass, kept: KubeObject): Promise<void> {
  const known = livesIn(object.metadata.annotations?.[FORMER_INCARNATIONS_ANNOTATION])
  const lives = [...new Set([...known, ...livesIn(kept.metadata.annotations?.[RETAINED_LIVES_ANNOTATION])])]
  if (lives.length === known.length) return
  const { uid } = object.metadata
  const annotations = { [FORMER_INCARNATIONS_ANNOTATION]: lives.slice(-MOST_LIVES).join(',') }
  await records.client.mergePatch(kind.resource, refOf(object as KubeObject), { metadata: { annotations } }, { uid })
}
