const DEFAULTS = {
  protocol: 'Oidc' as 'Oidc' | 'Saml',
  emailClaim: 'email',
  trustEmail: false as boolean,
  enabled: true as boolean,
}
type Defaults = typeof DEFAULTS

/** An identity provider with the defaults of absent fields. */
export type Complete<Provider> = Provider & Defaults

/**
 * Fills in the defaults of absent fields. The schema of a list's items has no defaults: the API server would write them
 * into the object, and every `kubectl apply` of a manifest without them would remove them again.
 */
export function completeProvider<Provider extends { [Field in keyof Defaults]?: Defaults[Field] | undefined }>(
  provider: Provider,
): Complete<Provider> {
  return { ...DEFAULTS, ...(provider as Complete<Provider>) }
}
