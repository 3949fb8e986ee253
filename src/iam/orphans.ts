export const ORPHAN_REASONS = ['ScopeMissing', 'PrincipalMissing', 'RoleMissing', 'Expired'] as const
export type OrphanReason = (typeof ORPHAN_REASONS)[number]

/** What is known around a grant, from the caches. */
export type GrantFacts = {
  /** Of the object at the scope: undefined if there is none. The root always is. */
  readonly scope: { readonly incarnation: string | undefined } | undefined
  /** The life of that object which the grant names; undefined if it names none. */
  readonly scopeIncarnation: string | undefined
  readonly hasPrincipal: boolean
  /** True of what needs no role. */
  readonly hasRole: boolean
  /** Milliseconds since the epoch. */
  readonly expiresAt: number | undefined
}

/** Why a grant is left over and grants nothing that anybody meant; undefined if it is in use. First reason wins. */
export function orphanReason(facts: GrantFacts, now: number): OrphanReason | undefined {
  const { scope, scopeIncarnation, hasPrincipal, hasRole, expiresAt } = facts
  const isOtherLife = scopeIncarnation !== undefined && scope?.incarnation !== scopeIncarnation
  if (scope === undefined || isOtherLife) return 'ScopeMissing'
  if (!hasPrincipal) return 'PrincipalMissing'
  if (!hasRole) return 'RoleMissing'
  return expiresAt !== undefined && expiresAt <= now ? 'Expired' : undefined
}
