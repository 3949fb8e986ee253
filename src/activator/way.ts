import type { RequestOptions } from 'node:http'
import type { Duplex } from 'node:stream'
import { type FarCopy, readFarCopyPath } from '../contracts/farCopies.ts'
import { messageOf } from '../core/errors.ts'

/** Opens a connection to a copy in another cluster. @throws Error if there is no way to it now */
export type ReachCopy = (copy: FarCopy) => Promise<Duplex>

/** A copy that could not be connected to: nothing of the call has reached it, so that another one may have it. */
export class Unreached extends Error {}

export type Way = RequestOptions & { readonly isOpen: boolean }

/** How a copy is connected to: by its address, or over a connection that its cluster has opened. @throws Unreached */
export async function wayTo(address: string, reach: ReachCopy, signal: AbortSignal): Promise<Way> {
  const copy = readFarCopyPath(address)
  if (copy === undefined) return { ...splitAddress(address), agent: false, isOpen: false }
  const connection = await unlessOver(reach(copy), signal).catch((error: unknown) => {
    throw new Unreached(messageOf(error))
  })
  return { host: 'function', createConnection: () => connection, isOpen: true }
}

/** What opens when nobody waits any more is closed. */
function unlessOver(opening: Promise<Duplex>, signal: AbortSignal): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const over = () => reject(signal.reason)
    signal.addEventListener('abort', over, { once: true })
    opening
      .then((connection) => {
        if (signal.aborted) connection.destroy()
        else resolve(connection)
      }, reject)
      .finally(() => signal.removeEventListener('abort', over))
  })
}

export function splitAddress(address: string): { host: string; port: number } {
  const at = address.lastIndexOf(':')
  return { host: address.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(address.slice(at + 1)) }
}
