import { compareQuantities, formatBytes, parseQuantity } from '../quantity.ts'

/** How much a container may write to the disk of its node, and how much of that is reserved for it. */
export type DiskShare = { readonly limit: string; readonly request: string }

/** The default of the platform's settings. */
export const DISK_SHARE: DiskShare = { limit: '4Gi', request: '128Mi' }

/** The name of this resource in Kubernetes. */
export const EPHEMERAL_STORAGE = 'ephemeral-storage'

/** Caps the request at the limit: Kubernetes refuses a larger request. */
export function capRequestAtLimit({ limit, request }: DiskShare): DiskShare {
  return { limit, request: compareQuantities(request, limit) > 0 ? limit : request }
}

/** Adds volume sizes to the limit and to the request, because a size that a spec names is reserved in full. */
export function addVolumeSizes(share: DiskShare, sizes: readonly string[]): DiskShare {
  const total = sizes.reduce((sum, size) => sum + parseQuantity(size), 0n)
  const more = (quantity: string) => formatBytes(parseQuantity(quantity) + total)
  return { limit: more(share.limit), request: more(share.request) }
}
