import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { METADATA_SERVICES } from './metadataServices.ts'

/**
 * Whether the platform may call an address that its own administrators named. Private addresses are allowed, because
 * the platform's store is often nearby. Cloud metadata services, which hand out credentials, and addresses that belong
 * to no single machine are not.
 */

const REFUSED_RANGES = ['linkLocal', 'unspecified', 'multicast', 'broadcast']

/** IPv6 prefixes that embed an IPv4 address and lead to it (RFC 6052, RFC 3056, RFC 4291 section 2.5.5.1). */
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96')
const IPV4_COMPATIBLE = ipaddr.IPv6.parseCIDR('::/96')
const SIX_TO_FOUR = ipaddr.IPv6.parseCIDR('2002::/16')

/** @param address as a resolver gives it */
export function isInsideAddress(address: string): boolean {
  if (isIP(address) === 0 || address.includes('%')) return false
  const found = embeddedAddress(ipaddr.process(address))
  return (
    !REFUSED_RANGES.includes(found.range()) &&
    !METADATA_SERVICES.some((one) => ipaddr.parse(one).toString() === found.toString())
  )
}

/** Returns the IPv4 address that an IPv6 address embeds, otherwise the address itself. */
function embeddedAddress(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  if (address instanceof ipaddr.IPv4) return address
  const bytes = address.toByteArray()
  // ::1 lies in the range of IPv4-compatible addresses, but is the loopback address.
  const isCompatible = address.match(IPV4_COMPATIBLE) && address.range() !== 'loopback'
  if (address.match(NAT64) || isCompatible) return new ipaddr.IPv4(bytes.slice(12))
  return address.match(SIX_TO_FOUR) ? new ipaddr.IPv4(bytes.slice(2, 6)) : address
}
