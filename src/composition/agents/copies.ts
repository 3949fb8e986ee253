import { type RequestOptions, request as requestHttps } from 'node:https'
import type { Duplex } from 'node:stream'
import type { ReachCopy } from '../../activator/copyConnection.ts'
import { HUB_SERVER_NAME } from '../../contracts/clusters.ts'
import { FUNCTION_PORT } from '../../contracts/functions.ts'
import {
  ACTIVATOR_TUNNEL_SECRET,
  COPY_PROTOCOL,
  parseRemoteCopyPath,
  type RemoteCopy,
  remoteCopyName,
  remoteCopyPath,
} from '../../contracts/remoteCopies.ts'
import { messageOf } from '../../core/errors.ts'
import { ServerlessFunction } from '../../crds/functions.ts'
import type { CacheSet } from '../../kube/caches.ts'
import type { KubeClient } from '../../kube/client.ts'
import type { PortForward } from '../../kube/portForward.ts'
import { acceptUpgrade, refuseUpgrade, type Upgrade } from '../../kube/tunnel/upgrades.ts'
import { type PeerCertificate, readPeerCertificate } from './peers.ts'

/**
 * Connects the activator to copies of functions in other clusters. A tunnel would give it all rights of the agent
 * there, so the gate opens only the port of what really is a copy, and forwards bytes.
 */

/** Milliseconds until the gate must answer. */
const OPEN_TIMEOUT_MS = 15_000

type Forwarding = { portForwardOf: (clusterId: string) => PortForward }

export function reachThroughTunnel({ portForwardOf }: Forwarding): ReachCopy {
  return ({ namespace, clusterId, pod }) => portForwardOf(clusterId)({ namespace, pod, port: FUNCTION_PORT })
}

type StoredFunction = ServerlessFunction & { [key: string]: unknown }

/** Whether the function's status lists this copy. */
function isCopy({ namespace, name, ...copy }: RemoteCopy, caches: Pick<CacheSet, 'get'>): boolean {
  const copies = caches.get<StoredFunction>(ServerlessFunction.resource).get(namespace, name)?.status?.copies ?? []
  return copies.includes(remoteCopyName(copy))
}

/** Runs at the gate: connects the activator's request with the copy that it names. */
export async function relayToCopy(
  options: Forwarding & { caches: Pick<CacheSet, 'get'> },
  { request, socket, head }: Upgrade,
): Promise<void> {
  const copy = parseRemoteCopyPath(request.url)
  if (request.headers.upgrade !== COPY_PROTOCOL || copy === undefined) return refuseUpgrade(socket, 403)
  if (!isCopy(copy, options.caches)) return refuseUpgrade(socket, 404)
  let remote: Duplex
  try {
    remote = await reachThroughTunnel(options)(copy)
  } catch {
    return refuseUpgrade(socket, 502)
  }
  if (socket.destroyed) return void remote.destroy()
  acceptUpgrade({ socket, head }, remote, COPY_PROTOCOL)
}

class Refused extends Error {}

/**
 * Reaches copies from an activator without a facade in its process, through the gate.
 *
 * @param url address of the agents' port
 */
export function reachThroughGate(client: Pick<KubeClient, 'get'>, url: string): ReachCopy {
  const { hostname, port } = new URL(url)
  let credentials: Promise<PeerCertificate> | undefined
  return async (copy) => {
    credentials ??= readPeerCertificate(client, ACTIVATOR_TUNNEL_SECRET)
    try {
      const { certificate: cert, key, authority: ca } = await credentials
      const host = hostname.replace(/^\[|\]$/g, '')
      return await askGate({ host, port: port || 443, cert, key, ca, servername: HUB_SERVER_NAME, agent: false }, copy)
    } catch (error) {
      // The credentials may have been replaced, unless the gate has answered.
      if (!(error instanceof Refused)) credentials = undefined
      throw new Error(`Cluster "${copy.clusterId}" cannot be reached: ${messageOf(error)}`, { cause: error })
    }
  }
}

function askGate(gate: RequestOptions, copy: RemoteCopy): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const headers = { connection: 'Upgrade', upgrade: COPY_PROTOCOL }
    const outgoing = requestHttps({ ...gate, path: remoteCopyPath(copy, remoteCopyName(copy)), headers })
    const timer = setTimeout(() => outgoing.destroy(new Error('The gate did not answer in time.')), OPEN_TIMEOUT_MS)
    outgoing.once('close', () => clearTimeout(timer))
    outgoing.on('error', reject)
    outgoing.once('response', (answer) => {
      answer.resume()
      reject(new Refused(`the gate answered ${answer.statusCode}.`))
    })
    outgoing.once('upgrade', (_answer, socket, head) => {
      clearTimeout(timer)
      // Avoids an unhandled error before the caller has attached a handler.
      socket.on('error', () => {})
      if (head.length > 0) socket.unshift(head)
      resolve(socket)
    })
    outgoing.end()
  })
}
