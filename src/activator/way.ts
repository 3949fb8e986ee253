import type { RequestOptions } from 'node:http'
import type { Duplex } from 'node:stream'
import { type FarCopy, isFarCopy, readFarCopyPath } from '../contracts/farCopies.ts'
import { agreed, counted } from '../core/counted.ts'
import { messageOf } from '../core/errors.ts'
import { SharedPlaces } from '../core/sharedPlaces.ts'
import { unlessAborted } from '../core/unlessAborted.ts'

/** Opens a connection to a copy in another cluster. @throws Error if there is no way to it now */
export type ReachCopy = (copy: FarCopy) => Promise<Duplex>

/** A copy that could not be connected to: nothing of the call has reached it, so that another one may have it. */
export class Unreached extends Error {}

export type Way = RequestOptions & { readonly isOpen: boolean }

/** How a copy is connected to: by its address, or over a connection that its cluster has opened. @throws Unreached */
export async function wayTo(address: string, reach: ReachCopy, signal: AbortSignal): Promise<Way> {
  if (!isFarCopy(address)) return { ...splitAddress(address), agent: false, isOpen: false }
  const copy = readFarCopyPath(address)
  if (copy === undefined) throw new Unreached(`"${address}" names no copy.`)
  const opening = reach(copy)
  const connection = await unlessAborted(opening, signal).catch((error: unknown) => {
    // What opens when nobody waits any more is closed.
    opening.then((late) => late.destroy()).catch(() => {})
    throw new Unreached(messageOf(error))
  })
  return { host: 'function', createConnection: () => connection, isOpen: true }
}

export function splitAddress(address: string): { host: string; port: number } {
  const at = address.lastIndexOf(':')
  return { host: address.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(address.slice(at + 1)) }
}

/**
 * A tunnel carries the platform's own requests too, and no more than 1,000 at once. Where it ends, up to 1 MiB is held of each
 * answer that a caller reads slowly.
 */
const MOST_OF_A_CLUSTER = 200

/**
 * Opens no more connections to one cluster at once than leave room for others. Nobody's functions take all of that: those of
 * one tenant may have at most as many as are left over for the others, so that slow calls keep out nobody else.
 *
 * @param tenantOf whose a copy is
 * @param clusters places of those with connections now
 */
export function bounded(
  reach: ReachCopy,
  tenantOf: (copy: FarCopy) => string,
  most = MOST_OF_A_CLUSTER,
  clusters = new Map<string, SharedPlaces>(),
): ReachCopy {
  return async (copy) => {
    const { clusterId } = copy
    const tenant = tenantOf(copy)
    const places = clusters.get(clusterId) ?? new SharedPlaces(most)
    const own = places.takenBy(tenant)
    if (places.left <= 0)
      throw new Error(
        `${counted(most, 'call')} to cluster "${clusterId}" ${agreed(most, 'is', 'are')} already in progress.`,
      )
    if (places.isFullFor(tenant))
      throw new Error(
        `${counted(own, 'call')} of the boundary to cluster "${clusterId}" ${agreed(own, 'is', 'are')} already in progress.`,
      )
    places.take(tenant)
    clusters.set(clusterId, places)
    const free = () => {
      places.free(tenant)
      if (places.left === most) clusters.delete(clusterId)
    }
    try {
      const connection = await reach(copy)
      if (connection.destroyed) free()
      else connection.once('close', free)
      return connection
    } catch (error) {
      free()
      throw error
    }
  }
}
