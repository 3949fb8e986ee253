import { z } from 'zod'
import { OUTGOING_URL_PATTERNS } from '../core/outgoingUrl.ts'
import { defineKind, MAX_LARGE_OBJECT_BYTES, type ObjectOf, statusColumns, statusWith } from './define.ts'
import {
  CertificatesPem,
  DateTime,
  DisplayName,
  listMapMeta,
  MissingSecrets,
  matching,
  PlainText,
  ResourceName,
  Scope,
  StoredDisplayName,
  Uuid,
} from './fields.ts'

/** An address that the platform or a browser calls: https only. Whether it may be called is checked at each call. */
export const HttpsUrl = z
  .string()
  .min(9)
  .max(2048)
  .regex(OUTGOING_URL_PATTERNS.https, 'must be an https address without a user name')

/** A DNS name in its ASCII form, at least two labels. */
export const DomainName = matching(
  253,
  /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/,
  'must be a domain in lower case, such as example.com',
)

/** The same in either case; stored in lower case. */
export const DomainInAnyCase = z
  .string()
  .toLowerCase()
  .check(...(DomainName.def.checks ?? []))

/** The name of a claim (RFC 7519 section 4). */
export const ClaimName = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[!-~]+$/, 'must be ASCII characters without spaces')

/** Maximum people for whom a binding records what they have from it. */
export const BINDING_PEOPLE_MAX = 5000
const people = z.array(Uuid).max(BINDING_PEOPLE_MAX).optional()

/** Adds people about whom an issuer sends a claim to a group, or gives them a role. */
export const IdpBinding = defineKind({
  group: 'iam',
  kind: 'IdpBinding',
  restNaming: { collection: 'idp-bindings' },
  shortNames: ['idpb'],
  placement: 'platform',
  name: 'free',
  area: 'sso',
  description: 'A group, or a role at a scope, for people about whom an external issuer sends a claim.',
  spec: z.strictObject({
    tenantId: Uuid.describe('Id of the PlatformTenant of the people; immutable'),
    issuer: HttpsUrl.describe('Exactly the iss claim of the external issuer; immutable'),
    claim: ClaimName.default('groups').describe('Name of the claim to check; immutable'),
    claimValue: PlainText.min(1)
      .max(256)
      .describe('Value that the claim must have or, as a list, contain, compared exactly; immutable'),
    groupId: Uuid.optional().describe('Id of the PrincipalGroup that they join; absent if a role is given; immutable'),
    roleDefinitionName: StoredDisplayName.optional().describe(
      'The display name of the role that they get at the scope; absent if there is a group; immutable',
    ),
    scope: Scope.optional().describe(
      'Scope where the role applies, with everything below: /, a boundary, a resource group or a resource; immutable',
    ),
    scopeIncarnation: PlainText.max(64)
      .optional()
      .describe('Incarnation of the object at the scope, so that a recreated one inherits no binding; immutable'),
  }),
  status: statusWith({
    memberIds: people.describe(
      'People who have the role or the membership from the binding, and lose it with the binding',
    ),
    changingIds: people.describe('People who are about to get it, or to lose it'),
    leftIds: people.describe(
      'People whom the issuer names but from whom somebody took it away; removed once the issuer no longer names them',
    ),
  }),
  immutable: [
    'tenantId',
    'issuer',
    'claim',
    'claimValue',
    'groupId',
    'roleDefinitionName',
    'scope',
    'scopeIncarnation',
  ],
  rules: [
    {
      cel: 'has(self.groupId) != has(self.roleDefinitionName) && has(self.roleDefinitionName) == has(self.scope)',
      message: 'a binding must name either groupId, or roleDefinitionName and scope',
      field: 'groupId',
      test: ({ groupId, roleDefinitionName, scope }) =>
        (groupId !== undefined) !== (roleDefinitionName !== undefined) &&
        (roleDefinitionName !== undefined) === (scope !== undefined),
    },
  ],
  columns: [
    { name: 'Tenant', path: '.spec.tenantId' },
    { name: 'Issuer', path: '.spec.issuer' },
    { name: 'Value', path: '.spec.claimValue' },
    { name: 'Role', path: '.spec.roleDefinitionName' },
    { name: 'Group', path: '.spec.groupId', priority: 1 },
  ],
})
export type IdpBinding = ObjectOf<typeof IdpBinding>

