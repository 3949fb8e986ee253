import { BlockList, isIP } from 'node:net'

/** `address/prefix` in canonical form: a known family, a prefix in range and no bit set behind it. */
export function isCanonicalCidr(text: string): boolean {
  const [address = '', prefix = '', ...rest] = text.split('/')
  const family = isIP(address)
  if (family === 0 || rest.length > 0 || !/^(0|[1-9][0-9]{0,2})$/.test(prefix) || address.includes('%')) return false
  const length = Number(prefix)
  if (length > (family === 4 ? 32 : 128)) return false
  return lowBitsAreZero(address, family, length)
}

function lowBitsAreZero(address: string, family: 4 | 6 | number, length: number): boolean {
  // The network of all addresses below this one: a canonical address is the first of its network, so no lower one is in it.
  const network = new BlockList()
  const kind = family === 4 ? 'ipv4' : 'ipv6'
  network.addSubnet(address, length, kind)
  const before = predecessor(address, family)
  return before === undefined || !network.check(before, kind)
}

function predecessor(address: string, family: 4 | 6 | number): string | undefined {
  const value = toInteger(address, family)
  if (value === 0n) return undefined
  return family === 4 ? fromInteger4(value - 1n) : fromInteger6(value - 1n)
}

function toInteger(address: string, family: number): bigint {
  if (family === 4) return address.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n)
  const [head = '', tail] = expandEmbeddedIpv4(address).split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : 8 - left.length - right.length
  return [...left, ...Array<string>(zeros).fill('0'), ...right].reduce(
    (sum, part) => sum * 65536n + BigInt(`0x${part}`),
    0n,
  )
}

/** `::ffff:1.2.3.4` carries its last 32 bits in the older spelling. */
function expandEmbeddedIpv4(address: string): string {
  const match = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(address)
  if (match === null) return address
  const value = toInteger(match[2] ?? '', 4)
  return `${match[1]}${(value >> 16n).toString(16)}:${(value & 0xffffn).toString(16)}`
}

function fromInteger4(value: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 255n)).join('.')
}

function fromInteger6(value: bigint): string {
  return [112n, 96n, 80n, 64n, 48n, 32n, 16n, 0n].map((shift) => ((value >> shift) & 0xffffn).toString(16)).join(':')
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
