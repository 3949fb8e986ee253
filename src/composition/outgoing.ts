import { createOutgoing, type OutgoingOptions } from '../adapters/outgoing/client.ts'
import type { Configuration } from '../config.ts'
import { currentFile } from '../core/currentFile.ts'

/** Opens a client for tenant-supplied addresses, with the configured additional hosts and authorities. */
export function openOutgoing(
  { outgoingHosts, outgoingCertificateAuthority: path }: Configuration,
  options: OutgoingOptions = {},
): ReturnType<typeof createOutgoing> {
  const authority = path === undefined ? {} : { certificateAuthority: currentFile(path) }
  return createOutgoing({ allowedHosts: outgoingHosts, ...authority, ...options })
}
