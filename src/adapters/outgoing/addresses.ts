import { lookup as resolve } from 'node:dns/promises'
import { isPublicAddress, sshAsHttps, vetOutgoingUrl } from '../../core/outgoingUrl.ts'
import { OutgoingError } from './port.ts'

/** Resolves the host of a user-supplied URL. Returns its addresses if all may be called. @throws OutgoingError */
export type ResolveAddresses = (url: string) => Promise<readonly string[]>

/** @param allowedHosts the setting `outgoingHosts`: hosts that may have any address */
export function createAddressResolver(
  allowedHosts: readonly string[],
  lookup: (host: string) => Promise<{ address: string }[]> = (host) => resolve(host, { all: true }),
): ResolveAddresses {
  return async (address) => {
    const { hostname, host } = new URL(sshAsHttps(address))
    const isListed = allowedHosts.includes(host)
    const verdict = vetOutgoingUrl(`https://${host}`, allowedHosts)
    if (!verdict.isAllowed) throw new OutgoingError('NotAllowed', `The address is not allowed: ${verdict.why}.`)
    const found = await lookup(hostname.replace(/^\[|\]$/g, '')).catch((cause: unknown) => {
      throw new OutgoingError('Unreachable', `The name ${hostname} cannot be resolved.`, cause)
    })
    const addresses = found.map((one) => one.address)
    if (addresses.length === 0) throw new OutgoingError('Unreachable', `The name ${hostname} has no address.`)
    if (isListed || addresses.every(isPublicAddress)) return addresses
    throw new OutgoingError('NotAllowed', `The address is not allowed: ${hostname} has an address that is not public.`)
  }
}
