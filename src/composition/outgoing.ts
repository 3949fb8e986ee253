import { readFileSync } from 'node:fs'
import { createOutgoing, type OutgoingOptions } from '../adapters/outgoing/client.ts'
import type { Configuration } from '../config.ts'

/** Calls of addresses that tenants named, to hosts and by authorities that the configuration adds to those of the Internet. */
export function outgoingOf(
  { outgoingHosts, outgoingCertificateAuthority: path }: Configuration,
  options: OutgoingOptions = {},
): ReturnType<typeof createOutgoing> {
  const authority = path === undefined ? {} : { certificateAuthority: readFileSync(path, 'utf8') }
  return createOutgoing({ allowedHosts: outgoingHosts, ...authority, ...options })
}
