import type { LookupAddress, lookup as resolve } from 'node:dns'
import type { LookupFunction } from 'node:net'

/** The code of an error for a connection to an address that is not called. */
export const ADDRESS_NOT_ALLOWED = 'ERR_ADDRESS_NOT_ALLOWED'

export const addressNotAllowed = () => Object.assign(new Error('not allowed'), { code: ADDRESS_NOT_ALLOWED })

/**
 * As `dns.lookup`, but fails where any address is not allowed: which one is taken is chance, or the attacker's. It is
 * the connection's own look-up, because what was resolved before could have changed since (DNS rebinding).
 */
export function vettedLookup(lookup: typeof resolve, isAllowed: (address: string) => boolean): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
      if (error !== null) return callback(error, [])
      const [first] = addresses
      if (first === undefined || !addresses.every(({ address }) => isAllowed(address)))
        return callback(addressNotAllowed(), [])
      if (options.all === true) return callback(null, addresses)
      callback(null, first.address, first.family)
    })
  }
}
