import type { KubeObject } from '../core/object.ts'
import { done, type Outcome, waiting } from '../core/outcome.ts'
import type { AnyKind } from '../crds/define.ts'
import { holderOf, partKindsOf } from '../crds/parts.ts'
import type { Pass } from './engine/controller.ts'

/** Milliseconds; a watch mostly brings what is awaited sooner. */
const LOOK_AGAIN = 1_000

/**
 * The last look of a teardown, after the caches know of no parts any more and before the first thing that a namesake
 * could take. A part may be newer than the caches, and nobody would look for it once the finalizer is off. Whoever makes
 * one later sees the deletion, and takes it back.
 *
 * @param stays whether a part outlives what it is a part of; none does if absent
 */
export async function awaitUnseenParts<K extends AnyKind, State>(
  pass: Pass<K, State>,
  stays: (part: KubeObject) => boolean = () => false,
): Promise<Outcome> {
  const { namespace, name } = pass.object.metadata
  for (const kind of partKindsOf(pass.kind)) {
    const { items } = await pass.records.client.list(kind.resource, { namespace })
    const isLeft = items.some((part) => holderOf(kind, part.metadata.name, part.spec) === name && !stays(part))
    if (isLeft)
      return waiting('TearingDown', `What was just created in it is being checked: ${kind.plural}.`, LOOK_AGAIN)
  }
  return done()
}
