import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { RequestOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import { isSameText } from '../../core/sameText.ts'
import type { ClusterAccess } from '../../kubeconfig/access.ts'
import { relay, relayToPeer, sendStatusError } from './relay.ts'
import type { Tunnels } from './tunnels.ts'
import { OpenConnections, refuseUpgrade, relayUpgrade, relayUpgradeToPeer, type Upgrade } from './upgrades.ts'

/** Finds the process of the platform where the tunnel of a cluster ends, if it is not this one. */
export type FindPeer = (clusterId: string) => Promise<RequestOptions | undefined>

const PATH = /^\/clusters\/([0-9a-f-]{36})(\/.*)$/

/** Returns the cluster that a path leads to, and the path on its API server. */
export function readTunnelPath(url: string | undefined): { clusterId: string; path: string } | undefined {
  const found = PATH.exec(url ?? '')
  return found === null ? undefined : { clusterId: found[1] ?? '', path: found[2] ?? '/' }
}

/**
 * Where this process's own clients enter the tunnels: a loopback address that stays the same while tunnels open, close
 * and move between replicas. A random key keeps out other users of the machine.
 */
export class TunnelEntry {
  readonly #tunnels: Tunnels
  readonly #findPeer: FindPeer
  readonly #key = `Bearer ${randomBytes(32).toString('base64url')}`
  readonly #server: Server
  readonly #connections = new OpenConnections()

  constructor(tunnels: Tunnels, findPeer: FindPeer) {
    this.#tunnels = tunnels
    this.#findPeer = findPeer
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy())
    })
    this.#server.on('upgrade', (request, socket, head) => {
      this.#upgrade({ request, socket, head }).catch(() => socket.destroy())
    })
    this.#server.on('connection', (socket) => this.#connections.add(socket))
    // Watches may be silent for long.
    this.#server.requestTimeout = 0
    this.#server.keepAliveTimeout = 120_000
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(0, '127.0.0.1', resolve)
    })
  }

  /** Returns how a client of this process reaches the API server of a cluster. */
  accessOf(clusterId: string): ClusterAccess {
    const { port } = this.#server.address() as AddressInfo
    const key = this.#key
    const material = {}
    return {
      server: `http://127.0.0.1:${port}/clusters/${clusterId}`,
      namespace: 'default',
      proxyUrl: undefined,
      tls: async () => material,
      authorization: async () => key,
      refresh: () => {},
    }
  }

  async stop(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve())
      this.#connections.end()
    })
  }

  async #upgrade(upgrade: Upgrade): Promise<void> {
    const { request, socket } = upgrade
    socket.on('error', () => {})
    if (!isSameText(request.headers.authorization ?? '', this.#key)) return refuseUpgrade(socket, 403)
    const target = readTunnelPath(request.url)
    if (target === undefined) return refuseUpgrade(socket, 403)
    const tunnel = this.#tunnels.find(target.clusterId)
    if (tunnel !== undefined) return relayUpgrade(tunnel, target.path, upgrade)
    const peer = await this.#findPeer(target.clusterId).catch(() => undefined)
    if (peer !== undefined) return relayUpgradeToPeer(peer, upgrade)
    refuseUpgrade(socket, 503)
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!isSameText(request.headers.authorization ?? '', this.#key))
      return sendStatusError(response, 'Not for you.', 403)
    const target = readTunnelPath(request.url)
    if (target === undefined) return sendStatusError(response, 'No cluster is named.', 403)
    const tunnel = this.#tunnels.find(target.clusterId)
    if (tunnel !== undefined) return relay(tunnel, target.path, request, response)
    const peer = await this.#findPeer(target.clusterId).catch(() => undefined)
    if (peer !== undefined) return relayToPeer(peer, request, response)
    sendStatusError(response, 'The agent of the cluster is not connected.')
  }
}
