import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { brokerAlias } from '../../contracts/sso.ts'
import { BROKERED_PROTOCOLS } from '../../contracts/ssoProviders.ts'
import type { FederatedProvider, FederatedTenant, Federation } from './federation.ts'
import { type KeycloakAdmin, parseAdminAnswer } from './keycloakAdmin.ts'
import type { KeycloakOrganizations, OrganizationRepresentation } from './keycloakOrganizations.ts'
import { IdentityProviderError } from './port.ts'

const ProviderRepresentation = z.looseObject({
  alias: z.string(),
  displayName: z.string().optional(),
  providerId: z.string(),
  enabled: z.boolean().default(false),
  config: z.record(z.string(), z.string()).default({}),
})
/** Config key for our own alias: an alias of Keycloak must be unique in the realm. */
const ALIAS = 'freehold.alias'
const EMAIL_MAPPER = 'freehold-email'
/**
 * Keycloak checks an email address against the organization's domains only at the first sign-in. With updates on later
 * sign-ins a provider could claim any address, which would count as verified.
 */
const SYNC_MODE = 'IMPORT'

const pathOf = (alias: string) => `/identity-provider/instances/${encodeURIComponent(alias)}`

/** Tenants' identity providers in Keycloak: linked to an organization, and chosen by the email domain. */
export function keycloakFederation(admin: KeycloakAdmin, organizations: KeycloakOrganizations): Federation {
  return {
    protocols: BROKERED_PROTOCOLS.keycloak,
    async apply(tenant) {
      const organization = await organizations.open(tenant.tenantId)
      const domains = tenant.domains.map((name) => ({ name, verified: true }))
      // Before the providers, which can only be linked to a domain of their organization.
      const change = { ...organization, description: tenant.displayName, enabled: true, domains }
      await admin.call('PUT', `/organizations/${organization.id}`, { body: change })
      const { unread = [] } = tenant
      const wanted = new Map(
        [...tenant.providers, ...unread].map(({ alias, enabled }) => [brokerAlias(tenant.tenantId, alias), enabled]),
      )
      const before = await providersOf(admin, organization)
      for (const known of before) {
        const isEnabled = wanted.get(known.alias)
        if (isEnabled === undefined) await admin.call('DELETE', pathOf(known.alias), { accepted: [404] })
        // Before any step that may fail: a disabled provider must not admit anyone.
        else if (!isEnabled && known.enabled)
          await admin.call('PUT', pathOf(known.alias), { body: { ...known, enabled: false } })
      }
      const linked = new Set(before.map(({ alias }) => alias))
      // A provider that Keycloak refuses must not block the others.
      const failures: unknown[] = []
      for (const provider of tenant.providers) {
        await applyProvider(admin, tenant, { id: organization.id, linked }, provider).catch((error) =>
          failures.push(error),
        )
      }
      if (failures.length > 0) throw failures[0]
    },
    async find(tenantId) {
      const organization = await organizations.find(tenantId)
      if (organization === undefined) return undefined
      const providers = await providersOf(admin, organization)
      return {
        domains: organization.domains.filter(({ verified }) => verified).map(({ name }) => name),
        providers: providers.map(({ alias, displayName = '', providerId, enabled, config }) => ({
          alias: config[ALIAS] ?? alias,
          displayName,
          protocol: providerId === 'saml' ? ('Saml' as const) : ('Oidc' as const),
          enabled,
        })),
      }
    },
    async remove(tenantId) {
      const organization = await organizations.find(tenantId)
      if (organization === undefined) return
      for (const { alias } of await providersOf(admin, organization)) {
        await admin.call('DELETE', pathOf(alias), { accepted: [404] })
      }
      // Members stay: they belong to the tenant however they sign in.
      const change = { ...organization, domains: [] }
      await admin.call('PUT', `/organizations/${organization.id}`, { body: change })
    },
  }
}

async function providersOf(admin: KeycloakAdmin, { id }: OrganizationRepresentation) {
  const { body } = await admin.call('GET', `/organizations/${id}/identity-providers`)
  return parseAdminAnswer(z.array(ProviderRepresentation), body)
}

async function applyProvider(
  admin: KeycloakAdmin,
  tenant: FederatedTenant,
  organization: { id: string; linked: ReadonlySet<string> },
  provider: FederatedProvider,
): Promise<void> {
  const alias = brokerAlias(tenant.tenantId, provider.alias)
  const { status, body } = await admin.call('GET', pathOf(alias), { accepted: [404] })
  const before = status === 404 ? undefined : parseAdminAnswer(ProviderRepresentation, body)
  const known = provider.metadata === undefined ? {} : await readMetadata(admin, provider.alias, provider.metadata)
  const wanted = representationOf(tenant, provider, alias, known)
  if (before === undefined) {
    await admin.call('POST', '/identity-provider/instances', { body: wanted })
  } else {
    // Replaces the whole configuration: a key that the tenant or its metadata has dropped must not stay trusted.
    const { clientSecret } = before.config
    const config = { ...(clientSecret !== undefined && { clientSecret }), ...wanted.config }
    await admin.call('PUT', pathOf(alias), { body: { ...before, ...wanted, config } })
  }
  const link = `/organizations/${organization.id}/identity-providers`
  if (before === undefined || !organization.linked.has(alias))
    await admin.call('POST', link, { body: alias, accepted: [409] })
  await mapEmail(admin, alias, provider)
}

