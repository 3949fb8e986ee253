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
