import type { RequestOptions } from 'node:http'
import type { Duplex } from 'node:stream'
import { isRemoteCopy, parseRemoteCopyPath, type RemoteCopy } from '../contracts/remoteCopies.ts'
import { messageOf } from '../core/errors.ts'
import { pluralize, pluralizeVerb } from '../core/pluralize.ts'
import { SharedSlots } from '../core/sharedSlots.ts'
import { unlessAborted } from '../core/unlessAborted.ts'

/** Opens a connection to a copy in another cluster. @throws Error if the cluster cannot be reached now */
export type ReachCopy = (copy: RemoteCopy) => Promise<Duplex>
export type CopyRequest = { address: string; reach: ReachCopy; signal: AbortSignal }

/** The connection failed before anything of the call was sent, so another copy may take it. */
export class CopyUnreachableError extends Error {}

export type CopyConnection = RequestOptions & { readonly isOpen: boolean }

/** Connects to a copy, directly or through the tunnel of its cluster. @throws CopyUnreachableError */
export async function connectToCopy(address: string, reach: ReachCopy, signal: AbortSignal): Promise<CopyConnection> {
  if (!isRemoteCopy(address)) return { ...splitAddress(address), agent: false, isOpen: false }
  const copy = parseRemoteCopyPath(address)
  if (copy === undefined) throw new CopyUnreachableError(`"${address}" names no copy.`)
  const opening = reach(copy)
  const connection = await unlessAborted(opening, signal).catch((error: unknown) => {
    // Close a connection that opens after the call was aborted.
    opening.then((opened) => opened.destroy()).catch(() => {})
    throw new CopyUnreachableError(messageOf(error))
  })
  return { host: 'function', createConnection: () => connection, isOpen: true }
}

export function splitAddress(address: string): { host: string; port: number } {
  const at = address.lastIndexOf(':')
  return { host: address.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(address.slice(at + 1)) }
}

/**
 * A tunnel also carries the platform's own requests, at most 1,000 streams in all. Its end buffers up to 1 MiB of each
 * answer that a caller reads slowly.
 */
const MAX_PER_CLUSTER = 200

/**
 * Limits the connections to each cluster. One tenant may hold at most as many as are left for the others, so that its
 * slow calls block nobody else.
 *
 * @param tenantOf returns the tenant of a copy
 * @param clusters the slots of each cluster that has connections
 */
export function limitClusterConnections(
  reach: ReachCopy,
  tenantOf: (copy: RemoteCopy) => string,
  max = MAX_PER_CLUSTER,
  clusters = new Map<string, SharedSlots>(),
): ReachCopy {
  return async (copy) => {
    const { clusterId } = copy
    const tenant = tenantOf(copy)
    const slots = clusters.get(clusterId) ?? new SharedSlots(max)
    const held = slots.takenBy(tenant)
    if (slots.left <= 0)
      throw new Error(
        `${pluralize(max, 'call')} to cluster "${clusterId}" ${pluralizeVerb(max, 'is', 'are')} already in progress.`,
      )
    if (slots.isFullFor(tenant))
      throw new Error(
        `${pluralize(held, 'call')} of the boundary to cluster "${clusterId}" ${pluralizeVerb(held, 'is', 'are')} already in progress.`,
      )
    slots.take(tenant)
    clusters.set(clusterId, slots)
    const release = () => {
      slots.free(tenant)
      if (slots.left === max) clusters.delete(clusterId)
    }
    try {
      const connection = await reach(copy)
      if (connection.destroyed) release()
      else connection.once('close', release)
      return connection
    } catch (error) {
      release()
      throw error
    }
  }
}
