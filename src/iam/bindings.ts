/** What an external issuer said of a person when they last signed in through it. */
export type ExternalIdentity = {
  readonly issuer: string
  readonly subject: string
  /** Only claims that bindings ask about. */
  readonly claims: Readonly<Record<string, readonly string[]>>
}

export type Binding = {
  readonly tenantId: string
  readonly issuer: string
  readonly claim: string
  readonly claimValue: string
}

/** Whether a binding speaks of the person. Values are compared exactly. */
export function isBoundBy(
  identity: (ExternalIdentity & { readonly tenantId: string }) | undefined,
  { tenantId, issuer, claim, claimValue }: Binding,
): boolean {
  if (identity === undefined || identity.issuer !== issuer || identity.tenantId !== tenantId) return false
  return Object.hasOwn(identity.claims, claim) && (identity.claims[claim] ?? []).includes(claimValue)
}
