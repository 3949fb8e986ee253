import { readFileSync } from 'node:fs'
import { createOutgoing, type OutgoingOptions } from '../adapters/outgoing/client.ts'
import type { Configuration } from '../config.ts'

/** Opens a client for tenant-supplied addresses, with the configured additional hosts and authorities. */
export function openOutgoing(
  { outgoingHosts, outgoingCertificateAuthority: path }: Configuration,
  options: OutgoingOptions = {},
): ReturnType<typeof createOutgoing> {
  const authority = path === undefined ? {} : { certificateAuthority: readFileSync(path, 'utf8') }
  return createOutgoing({ allowedHosts: outgoingHosts, ...authority, ...options })
}
