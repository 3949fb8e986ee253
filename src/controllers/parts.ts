import type { KubeObject } from '../core/object.ts'
import { done, type Outcome, waiting } from '../core/outcome.ts'
import type { AnyKind } from '../crds/define.ts'
import { holderOf, partKindsOf } from '../crds/parts.ts'
import type { Pass } from './engine/controller.ts'

/** Milliseconds until the next look; a watch usually reports sooner. */
const POLL_INTERVAL_MS = 1_000

/**
 * Checks for parts once more at the end of a teardown, after the caches know of none and before a name can be reused. A
 * part may be newer than the caches, and nobody would look for it without the finalizer. Parts created later see the
 * deletion and are undone.
 *
 * @param stays whether a part outlives its parent; defaults to never
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
      return waiting('TearingDown', `What was just created in it is being checked: ${kind.plural}.`, POLL_INTERVAL_MS)
  }
  return done()
}
