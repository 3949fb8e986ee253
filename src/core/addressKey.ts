import { ipKeyGenerator } from 'express-rate-limit'

/** Returns the key under which an address is counted: for IPv6 its network, because one customer has all of it. */
export function addressKey(address: string | undefined): string {
  return address === undefined ? 'unknown' : ipKeyGenerator(address)
}
