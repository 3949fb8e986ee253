export const ORPHAN_REASONS = ['ScopeMissing', 'PrincipalMissing', 'RoleMissing', 'Expired'] as const
export type OrphanReason = (typeof ORPHAN_REASONS)[number]

/** What the caches say about a grant. */
export type GrantFacts = {
  /** The object at the scope; undefined if there is none. The root always exists. */
  readonly scope: { readonly incarnation: string | undefined } | undefined
  /** The incarnation of that object that the grant names; undefined if it names none. */
  readonly scopeIncarnation: string | undefined
  readonly hasPrincipal: boolean
  /** True also for grants that need no role. */
  readonly hasRole: boolean
  /** Milliseconds since the epoch. */
  readonly expiresAt: number | undefined
}

/** Returns why a grant is orphaned (nobody intended what it grants); undefined if in use. The first reason wins. */
export function orphanReason(facts: GrantFacts, now: number): OrphanReason | undefined {
  const { scope, scopeIncarnation, hasPrincipal, hasRole, expiresAt } = facts
  const isOtherLife = scopeIncarnation !== undefined && scope?.incarnation !== scopeIncarnation
  if (scope === undefined || isOtherLife) return 'ScopeMissing'
  if (!hasPrincipal) return 'PrincipalMissing'
  if (!hasRole) return 'RoleMissing'
  return expiresAt !== undefined && expiresAt <= now ? 'Expired' : undefined
}
