import { z } from 'zod'
import { parsedJson } from '../core/parsedJson.ts'

/** Where an OpenID provider does what (OpenID Connect Discovery 1.0 section 3). */
export type OidcEndpoints = {
  issuer: string
  authorizationUrl: string
  tokenUrl: string
  jwksUrl: string
  /** How clients show their secret at the token endpoint; basic where it says nothing. */
  tokenAuthMethods?: string[] | undefined
  /** RS256 where it says nothing. */
  signingAlgorithms?: string[] | undefined
}

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

/** Undefined if it is not a discovery document of the issuer that its address names (section 4.3). */
export function readDiscovery(text: string, metadataUrl: string): OidcEndpoints | undefined {
  const found = Discovery.safeParse(parsedJson(text))
  if (!found.success) return undefined
  const { issuer, authorization_endpoint: authorizationUrl, token_endpoint: tokenUrl, jwks_uri: jwksUrl } = found.data
  // A document that speaks of another issuer would let one provider speak for another.
  const named = metadataUrl.endsWith(WELL_KNOWN) ? metadataUrl.slice(0, -WELL_KNOWN.length) : undefined
  if (named !== undefined && issuer.replace(/\/$/, '') !== named.replace(/\/$/, '')) return undefined
  const {
    token_endpoint_auth_methods_supported: tokenAuthMethods,
    id_token_signing_alg_values_supported: signingAlgorithms,
  } = found.data
  return { issuer, authorizationUrl, tokenUrl, jwksUrl, tokenAuthMethods, signingAlgorithms }
}

/** Whether a text is metadata of a SAML entity, as far as can be told without reading all of it. */
export function isSamlMetadata(text: string): boolean {
  return /<(?:[A-Za-z0-9]+:)?(?:EntityDescriptor|EntitiesDescriptor)[\s>]/.test(text) && !/<!DOCTYPE/i.test(text)
}
