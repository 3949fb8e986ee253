/** How a tenant's identity provider is spoken to, by the identity provider of the platform. */
export const BROKERED_PROTOCOLS = { local: ['Oidc'], keycloak: ['Oidc', 'Saml'], external: [] } as const
type Protocol = (typeof BROKERED_PROTOCOLS)['keycloak'][number]

/** Returns why the platform cannot use a provider of this protocol; undefined if it can. */
export function protocolRefusal(protocol: Protocol, supported: readonly Protocol[]): string | undefined {
  if (supported.includes(protocol)) return undefined
  const only = supported.length === 0 ? '' : `, only ${supported.join(', ')}`
  return `The identity provider of this platform does not support ${protocol} for single sign-on${only}.`
}

const DEFAULTS = {
  protocol: 'Oidc' as Protocol,
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
