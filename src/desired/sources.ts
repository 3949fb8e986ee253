import type { KubeObject } from '../core/object.ts'
import { RESOURCE_KINDS } from '../crds/index.ts'

/** Kinds whose code may come from a source: they say so in this field. */
export const WITH_SOURCES = RESOURCE_KINDS.filter(({ spec }) => 'deploymentSourceId' in spec.shape)

/** The id of the source that a resource names. */
export function sourceOf({ spec }: KubeObject): string | undefined {
  return ((spec ?? {}) as { deploymentSourceId?: string }).deploymentSourceId
}
