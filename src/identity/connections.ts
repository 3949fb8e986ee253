import { domainOf, SSO_SECRET_KEY } from '../contracts/sso.ts'
import { parseProviderMetadata } from '../contracts/ssoDiscovery.ts'
import { type Complete, completeProvider } from '../contracts/ssoProviders.ts'
import { SYSTEM_NAMESPACE } from '../core/names.ts'
import { type SecretObject, secretText } from '../core/secretData.ts'
import type { SsoConnection, SsoIdentityProvider } from '../crds/sso.ts'
import * as builtin from '../kube/builtin.ts'
import type { KubeClient } from '../kube/client.ts'
import { absent } from '../kube/errors.ts'
import type { KubeObject } from '../kube/object.ts'

/** Calls a URL that a tenant configured. The implementation checks the address and limits the response. */
export type ExternalFetch = (
  url: string,
  options?: { method?: string; headers?: Record<string, string>; body?: string; signal?: AbortSignal | undefined },
) => Promise<Response>

/** An identity provider of a tenant, with everything needed to redirect people there and to verify the response. */
export type ExternalProvider = {
  tenantId: string
  alias: string
  displayName: string
  issuer: string
  authorizationUrl: string
  tokenUrl: string
  jwksUrl: string
  tokenAuthMethods?: string[] | undefined
  signingAlgorithms?: string[] | undefined
  clientId: string
  clientSecret: string
  emailClaim: string
  trustEmail: boolean
  /** The verified domains of the tenant. Addresses in other domains are refused. */
  domains: readonly string[]
}

/** The identity providers of tenants. */
export interface Connections {
  /** Returns the first enabled provider, in the tenant's order, for an address in a verified domain. */
  forAddress(address: string): Promise<Pick<ExternalProvider, 'tenantId' | 'alias' | 'displayName'> | undefined>
  /** Undefined if deleted or disabled. @throws Error if its metadata is unreadable; the message quotes no response */
  open(tenantId: string, alias: string): Promise<ExternalProvider | undefined>
}

type ConnectionObject = SsoConnection & KubeObject

/** @param list returns all SsoConnection objects, from a cache if available */
export function kubeConnections(
  client: Pick<KubeClient, 'get'>,
  list: () => Promise<readonly ConnectionObject[]>,
  fetch: ExternalFetch,
): Connections {
  const isUsable = ({ protocol, enabled }: Complete<SsoIdentityProvider>) => enabled && protocol === 'Oidc'
  return {
    async forAddress(address) {
      const domain = domainOf(address)
      if (domain === undefined) return undefined
      const found = (await list()).find((connection) => verifiedDomains(connection).includes(domain))
      const provider = found?.spec.identityProviders.map(completeProvider).find(isUsable)
      if (found === undefined || provider === undefined) return undefined
      return { tenantId: found.metadata.name, alias: provider.alias, displayName: provider.displayName }
    },
    async open(tenantId, alias) {
      const found = (await list()).find(({ metadata }) => metadata.name === tenantId)
      const provider = found?.spec.identityProviders
        .map(completeProvider)
        .find((one) => one.alias === alias && isUsable(one))
      if (found === undefined || provider === undefined) return undefined
      const { clientId, clientSecretName, displayName, emailClaim, trustEmail } = provider
      const clientSecret = clientSecretName === undefined ? undefined : await readSecret(client, clientSecretName)
      const endpoints = await endpointsOf(provider, fetch)
      if (clientId === undefined || clientSecret === undefined || endpoints === undefined) {
        throw new Error(`The identity provider ${alias} of the tenant ${tenantId} is not complete.`)
      }
      const domains = verifiedDomains(found)
      return { ...endpoints, tenantId, alias, displayName, clientId, clientSecret, emailClaim, trustEmail, domains }
    },
  }
}

function verifiedDomains({ metadata, spec, status }: ConnectionObject): string[] {
  if (metadata.deletionTimestamp !== undefined) return []
  const verified = (status?.domains ?? []).filter((one) => one.status === 'Verified').map(({ domain }) => domain)
  return spec.domains.filter((domain) => verified.includes(domain))
}

/** Explicitly configured endpoints take precedence over the metadata. */
async function endpointsOf(provider: Complete<SsoIdentityProvider>, fetch: ExternalFetch) {
  const { metadataUrl, issuer, authorizationUrl, tokenUrl, jwksUrl } = provider
  const found = metadataUrl === undefined ? undefined : await fetchEndpoints({ ...provider, metadataUrl }, fetch)
  const all = {
    ...found,
    issuer: issuer ?? found?.issuer,
    authorizationUrl: authorizationUrl ?? found?.authorizationUrl,
    tokenUrl: tokenUrl ?? found?.tokenUrl,
    jwksUrl: jwksUrl ?? found?.jwksUrl,
  }
  const isWhole = [all.issuer, all.authorizationUrl, all.tokenUrl, all.jwksUrl].every((one) => one !== undefined)
  return isWhole
    ? (all as Required<Pick<ExternalProvider, 'issuer' | 'authorizationUrl' | 'tokenUrl' | 'jwksUrl'>>)
    : undefined
}

async function fetchEndpoints(provider: Complete<SsoIdentityProvider> & { metadataUrl: string }, fetch: ExternalFetch) {
  const read = parseProviderMetadata(await fetchDocument(provider.metadataUrl, fetch), provider)
  if ('why' in read) throw new Error(`The metadata of the identity provider ${provider.alias} ${read.why}.`)
  return read.endpoints
}

async function fetchDocument(url: string, fetch: ExternalFetch): Promise<string> {
  const answer = await fetch(url)
  if (answer.status !== 200) throw new Error(`${new URL(url).host} answers with status ${answer.status}.`)
  return answer.text()
}

async function readSecret(client: Pick<KubeClient, 'get'>, name: string): Promise<string | undefined> {
  const found = await client.get<SecretObject>(builtin.secret, { namespace: SYSTEM_NAMESPACE, name }).catch(absent)
  return secretText(found?.data, SSO_SECRET_KEY) || undefined
}