export const SSO_PROTOCOLS = ['Oidc', 'Saml'] as const
export type SsoProtocol = (typeof SSO_PROTOCOLS)[number]

export const SsoIdentityProvider = z.strictObject({
  alias: ResourceName.describe('Name of the provider, unique in the tenant'),
  displayName: DisplayName,
  protocol: z
    .enum(SSO_PROTOCOLS)
    .optional()
    .describe(
      'Oidc is OpenID Connect, Saml is SAML 2.0, which the local provider does not speak; Oidc when absent; immutable',
    ),
  metadataUrl: HttpsUrl.optional().describe(
    'Discovery document (Oidc) or metadata (Saml), used for the fields below that are absent',
  ),
  issuer: HttpsUrl.optional().describe('Its iss claim (Oidc) or entity id (Saml); from the metadata when absent'),
  authorizationUrl: HttpsUrl.optional().describe('Where people are sent to sign in; from the metadata when absent'),
  tokenUrl: HttpsUrl.optional().describe('Token endpoint (Oidc); from the metadata when absent'),
  jwksUrl: HttpsUrl.optional().describe('Address of its signing keys (Oidc); from the metadata when absent'),
  clientId: PlainText.min(1)
    .max(256)
    .optional()
    .describe('Client id of the platform at the provider; required for Oidc'),
  clientSecretName: ResourceName.optional().describe(
    'A Secret in the same namespace whose key client-secret holds the secret; required for Oidc',
  ),
  signingCertificate: CertificatesPem.max(16384)
    .optional()
    .describe('Certificate that its answers are signed with (Saml), as PEM; from the metadata when absent'),
  emailClaim: ClaimName.optional().describe(
    'Name of the claim with the e-mail address, which must be of a verified domain; email when absent',
  ),
  trustEmail: z
    .boolean()
    .optional()
    .describe('Whether addresses from the provider count as verified; false when absent'),
  enabled: z.boolean().optional().describe('Whether people may sign in through it; true when absent'),
  defaultRoleDefinitionName: StoredDisplayName.optional().describe(
    'Only stored and shown: bindings determine what people get',
  ),
})
export type SsoIdentityProvider = z.output<typeof SsoIdentityProvider>
const isSaml = ({ protocol }: SsoIdentityProvider) => protocol === 'Saml'
const aliases = (providers: readonly SsoIdentityProvider[]) => providers.map(({ alias }) => alias)

