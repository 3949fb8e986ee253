import { metadataNetworks } from '../core/metadataServices.ts'

/** A network that pods may reach. */
export type Network = {
  readonly cidr: string
  readonly except?: readonly string[] | undefined
  /** TCP ports; all if absent. */
  readonly ports?: readonly number[] | undefined
}

/** @param text in the format of settings: `10.1.0.0/16`, or with ports `10.1.2.3/32@443+5000` */
export function parseNetworkSetting(text: string): Network {
  const [cidr = '', ports] = text.split('@')
  return { cidr, ...(ports !== undefined && { ports: ports.split('+').map(Number) }) }
}

const PRIVATE = ['10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16']
const PRIVATE_6 = ['fc00::/7', 'fe80::/10']
/** Opening everything is meant to open the Internet only. */
const NOT_OF_THE_INTERNET: Readonly<Record<string, readonly string[]>> = {
  '0.0.0.0/0': [...PRIVATE, ...metadataNetworks(4)],
  '::/0': [...PRIVATE_6, ...metadataNetworks(6)],
}

/** Returns a network of a setting. If it is everything, it lacks what is private or closed. */
export function openedNetwork(text: string, closed: readonly string[]): Network {
  const network = parseNetworkSetting(text)
  const { cidr } = network
  const inside = NOT_OF_THE_INTERNET[cidr]
  const also = closed.filter((one) => one.includes(':') === cidr.includes(':'))
  return inside === undefined ? network : { ...network, except: [...new Set([...inside, ...also])] }
}
