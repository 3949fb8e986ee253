import type { ProtectedResourceDto } from './generated.ts'

/**
 * Returns the token issuer of a platform, for OpenID Connect discovery: `issuerOf(await
 * client.oauthProtectedResource.get(), baseUrl)`.
 * @throws Error if the platform claims a different address: an impostor could otherwise send people to any issuer to
 * obtain tokens for another platform (RFC 9728 section 3.3)
 */
export function issuerOf({ resource, authorization_servers }: ProtectedResourceDto, baseUrl: string): string {
  const [issuer] = authorization_servers
  if (plain(resource) !== plain(baseUrl))
    throw new Error(`The platform at ${plain(baseUrl)} says that it is at ${resource}.`)
  if (issuer === undefined) throw new Error('The platform names no issuer of tokens.')
  return issuer
}

/** Normalizes a URL, without a trailing slash. */
const plain = (url: string) => new URL(url).href.replace(/\/+$/, '')
