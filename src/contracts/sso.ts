import { PREFIX } from '../core/labels.ts'
import { sha256 } from '../core/names.ts'

/** Names the binding that an assignment follows from. */
export const BINDING_LABEL = `${PREFIX}idp-binding`

/** The key of a Secret that holds what the platform shows an external identity provider. */
export const SSO_SECRET_KEY = 'client-secret'

/** A record of the domain name system, as people enter it. */
export type DnsRecord = { readonly type: 'TXT'; readonly name: string; readonly value: string }

/**
 * What a tenant publishes to show that a domain is theirs. It follows from both, so that it stays the same however often
 * it is asked for, and another tenant's record proves nothing.
 */
export function verificationRecord(tenantId: string, domain: string): DnsRecord {
  const value = `freehold-domain-verification=${sha256(`${tenantId}/${domain}`).slice(0, 40)}`
  return { type: 'TXT', name: `_freehold-challenge.${domain}`, value }
}

/** An alias as it is unique among all tenants: what Keycloak calls the provider, and what stands in redirect addresses. */
export function brokerAlias(tenantId: string, alias: string): string {
  return `${alias}-${sha256(`${tenantId}/${alias}`).slice(0, 10)}`
}

/** Where an external provider sends people back to, at the paths of Keycloak. */
export function brokerCallback(issuer: string, tenantId: string, alias: string): string {
  return `${issuer}/broker/${brokerAlias(tenantId, alias)}/endpoint`
}

/** The part of an address behind the `@`, in lower case; undefined if it is not an address. */
export function domainOf(address: string): string | undefined {
  const at = address.lastIndexOf('@')
  const domain = address
    .slice(at + 1)
    .trim()
    .toLowerCase()
  return at < 1 || domain === '' ? undefined : domain
}
