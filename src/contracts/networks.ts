/** A network that pods may reach. */
export type Network = {
  readonly cidr: string
  readonly except?: readonly string[] | undefined
  /** TCP; all of them if absent. */
  readonly ports?: readonly number[] | undefined
}

/** As settings have it: `10.1.0.0/16`, or with ports `10.1.2.3/32@443+5000`. */
export const NETWORK = /^[0-9a-fA-F.:]+\/[0-9]{1,3}(@[0-9]{1,5}(\+[0-9]{1,5})*)?$/

export function networkOf(text: string): Network {
  const [cidr = '', ports] = text.split('@')
  return { cidr, ...(ports !== undefined && { ports: ports.split('+').map(Number) }) }
}
