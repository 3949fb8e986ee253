import { isUuid } from '../../core/names.ts'
import type { Principal, Principals } from './principals.ts'

/**
 * Principals where only the issuer knows who exists: whoever has no record here is let in by their token, and so is
 * somebody wherever they are named.
 */
export function assumedPrincipals(recorded: Principals): Principals {
  return {
    async find(ids, boundaryId) {
      const wanted = [...new Set(ids)]
      const found = new Map(await recorded.find(wanted, boundaryId))
      for (const id of wanted) if (!found.has(id) && isUuid(id)) found.set(id, assumed(id))
      return found
    },
  }
}

function assumed(id: string): Principal {
  const unknown = { displayName: null, email: null, lastSignInAt: null, tenantIds: [] }
  return { id, principalType: 'User', ...unknown, isEnabled: true, isAssumed: true }
}
