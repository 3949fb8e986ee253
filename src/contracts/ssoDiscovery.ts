import { z } from 'zod'
import { parseForeignJson } from '../core/tryParseJson.ts'
import { isWellFormedXml } from '../core/wellFormedXml.ts'

/** Endpoints of an OpenID provider (OpenID Connect Discovery 1.0 section 3). */
export type OidcEndpoints = {
  issuer: string
  authorizationUrl: string
  tokenUrl: string
  jwksUrl: string
  /** How clients authenticate at the token endpoint; basic if absent. */
  tokenAuthMethods?: string[] | undefined
  /** RS256 if absent. */
  signingAlgorithms?: string[] | undefined
}

/** The settings of an identity provider that its metadata must match. */
type ProviderSettings = {
  readonly protocol: 'Oidc' | 'Saml'
  readonly metadataUrl: string
  readonly issuer?: string | undefined
}

/** `why` completes a sentence whose subject is the metadata: it cannot be used. */
export type MetadataResult = { readonly endpoints: OidcEndpoints | undefined } | { readonly why: string }

const Address = z.url({ protocol: /^https$/ }).max(2048)
const Discovery = z.object({
  issuer: Address,
  authorization_endpoint: Address,
  token_endpoint: Address,
  jwks_uri: Address,
  token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
  id_token_signing_alg_values_supported: z.array(z.string()).optional(),
})
const WELL_KNOWN = '/.well-known/openid-configuration'
const OTHER_ISSUER = 'is of a different issuer than "issuer" names'

/** Reads the metadata of an identity provider. A provider with another's issuer could sign in the other's people. */
export function parseProviderMetadata(text: string, settings: ProviderSettings): MetadataResult {
  return settings.protocol === 'Oidc' ? readDiscovery(text, settings) : readSaml(text, settings)
}

/** The issuer must match the address of the document (section 4.3), and the configured issuer. */
function readDiscovery(text: string, { metadataUrl, issuer: wanted }: ProviderSettings): MetadataResult {
  const found = Discovery.safeParse(parseForeignJson(text))
  if (!found.success) return { why: 'is not a discovery document of OpenID Connect' }
  const { issuer, authorization_endpoint: authorizationUrl, token_endpoint: tokenUrl, jwks_uri: jwksUrl } = found.data
  const named = metadataUrl.endsWith(WELL_KNOWN) ? metadataUrl.slice(0, -WELL_KNOWN.length) : undefined
  // The address of the document omits a trailing slash of the issuer (section 4.1).
  if (named !== undefined && issuer.replace(/\/$/, '') !== named.replace(/\/$/, ''))
    return { why: 'is of a different issuer than its address names' }
  if (wanted !== undefined && issuer !== wanted) return { why: OTHER_ISSUER }
  const {
    token_endpoint_auth_methods_supported: tokenAuthMethods,
    id_token_signing_alg_values_supported: signingAlgorithms,
  } = found.data
  return { endpoints: { issuer, authorizationUrl, tokenUrl, jwksUrl, tokenAuthMethods, signingAlgorithms } }
}

/** Checks as much as possible without a full parse: metadata that Keycloak cannot read must not be stored. */
function readSaml(text: string, { issuer }: ProviderSettings): MetadataResult {
  const hasElement = (name: string) => new RegExp(`<(?:[A-Za-z0-9]+:)?${name}[\\s/>]`).test(text)
  const isMetadata = hasElement('EntityDescriptor') || hasElement('EntitiesDescriptor')
  if (!isMetadata || !isWellFormedXml(text)) return { why: 'is not SAML metadata' }
  const entities = [...text.matchAll(/\sentityID\s*=\s*(?:"([^"]*)"|'([^']*)')/g)]
  const ids = entities.map(([, double, single]) => (double ?? single ?? '').replaceAll('&amp;', '&'))
  if (issuer !== undefined && !ids.includes(issuer)) return { why: OTHER_ISSUER }
  if (!hasElement('IDPSSODescriptor') || !hasElement('SingleSignOnService'))
    return { why: 'describes no identity provider at which people sign in' }
  return { endpoints: undefined }
}
