import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * Whether the text is `address/prefix` in canonical form: a known family, a prefix in range, no bit set after the
 * prefix, written as in RFC 5952. As in the API server, an IPv4 network has one spelling only, not the IPv4-mapped
 * form.
 */
export function isCanonicalCidr(text: string): boolean {
  const [address = '', prefix = ''] = text.split('/')
  if (!/^(0|[1-9][0-9]{0,2})$/.test(prefix)) return false
  const { IPv4, IPv6 } = ipaddr
  const family = IPv4.isValid(address) ? IPv4 : IPv6
  if (!family.isValidCIDR(text)) return false
  if (family === IPv6 && IPv6.parse(address).isIPv4MappedAddress()) return false
  // The library accepts shorter and octal spellings and zones too, but writes none.
  return `${family.networkAddressFromCIDR(text).toString()}/${prefix}` === text
}

/** Whether the text is `address/prefix`, even if bits are set after the prefix. */
export function isCidr(text: string): boolean {
  const [address = '', prefix = '', ...rest] = text.split('/')
  const most = isIP(address) === 4 ? 32 : isIP(address) === 6 ? 128 : -1
  return rest.length === 0 && /^(0|[1-9][0-9]{0,2})$/.test(prefix) && Number(prefix) <= most && !address.includes('%')
}

/** Whether the text has the format of `allowedCidrs`: at most 50 canonical networks, separated by commas, no spaces. */
export function isCidrList(text: string): boolean {
  const parts = text.split(',')
  return parts.length <= 50 && parts.every(isCanonicalCidr)
}

/** Returns the networks that may connect, from a validated list; undefined means no restriction. */
export function sourceRanges(allowedCidrs: string | undefined): string[] | undefined {
  return allowedCidrs === undefined || allowedCidrs === '' ? undefined : allowedCidrs.split(',')
}
