import { FORMER_INCARNATIONS_ANNOTATION, INCARNATION_ANNOTATION } from '../../core/labels.ts'
import type { KubeObject } from '../../core/object.ts'
import type { CacheEvent } from '../../kube/cache.ts'

/**
 * Whether records that name the object may count from now on, or cease to. They depend on nothing else of it, and a
 * boundary whose status changes can have thousands.
 */
export function isAnotherIncarnation({ type, object, previous }: CacheEvent<KubeObject>): boolean {
  if (type !== 'modified') return true
  const [now, before] = [object.metadata.annotations, previous.metadata.annotations]
  return [INCARNATION_ANNOTATION, FORMER_INCARNATIONS_ANNOTATION].some((name) => now?.[name] !== before?.[name])
}
