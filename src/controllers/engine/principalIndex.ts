import { BINDING_LABEL } from '../../contracts/sso.ts'
import type { KubeObject } from '../../core/object.ts'
import { incarnationsNamedBy, principalsNamedBy } from '../../crds/principals.ts'

/**
 * Records by the ids of principals that they name without an incarnation: the ids that did not exist when they were
 * written.
 */
export const UNBOUND_INDEX = 'unbound'

export function unboundIndexKeys(object: KubeObject): readonly string[] {
  const ids = principalsNamedBy(object, (object.spec ?? {}) as object)
  if (ids.length === 0) return ids
  const named = incarnationsNamedBy(object)
  return ids.filter((id) => named[id] === undefined)
}

/** Assignments that a binding of claims gave, by the person who has them. */
export const BOUND_INDEX = 'bound'

export function boundIndexKeys({ metadata, spec }: KubeObject): readonly string[] {
  if (metadata.labels?.[BINDING_LABEL] === undefined) return []
  const { principalId } = (spec ?? {}) as { principalId?: string }
  return principalId === undefined ? [] : [principalId]
}
