import { compareQuantities, formatBytes, parseQuantity } from '../quantity.ts'

/** What a container may write to the disk of its node, and what of that is reserved for it. */
export type DiskShare = { readonly limit: string; readonly request: string }

/** Where the platform's settings say nothing else. */
export const DISK_SHARE: DiskShare = { limit: '4Gi', request: '128Mi' }

/** The name that Kubernetes has for it. */
export const DISK = 'ephemeral-storage'

/** With no more reserved than may be written: Kubernetes refuses anything else. */
export function withinLimit({ limit, request }: DiskShare): DiskShare {
  return { limit, request: compareQuantities(request, limit) > 0 ? limit : request }
}

/** With so much more to write, all of it reserved: whoever names a size is to have it. */
export function withRoom(share: DiskShare, sizes: readonly string[]): DiskShare {
  const room = sizes.reduce((sum, size) => sum + parseQuantity(size), 0n)
  const more = (quantity: string) => formatBytes(parseQuantity(quantity) + room)
  return { limit: more(share.limit), request: more(share.request) }
}
