import { ipKeyGenerator } from 'express-rate-limit'

/** The key of an address. Of IPv6 the network counts, since one customer holds all of it. */
export function addressKey(address: string | undefined): string {
  return address === undefined ? 'unknown' : ipKeyGenerator(address)
}
