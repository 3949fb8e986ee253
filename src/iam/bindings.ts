/** The identity of a person as an external issuer asserted it at their last sign-in. */
export type ExternalIdentity = {
  readonly issuer: string
  readonly subject: string
  /** Only the claims that bindings ask for. */
  readonly claims: Readonly<Record<string, readonly string[]>>
}

export type Binding = {
  readonly tenantId: string
  readonly issuer: string
  readonly claim: string
  readonly claimValue: string
}

/** Returns whether the binding applies to the person. Claim values are compared exactly. */
export function isBoundBy(
  identity: (ExternalIdentity & { readonly tenantId: string }) | undefined,
  { tenantId, issuer, claim, claimValue }: Binding,
): boolean {
  if (identity === undefined || identity.issuer !== issuer || identity.tenantId !== tenantId) return false
  return Object.hasOwn(identity.claims, claim) && (identity.claims[claim] ?? []).includes(claimValue)
}
