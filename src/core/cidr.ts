import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * `address/prefix` in canonical form: a known family, a prefix in range and no bit set behind it, written as RFC 5952
 * has it. As in the API server, an IPv4 network has one spelling only, and none in IPv6.
 */
export function isCanonicalCidr(text: string): boolean {
  const [address = '', prefix = '', ...rest] = text.split('/')
  // The library takes shorter and octal spellings and zones too.
  if (isIP(address) === 0 || address.includes('%') || rest.length > 0 || !/^(0|[1-9][0-9]{0,2})$/.test(prefix))
    return false
  const { IPv4, IPv6 } = ipaddr
  const family = IPv4.isValid(address) ? IPv4 : IPv6
  if (!family.isValidCIDR(text)) return false
  if (family === IPv6 && IPv6.parse(address).isIPv4MappedAddress()) return false
  return `${family.networkAddressFromCIDR(text).toString()}/${prefix}` === text
}

/** A list as `allowedCidrs` holds it: comma-separated, at most 50 canonical networks, no spaces. */
export function isCidrList(text: string): boolean {
  const parts = text.split(',')
  return parts.length <= 50 && parts.every(isCanonicalCidr)
}

/** The networks that may connect, of a checked list; undefined for no restriction. */
export function sourceRanges(allowedCidrs: string | undefined): string[] | undefined {
  return allowedCidrs === undefined || allowedCidrs === '' ? undefined : allowedCidrs.split(',')
}
