import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * Whether the platform may call an address that its own administrators named. Private ones may be called: the platform's store
 * is often beside it. Never those where a cloud tells machines their credentials, or that no single machine has.
 */

/** Metadata services that are not at a link-local address: of Amazon over IPv6, of Alibaba, of Azure, of Oracle. */
const METADATA = ['fd00:ec2::254', '100.100.100.200', '168.63.129.16', '192.0.0.192']

const NEVER = ['linkLocal', 'unspecified', 'multicast', 'broadcast']

/** Prefixes of IPv6 that hold an IPv4 address which is reached through them (RFC 6052, RFC 3056, RFC 4291 section 2.5.5.1). */
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96')
const COMPATIBLE = ipaddr.IPv6.parseCIDR('::/96')
const SIX_TO_FOUR = ipaddr.IPv6.parseCIDR('2002::/16')

/** @param address as a resolver gives it */
export function isInsideAddress(address: string): boolean {
  if (isIP(address) === 0 || address.includes('%')) return false
  const found = reached(ipaddr.process(address))
  return !NEVER.includes(found.range()) && !METADATA.some((one) => ipaddr.parse(one).toString() === found.toString())
}

/** The address behind one of IPv6 that stands for another. */
function reached(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  if (address instanceof ipaddr.IPv4) return address
  const bytes = address.toByteArray()
  // Of the range of compatible addresses, ::1 alone is something else.
  const isCompatible = address.match(COMPATIBLE) && address.range() !== 'loopback'
  if (address.match(NAT64) || isCompatible) return new ipaddr.IPv4(bytes.slice(12))
  return address.match(SIX_TO_FOUR) ? new ipaddr.IPv4(bytes.slice(2, 6)) : address
}
