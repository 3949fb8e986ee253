import type { SsoProtocol } from '../../crds/sso.ts'

/** A tenant's own identity provider. The caller vets the addresses. */
export type FederatedProvider = {
  alias: string
  displayName: string
  protocol: SsoProtocol
  issuer?: string | undefined
  authorizationUrl?: string | undefined
  tokenUrl?: string | undefined
  jwksUrl?: string | undefined
  /** SAML metadata, as fetched. */
  metadata?: string | undefined
  clientId?: string | undefined
  /** Absent to keep the stored secret. */
  clientSecret?: string | undefined
  signingCertificate?: string | undefined
  emailClaim: string
  trustEmail: boolean
  enabled: boolean
}

export type FederatedTenant = {
  tenantId: string
  displayName: string
  /** Only verified domains: users with an address there are sent to the tenant's provider. */
  domains: readonly string[]
  providers: readonly FederatedProvider[]
  /** Providers whose metadata cannot be read now: their configuration is kept, but `enabled: false` disables them. */
  unread?: readonly UnreadProvider[]
}

export type UnreadProvider = Pick<FederatedProvider, 'alias' | 'enabled'>

/** The identity provider's state of a tenant. */
export type KnownTenant = {
  domains: readonly string[]
  providers: readonly Pick<FederatedProvider, 'alias' | 'displayName' | 'protocol' | 'enabled'>[]
}

/** Tenants' identity providers, brokered by the platform's own. Methods throw IdentityProviderError. */
export interface Federation {
  readonly protocols: readonly SsoProtocol[]
  /** Replaces the configuration of the tenant with exactly this. */
  apply(tenant: FederatedTenant): Promise<void>
  find(tenantId: string): Promise<KnownTenant | undefined>
  /** Succeeds if the tenant is unknown. */
  remove(tenantId: string): Promise<void>
}
