import { isUuid } from '../../core/names.ts'
import type { Principal, Principals } from './principals.ts'

/**
 * Principals of an issuer that cannot be asked who exists. A token lets people in who have no record here, so every rule must
 * accept their ids too.
 */
export function assumedPrincipals(recorded: Principals): Principals {
  return {
    async find(ids, boundaryId) {
      const wanted = [...new Set(ids)]
      const found = new Map(await recorded.find(wanted, boundaryId))
      for (const id of wanted) if (!found.has(id) && isUuid(id)) found.set(id, unknownPrincipal(id))
      return found
    },
  }
}

function unknownPrincipal(id: string): Principal {
  const unknown = { displayName: null, email: null, lastSignInAt: null, tenantIds: [] }
  return { id, principalType: 'User', ...unknown, isEnabled: true, isAssumed: true }
}
