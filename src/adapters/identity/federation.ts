import type { SsoProtocol } from '../../crds/sso.ts'

/** An identity provider of a tenant's own. Addresses are vetted by the caller. */
export type FederatedProvider = {
  alias: string
  displayName: string
  protocol: SsoProtocol
  issuer?: string | undefined
  authorizationUrl?: string | undefined
  tokenUrl?: string | undefined
  jwksUrl?: string | undefined
  /** SAML metadata as it was fetched. */
  metadata?: string | undefined
  clientId?: string | undefined
  /** Absent if it stays as it is. */
  clientSecret?: string | undefined
  signingCertificate?: string | undefined
  emailClaim: string
  trustEmail: boolean
  enabled: boolean
}

export type FederatedTenant = {
  tenantId: string
  displayName: string
  /** Only those that the tenant has shown to be theirs: whoever has an address there is sent to the tenant's provider. */
  domains: readonly string[]
  providers: readonly FederatedProvider[]
  /** Those whose metadata cannot be read now: what is known of them stays, but that one was disabled. */
  unread?: readonly UnreadProvider[]
}

export type UnreadProvider = Pick<FederatedProvider, 'alias' | 'enabled'>

/** What the identity provider knows of a tenant. */
export type KnownTenant = {
  domains: readonly string[]
  providers: readonly Pick<FederatedProvider, 'alias' | 'displayName' | 'protocol' | 'enabled'>[]
}

/** Identity providers of tenants, behind the platform's own. Throws IdentityProviderError. */
export interface Federation {
  readonly protocols: readonly SsoProtocol[]
  /** Makes the identity provider know exactly this of the tenant, whatever it knew. */
  apply(tenant: FederatedTenant, signal?: AbortSignal): Promise<void>
  find(tenantId: string, signal?: AbortSignal): Promise<KnownTenant | undefined>
  /** Without effect where the tenant is not known. */
  remove(tenantId: string, signal?: AbortSignal): Promise<void>
}
