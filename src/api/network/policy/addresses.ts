import ipaddr from 'ipaddr.js'
import { metadataNetworks } from '../../../core/metadataServices.ts'

/**
 * Addresses as numbers on one line, IPv4 first and IPv6 after it. A set is a sorted list of disjoint, non-adjacent
 * ranges, so that "all", "part" and "none" are exact for any number of networks and exceptions.
 */
export type Range = readonly [first: bigint, last: bigint]
export type Addresses = readonly Range[]

/** Where IPv6 starts on the line. */
const IPV6_OFFSET = 1n << 128n

/** @param cidr an address, or `address/prefix`; host bits are ignored. Returns undefined for other text. */
export function parseNetwork(cidr: string): Range | undefined {
  const text = cidr.includes('/') ? cidr : `${cidr}/${cidr.includes(':') ? 128 : 32}`
  if (!ipaddr.isValidCIDR(text)) return undefined
  const [address, prefix] = ipaddr.parseCIDR(text)
  const bytes = address.toByteArray()
  const number = bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n)
  const free = BigInt(bytes.length * 8 - prefix)
  const first = ((number >> free) << free) + (bytes.length === 4 ? 0n : IPV6_OFFSET)
  return [first, first + (1n << free) - 1n]
}

export function parseNetworks(...cidrs: readonly string[]): Addresses {
  return uniteRanges(cidrs.flatMap((cidr) => [parseNetwork(cidr) ?? []].filter(isRange)))
}

const isRange = (found: Range | never[]): found is Range => found.length === 2

export function uniteRanges(ranges: readonly Range[]): Addresses {
  const whole: [bigint, bigint][] = []
  for (const [first, last] of [...ranges].sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0))) {
    const before = whole.at(-1)
    if (before === undefined || first > before[1] + 1n) whole.push([first, last])
    else if (last > before[1]) before[1] = last
  }
  return whole
}

/** Returns the part of `set` that is not in `removed`. */
export function subtractRanges(set: Addresses, removed: Addresses): Addresses {
  return removed.reduce<Addresses>(
    (left, [first, last]) =>
      left.flatMap(([from, to]): Range[] => {
        if (last < from || first > to) return [[from, to]]
        return [[from, first - 1n] as const, [last + 1n, to] as const].filter(([start, end]) => start <= end)
      }),
    set,
  )
}

export function intersectRanges(set: Addresses, other: Addresses): Addresses {
  return subtractRanges(set, subtractRanges(set, other))
}

export const IPV4 = parseNetworks('0.0.0.0/0')
export const IPV6 = parseNetworks('::/0')

/** Addresses that are not routed on the Internet (RFC 6890, multicast, and what clouds answer themselves). */
const NOT_PUBLIC = parseNetworks(
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/3'],
  ...metadataNetworks(4),
)

/** IPv4 only, because networks without IPv6 have no rules for it. */
export const INTERNET_ADDRESSES = subtractRanges(IPV4, NOT_PUBLIC)

/** Where a pod of unknown address may be: anywhere except loopback, link-local and multicast networks. */
export const POSSIBLE_POD_ADDRESSES = subtractRanges(
  IPV4,
  parseNetworks('0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/3'),
)
