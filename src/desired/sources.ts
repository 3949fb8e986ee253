import type { KubeObject } from '../core/object.ts'
import { RESOURCE_KINDS } from '../crds/index.ts'

/** Kinds whose code can come from a deployment source. */
export const KINDS_WITH_SOURCES = RESOURCE_KINDS.filter(({ spec }) => 'deploymentSourceId' in spec.shape)

/** Returns the id of the source that a resource refers to. */
export function sourceOf({ spec }: KubeObject): string | undefined {
  return ((spec ?? {}) as { deploymentSourceId?: string }).deploymentSourceId
}
