import { BINDING_LABEL } from '../../contracts/sso.ts'
import type { KubeObject } from '../../core/object.ts'
import { incarnationsNamedBy, principalsNamedBy } from '../../crds/principals.ts'

/**
 * Indexes records by the principal ids that they name without an incarnation: ids that did not exist when they were
 * written.
 */
export const UNBOUND_PRINCIPAL_INDEX = 'unbound'

export function unboundPrincipalKeys(object: KubeObject): readonly string[] {
  const ids = principalsNamedBy(object, (object.spec ?? {}) as object)
  if (ids.length === 0) return ids
  const named = incarnationsNamedBy(object)
  return ids.filter((id) => named[id] === undefined)
}

/** Indexes role assignments made by an identity provider binding, by their holder. */
export const BINDING_HOLDER_INDEX = 'bound'

export function bindingHolderKeys({ metadata, spec }: KubeObject): readonly string[] {
  if (metadata.labels?.[BINDING_LABEL] === undefined) return []
  const { principalId } = (spec ?? {}) as { principalId?: string }
  return principalId === undefined ? [] : [principalId]
}
