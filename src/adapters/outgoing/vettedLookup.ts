import type { LookupAddress, lookup as resolve } from 'node:dns'
import type { LookupFunction } from 'node:net'

/** Error code for a connection to a forbidden address. */
export const ADDRESS_NOT_ALLOWED = 'ERR_ADDRESS_NOT_ALLOWED'

export const addressNotAllowed = () => Object.assign(new Error('not allowed'), { code: ADDRESS_NOT_ALLOWED })

/**
 * A `dns.lookup` that fails if any address is forbidden, because chance or an attacker picks the one that is used. It
 * must be the connection's own look-up: an earlier result could have changed since (DNS rebinding).
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
