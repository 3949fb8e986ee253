import type { ProtectedResourceDto } from './generated.ts'

/**
 * Who issues the tokens of a platform, for OpenID Connect discovery: `issuerOf(await client.oauthProtectedResource.get(), baseUrl)`.
 *
 * @throws Error if it says that it is at another address: whoever answers here could otherwise send people to sign in
 *   anywhere, for tokens of a platform that it is not (RFC 9728 section 3.3)
 */
export function issuerOf({ resource, authorization_servers }: ProtectedResourceDto, baseUrl: string): string {
  const [issuer] = authorization_servers
  if (plain(resource) !== plain(baseUrl))
    throw new Error(`The platform at ${plain(baseUrl)} says that it is at ${resource}.`)
  if (issuer === undefined) throw new Error('The platform names no issuer of tokens.')
  return issuer
}

/** The one spelling of an address, without a closing slash. */
const plain = (url: string) => new URL(url).href.replace(/\/+$/, '')