/** Single sign-on of a tenant's people. There is one for each tenant, under the tenant's id. */
export const SsoConnection = defineKind({
  group: 'iam',
  kind: 'SsoConnection',
  restNaming: { collection: 'sso' },
  shortNames: ['sso'],
  placement: 'platform',
  bytesMax: MAX_LARGE_OBJECT_BYTES,
  name: 'uuid',
  area: 'sso',
  description:
    'Single sign-on of a tenant: its domains and the identity providers of its people. Its name is the tenantId; its secrets are in Secrets.',
  spec: z.strictObject({
    domains: z
      .array(DomainName)
      .max(50)
      .default([])
      .describe('Domains of e-mail addresses of the tenant; each counts once it is verified by a TXT record'),
    identityProviders: z
      .array(SsoIdentityProvider)
      .max(20)
      // Otherwise the API server would validate every provider again when one of them changes.
      .meta(listMapMeta('alias'))
      .default([])
      .describe(
        'Where people of the domains sign in, each under an alias of its own; the first enabled one takes them',
      ),
  }),
  status: statusWith({
    domains: z
      .array(
        z.object({
          domain: z.string().describe('Domain, as in spec.domains'),
          status: z
            .enum(['Pending', 'Verified', 'Failed'])
            .describe(
              'Pending until the TXT record is seen, Verified from then on, Failed if another tenant has the domain',
            ),
          verifiedAt: DateTime.optional().describe('When the TXT record was first seen'),
        }),
      )
      .max(50)
      .describe('Verification of each domain'),
    identityProviders: z
      .array(
        z.object({
          alias: z.string().describe('Alias, as in spec.identityProviders'),
          status: z
            .enum(['Active', 'Disabled', 'Failing'])
            .describe('Active while its metadata can be read, Failing while it cannot, Disabled by the spec'),
          lastError: z.string().optional().describe('Why its metadata could not be read; absent while it can'),
        }),
      )
      .max(20)
      .describe('State of each identity provider'),
    missingSecrets: MissingSecrets,
  }),
  rules: [
    {
      cel: 'self.domains.all(d, self.domains.exists_one(e, e == d))',
      message: 'each domain must be named once',
      field: 'domains',
      test: ({ domains }) => new Set(domains).size === domains.length,
    },
    {
      cel: 'self.identityProviders.all(p, self.identityProviders.exists_one(q, q.alias == p.alias))',
      message: 'each identity provider must have an alias of its own',
      field: 'identityProviders',
      test: ({ identityProviders: all }) => new Set(aliases(all)).size === all.length,
    },
    {
      cel: "self.identityProviders.all(p, has(p.metadataUrl) || (has(p.issuer) && has(p.authorizationUrl) && (has(p.protocol) && p.protocol == 'Saml' ? has(p.signingCertificate) : has(p.tokenUrl) && has(p.jwksUrl))))",
      message:
        'an identity provider must name metadataUrl, or all of issuer, authorizationUrl, tokenUrl and jwksUrl (Saml: issuer, authorizationUrl and signingCertificate)',
      field: 'identityProviders',
      test: ({ identityProviders }) => identityProviders.every(isProviderUsable),
    },
    {
      cel: "self.identityProviders.all(p, (has(p.protocol) && p.protocol == 'Saml') || (has(p.clientId) && has(p.clientSecretName)))",
      message: 'an identity provider of the protocol Oidc needs a client id and a client secret',
      field: 'identityProviders',
      test: ({ identityProviders }) =>
        identityProviders.every(
          ({ protocol, clientId, clientSecretName }) =>
            protocol === 'Saml' || (clientId !== undefined && clientSecretName !== undefined),
        ),
    },
    {
      cel: 'self.identityProviders.all(p, oldSelf.identityProviders.all(o, o.alias != p.alias || (has(o.protocol) && o.protocol == "Saml") == (has(p.protocol) && p.protocol == "Saml")))',
      message: 'protocol of an identity provider cannot be changed after creation',
      field: 'identityProviders',
      test: (next, previous) =>
        next.identityProviders.every((one) =>
          previous.identityProviders.every((before) => before.alias !== one.alias || isSaml(before) === isSaml(one)),
        ),
    },
  ],
  columns: [
    ...statusColumns,
    { name: 'Domains', path: '.spec.domains' },
    { name: 'First Provider', path: '.spec.identityProviders[0].alias' },
  ],
})
export type SsoConnection = ObjectOf<typeof SsoConnection>

/** Whether enough is known about a provider to send people there. */
export function isProviderUsable(provider: SsoIdentityProvider): boolean {
  if (provider.metadataUrl !== undefined) return true
  const { protocol, issuer, authorizationUrl, tokenUrl, jwksUrl, signingCertificate } = provider
  const needed = protocol === 'Saml' ? [signingCertificate] : [tokenUrl, jwksUrl]
  return [issuer, authorizationUrl, ...needed].every((value) => value !== undefined)
}
