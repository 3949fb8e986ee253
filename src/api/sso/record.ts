import { z } from 'zod'
import type { Federation } from '../../adapters/identity/port.ts'
import type { OutgoingPort } from '../../adapters/outgoing/port.ts'
import { brokerCallback, verificationRecord } from '../../contracts/sso.ts'
import { completeProvider } from '../../contracts/ssoProviders.ts'
import { notFound } from '../../core/errors.ts'
import { isUuid, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { CertificatesPem, DisplayName, PlainText, ResourceName, StoredDisplayName } from '../../crds/fields.ts'
import { PlatformTenant } from '../../crds/rbac.ts'
import { ClaimName, SSO_PROTOCOLS, type SsoConnection, SsoIdentityProvider } from '../../crds/sso.ts'
import type { Context, Services } from '../http/context.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { isEnabled } from '../people/singleSignOn.ts'
import type { RecordOf } from '../records/records.ts'
import type { SecretReader } from '../records/secrets.ts'
import { DateTime, DnsRecordDto, Uuid, wholeRecord } from '../resources/dto.ts'
import { withKindDescriptions } from '../resources/writtenBody.ts'
import type { SsoSecrets } from './secrets.ts'

export type SsoServices = {
  readonly federation: Federation
  readonly outgoing: OutgoingPort
  /** Hosts that may be called at any address. */
  readonly allowedHosts: readonly string[]
  readonly secrets: SsoSecrets & SecretReader
  /** The issuer of the platform's own tokens; redirect URIs are below it. */
  readonly issuer: string
}

declare module '../http/context.ts' {
  interface Services {
    readonly sso: SsoServices
  }
}

export type ConnectionRecord = RecordOf<typeof SsoConnection>
export const TENANT_PATH = '/admin/tenants/{tenantId}'

export const SsoIdentityProviderDto = namedRecord('SsoIdentityProviderDto', {
  alias: z.string(),
  displayName: z.string(),
  protocol: z.enum(SSO_PROTOCOLS),
  metadataUrl: z.string().nullable(),
  issuer: z.string().nullable(),
  authorizationUrl: z.string().nullable(),
  tokenUrl: z.string().nullable(),
  jwksUrl: z.string().nullable(),
  clientId: z.string().nullable(),
  hasClientSecret: z.boolean(),
  signingCertificate: z.string().nullable(),
  emailClaim: z.string(),
  trustEmail: z.boolean(),
  enabled: z.boolean(),
  defaultRoleDefinitionName: z.string().nullable(),
  redirectUri: z.string().describe('To be entered at the identity provider'),
  status: z.enum(['Active', 'Disabled', 'Failing']),
  lastError: z.string().nullable(),
})
export type SsoIdentityProviderDto = z.output<typeof SsoIdentityProviderDto>

export const SsoDto = namedRecord('SsoDto', {
  tenantId: Uuid,
  enabled: z.boolean().describe('Whether anybody can sign in through it: a verified domain and an enabled provider'),
  domains: z.array(
    namedRecord('SsoDomainDto', {
      domain: z.string(),
      status: z.enum(['Pending', 'Verified', 'Failed']),
      verificationRecord: DnsRecordDto.describe('What the owner of the domain publishes'),
      verifiedAt: DateTime.nullable(),
    }),
  ),
  identityProviders: z.array(SsoIdentityProviderDto),
  signInUrl: z.string(),
})

const Address = z.string().min(1).max(2048)
const Protocol = z.enum(SSO_PROTOCOLS).describe('Saml with Keycloak only: the local provider answers 501')
const writable = {
  displayName: DisplayName,
  metadataUrl: Address.nullish(),
  issuer: Address.nullish(),
  authorizationUrl: Address.nullish(),
  tokenUrl: Address.nullish(),
  jwksUrl: Address.nullish(),
  clientId: PlainText.min(1).max(256).nullish(),
  clientSecret: z.string().min(1).max(4096).nullish().describe('Shown by no answer'),
  signingCertificate: CertificatesPem.max(16384).nullish(),
  emailClaim: ClaimName.nullish(),
  trustEmail: z.boolean().nullish(),
  enabled: z.boolean().nullish(),
  defaultRoleDefinitionName: StoredDisplayName.nullish(),
}

export const CreateSsoIdentityProviderRequest = withKindDescriptions(
  strictRecord('CreateSsoIdentityProviderRequest', {
    alias: ResourceName,
    protocol: Protocol.default('Oidc'),
    ...writable,
  }),
  { spec: SsoIdentityProvider },
)
export type CreateSsoIdentityProviderRequest = z.output<typeof CreateSsoIdentityProviderRequest>

/** The result of a merge patch on a stored provider. */
export const PatchedProvider = withKindDescriptions(
  z.strictObject({ alias: ResourceName, protocol: Protocol, ...writable }),
  {
    spec: SsoIdentityProvider,
  },
)
const PROVIDER_FIELDS: ReadonlySet<string> = new Set(Object.keys(PatchedProvider.shape))
export const SHOWN_FIELDS: ReadonlySet<string> = new Set(
  Object.keys(SsoIdentityProviderDto.shape).filter((name) => !PROVIDER_FIELDS.has(name)),
)

/** @throws PlatformError NOT_FOUND if the tenant does not exist */
export async function requireTenant({
  services,
  parameters,
}: Context<'tenantId'>): Promise<RecordOf<typeof PlatformTenant>> {
  const { tenantId } = parameters
  const found = isUuid(tenantId) ? await services.records.get(PlatformTenant, { name: tenantId }) : undefined
  if (found === undefined || found.metadata.deletionTimestamp !== undefined) {
    throw notFound(`Tenant "${tenantId.slice(0, 64)}"`)
  }
  return found
}

export const connectionRef = (tenantId: string) => ({ namespace: SYSTEM_NAMESPACE, name: tenantId })

export function providerDto(
  { sso }: Services,
  tenantId: string,
  given: SsoIdentityProvider,
  status: ConnectionRecord['status'],
): SsoIdentityProviderDto {
  const provider = completeProvider(given)
  const known = status?.identityProviders?.find(({ alias }) => alias === provider.alias)
  const isFailing = provider.enabled && known?.status === 'Failing'
  return wholeRecord(SsoIdentityProviderDto, {
    ...provider,
    hasClientSecret: provider.clientSecretName !== undefined,
    redirectUri: brokerCallback(sso.issuer, tenantId, provider.alias),
    status: !provider.enabled ? 'Disabled' : isFailing ? 'Failing' : 'Active',
    lastError: isFailing ? known?.lastError : null,
  })
}

/** @param connection undefined if the tenant has none yet */
export function ssoDto(services: Services, tenantId: string, connection: ConnectionRecord | undefined) {
  const { domains = [], identityProviders = [] } = connection?.spec ?? {}
  const known = connection?.status?.domains ?? []
  return {
    tenantId,
    enabled: connection !== undefined && isEnabled(connection),
    domains: domains.map((domain) => {
      const state = known.find((one) => one.domain === domain)
      return {
        domain,
        status: state?.status ?? ('Pending' as const),
        verificationRecord: verificationRecord(tenantId, domain),
        verifiedAt: state?.verifiedAt ?? null,
      }
    }),
    identityProviders: identityProviders.map((one) => providerDto(services, tenantId, one, connection?.status)),
    signInUrl: `${services.sso.issuer}/account`,
  }
}
