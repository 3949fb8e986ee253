import { PREFIX } from '../core/labels.ts'
import { sha256 } from '../core/names.ts'

/** Label on an assignment: the binding that it follows from. */
export const BINDING_LABEL = `${PREFIX}idp-binding`

/** Entry of a Secret: the client secret of the platform at an external identity provider. */
export const SSO_SECRET_KEY = 'client-secret'

/** A DNS record, as people enter it. */
export type DnsRecord = { readonly type: 'TXT'; readonly name: string; readonly value: string }

/**
 * Returns the record that a tenant publishes to prove that it owns a domain. It is derived from both, so that it never
 * changes, and another tenant's record proves nothing.
 */
export function verificationRecord(tenantId: string, domain: string): DnsRecord {
  const value = `freehold-domain-verification=${sha256(`${tenantId}/${domain}`).slice(0, 40)}`
  return { type: 'TXT', name: `_freehold-challenge.${domain}`, value }
}

/** Returns an alias that is unique among all tenants: the provider's name in Keycloak, and in redirect addresses. */
export function brokerAlias(tenantId: string, alias: string): string {
  return `${alias}-${sha256(`${tenantId}/${alias}`).slice(0, 10)}`
}

/** Returns where an external provider sends people back to, in the form of Keycloak's paths. */
export function brokerCallback(issuer: string, tenantId: string, alias: string): string {
  return `${issuer}/broker/${brokerAlias(tenantId, alias)}/endpoint`
}

/** Returns the domain of an email address, in lower case; undefined if it is not an address. */
export function domainOf(address: string): string | undefined {
  const at = address.lastIndexOf('@')
  const domain = address
    .slice(at + 1)
    .trim()
    .toLowerCase()
  return at < 1 || domain === '' ? undefined : domain
}