/** Keycloak parses SAML metadata itself; the platform fetches it. */
async function readMetadata(admin: KeycloakAdmin, alias: string, metadata: string): Promise<Record<string, string>> {
  const line = `freehold-${randomUUID()}`
  const part = (name: string, rest: string, text: string) =>
    `--${line}\r\nContent-Disposition: form-data; name="${name}"${rest}\r\n\r\n${text}\r\n`
  const file = '; filename="metadata.xml"\r\nContent-Type: application/xml'
  const text = `${part('providerId', '', 'saml')}${part('file', file, metadata)}--${line}--\r\n`
  const raw = { type: `multipart/form-data; boundary=${line}`, text }
  // Keycloak may answer 500 to malformed metadata.
  const accepted = [400, 500]
  const { status, body } = await admin.call('POST', '/identity-provider/import-config', { raw, accepted })
  if (accepted.includes(status))
    throw new IdentityProviderError('Unavailable', `Keycloak cannot read the SAML metadata of "${alias}".`)
  return parseAdminAnswer(z.record(z.string(), z.string()), body)
}

const Mapper = z.looseObject({
  id: z.string(),
  name: z.string(),
  identityProviderMapper: z.string().optional(),
  config: z.record(z.string(), z.string()).default({}),
})

/** Maps the email claim, unless it is the default. The mapper is updated in place, because users may be signing in. */
async function mapEmail(admin: KeycloakAdmin, alias: string, { protocol, emailClaim }: FederatedProvider) {
  const path = `${pathOf(alias)}/mappers`
  const { body } = await admin.call('GET', path)
  const before = parseAdminAnswer(z.array(Mapper), body).find(({ name }) => name === EMAIL_MAPPER)
  const at = `${path}/${before?.id}`
  if (emailClaim === 'email' && protocol === 'Oidc') {
    if (before !== undefined) await admin.call('DELETE', at, { accepted: [404] })
    return
  }
  const isOidc = protocol === 'Oidc'
  const mapper = {
    name: EMAIL_MAPPER,
    identityProviderAlias: alias,
    identityProviderMapper: isOidc ? 'oidc-user-attribute-idp-mapper' : 'saml-user-attribute-idp-mapper',
    config: {
      [isOidc ? 'claim' : 'attribute.name']: emailClaim,
      'user.attribute': 'email',
      syncMode: SYNC_MODE,
    },
  }
  if (before === undefined) await admin.call('POST', path, { body: mapper })
  else if (!isMapped(before, mapper)) await admin.call('PUT', at, { body: { ...mapper, id: before.id } })
}

type WantedMapper = { identityProviderMapper: string; config: Record<string, string> }

function isMapped(before: z.output<typeof Mapper>, { identityProviderMapper, config }: WantedMapper): boolean {
  if (before.identityProviderMapper !== identityProviderMapper) return false
  return Object.entries(config).every(([name, value]) => before.config[name] === value)
}

function representationOf(
  tenant: FederatedTenant,
  provider: FederatedProvider,
  alias: string,
  imported: Record<string, string>,
) {
  const { protocol, displayName, enabled, trustEmail } = provider
  const [domain] = tenant.domains
  return {
    alias,
    displayName,
    providerId: protocol === 'Saml' ? 'saml' : 'oidc',
    enabled,
    trustEmail,
    // Users find it by their email address; the login page would list all tenants' providers to everyone.
    hideOnLogin: true,
    config: {
      [ALIAS]: provider.alias,
      syncMode: SYNC_MODE,
      ...(domain === undefined
        ? {}
        : {
            'kc.org.domain': tenant.domains.length === 1 ? domain : 'ANY',
            'kc.org.broker.redirect.mode.email-matches': 'true',
          }),
      ...imported,
      ...(protocol === 'Saml' ? samlConfig(provider) : oidcConfig(provider)),
    },
  }
}

function oidcConfig(provider: FederatedProvider): Record<string, string> {
  return withoutUndefined({
    issuer: provider.issuer,
    authorizationUrl: provider.authorizationUrl,
    tokenUrl: provider.tokenUrl,
    jwksUrl: provider.jwksUrl,
    clientId: provider.clientId,
    clientSecret: provider.clientSecret,
    clientAuthMethod: 'client_secret_post',
    useJwksUrl: 'true',
    validateSignature: 'true',
    pkceEnabled: 'true',
    pkceMethod: 'S256',
    defaultScope: 'openid email profile',
  })
}

function samlConfig(provider: FederatedProvider): Record<string, string> {
  return withoutUndefined({
    idpEntityId: provider.issuer,
    entityId: provider.clientId,
    singleSignOnServiceUrl: provider.authorizationUrl,
    // Keycloak expects bare base64, without PEM armour.
    signingCertificate: provider.signingCertificate?.replace(/-----(BEGIN|END) CERTIFICATE-----|\s/g, ''),
    validateSignature: 'true',
    wantAssertionsSigned: 'true',
    postBindingAuthnRequest: 'false',
    principalType: 'SUBJECT',
    nameIDPolicyFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
  })
}

function withoutUndefined(fields: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}
