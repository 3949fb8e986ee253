import { BlockList, isIP } from 'node:net'
import { metadataNetworks } from './metadataServices.ts'
import { INVISIBLE_CHARACTERS } from './shownText.ts'

/**
 * Whether the platform may call an address that a tenant named (records of section 0.8): https, no user part, and no
 * loopback, private, link-local, metadata or otherwise special address. This is checked twice: the URL when it is
 * written, and the addresses that its name resolves to when it is called, because a name may resolve differently later.
 */
export type VettedUrl =
  | { readonly isAllowed: true; readonly url: URL }
  | { readonly isAllowed: false; readonly why: string }

/** The start of a character class that excludes spaces, hidden characters and `@`. `\s` differs in the API server. */
const VISIBLE_CLASS = String.raw`[^\p{Zs}${INVISIBLE_CHARACTERS}@`

const PORT = '(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3})'

/** Patterns of fields with a URL that the platform calls. */
export const OUTGOING_URL_PATTERNS = {
  https: new RegExp(`^https://${VISIBLE_CLASS}]+$`, 'u'),
  repository: new RegExp(`^https://${VISIBLE_CLASS}?#]+$`, 'u'),
  source: new RegExp(`^(https://${VISIBLE_CLASS}?#]+|ssh://([a-z0-9._-]{1,64}@)?${VISIBLE_CLASS}?#]+)$`, 'u'),
  proxy: new RegExp(
    `^https://([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z][a-z0-9-]*[a-z0-9](:${PORT})?(/[A-Za-z0-9._~/-]*)?$`,
  ),
} as const
/** The pattern for a page to which a browser is redirected. */
export const PAGE_URL = new RegExp(`^https?://${VISIBLE_CLASS}]+$`, 'u')
/** The pattern for a store, which may be at any address. */
export const STORE_URL = new RegExp(`^https?://${VISIBLE_CLASS}/?#]+(/${VISIBLE_CLASS}?#]*)?$`, 'u')
const CALLED_PATTERNS = new Set<string | undefined>(Object.values(OUTGOING_URL_PATTERNS).map(String))

/** Whether a value that violates one of these patterns is a URL, but one that the platform never calls. */
export function isForbiddenOutgoingUrl(pattern: string | undefined, text: unknown): boolean {
  if (!CALLED_PATTERNS.has(pattern) || typeof text !== 'string') return false
  return URL.canParse(text) && !vetOutgoingUrl(text).isAllowed
}

/** The IANA registries of special-purpose addresses (RFC 6890), and multicast. */
const SPECIAL_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // That of Azure is public by its number.
  ...metadataNetworks(4),
]
/** Only 2000::/3 of IPv6 is global. These ranges are not, or embed an IPv4 address that would be reached. */
const SPECIAL_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

const special = new BlockList()
for (const network of SPECIAL_V4) addNetwork(network, 'ipv4')
for (const network of SPECIAL_V6) addNetwork(network, 'ipv6')
const globalV6 = new BlockList()
globalV6.addSubnet('2000::', 3, 'ipv6')

function addNetwork(network: string, family: 'ipv4' | 'ipv6'): void {
  const [address = '', prefix = ''] = network.split('/')
  special.addSubnet(address, Number(prefix), family)
}

/** Rewrites an ssh URL to https for vetting: the host counts. ssh needs its user, but a password stays refused. */
export function sshAsHttps(address: string): string {
  return address.replace(/^ssh:\/\/([^@/:]*@)?/, 'https://')
}

/** Suffixes that mean this machine or a private network, whatever a resolver returns. */
const INSIDE_SUFFIXES = [
  'localhost',
  'local',
  'internal',
  'intranet',
  'lan',
  'home',
  'corp',
  'svc',
  'home.arpa',
  'localdomain',
]

/** Whether an address that a resolver returned can be reached by everybody on the Internet. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !special.check(address, 'ipv4')
  // A zone names an interface of this machine.
  if (family !== 6 || address.includes('%')) return false
  return globalV6.check(address, 'ipv6') && !special.check(address, 'ipv6')
}

/**
 * Parses the text as browsers do (WHATWG URL), so that every spelling of an address is recognized.
 *
 * @param allowedHosts configured hosts, exactly as the URL names them, with their port if it is not 443
 */
export function vetOutgoingUrl(text: string, allowedHosts: readonly string[] = []): VettedUrl {
  if (text.length > 2048 || !URL.canParse(text)) return refused('it is not a URL')
  const url = new URL(text)
  if (url.protocol !== 'https:') return refused('it is not https')
  if (url.username !== '' || url.password !== '') return refused('it contains credentials')
  if (allowedHosts.includes(url.host)) return { isAllowed: true, url }
  const host = url.hostname.replace(/\.$/, '')
  if (host.startsWith('[')) {
    return isPublicAddress(host.slice(1, -1)) ? { isAllowed: true, url } : refused('its address is not public')
  }
  if (isIP(host) !== 0) return isPublicAddress(host) ? { isAllowed: true, url } : refused('its address is not public')
  if (!host.includes('.')) return refused('its host name is internal')
  const isInside = INSIDE_SUFFIXES.some((suffix) => host === suffix || host.endsWith(`.${suffix}`))
  return isInside ? refused('its host name is internal') : { isAllowed: true, url }
}

function refused(why: string): VettedUrl {
  return { isAllowed: false, why }
}
