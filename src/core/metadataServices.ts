/**
 * Addresses outside the link-local networks at which clouds serve the credentials of nodes to whoever asks from there:
 * Amazon (IPv6), Google (IPv6), Alibaba, Azure, Oracle.
 */
export const METADATA_SERVICES = [
  'fd00:ec2::254',
  'fd00:ec2::23',
  'fd20:ce::254',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
] as const

/** The same as networks, of one address family. */
export function metadataNetworks(family: 4 | 6): string[] {
  const [isIpv6, prefix] = [family === 6, family === 6 ? 128 : 32]
  return METADATA_SERVICES.filter((one) => one.includes(':') === isIpv6).map((one) => `${one}/${prefix}`)
}
