import { type AddressInfo, createServer, type Server } from 'node:net'
import { pipeline } from 'node:stream'
import type { PortForward } from '../portForward.ts'

type OpenPort = { server: Server; idle: NodeJS.Timeout }
export type ForwardedPod = { clusterId: string; namespace: string; pod: string }

/** Milliseconds after which a port without connections is closed. */
const IDLE_TIMEOUT_MS = 300_000

/**
 * Loopback addresses that lead to ports of pods in other clusters, one per port, so that database drivers need not know
 * about tunnels. Other users of the machine still need the password of the database.
 */
export class ForwardedPorts {
  readonly #forwardIn: (clusterId: string) => PortForward
  readonly #open = new Map<string, Promise<OpenPort>>()

  constructor(forwardIn: (clusterId: string) => PortForward) {
    this.#forwardIn = forwardIn
  }

  /** Returns at once: whether the pod can be reached shows on the first connection. */
  async open(pod: ForwardedPod, port: number): Promise<{ host: string; port: number }> {
    const key = JSON.stringify([pod, port])
    const { server, idle } = await (this.#open.get(key) ?? this.#begin(key, pod, port))
    idle.refresh()
    const { address: host, port: local } = server.address() as AddressInfo
    return { host, port: local }
  }

  stop(): void {
    for (const opening of this.#open.values())
      opening.then(
        ({ server }) => server.close(),
        () => {},
      )
    this.#open.clear()
  }

  /** Forgets a port that could not be opened, so that the next caller tries again. */
  #begin(key: string, pod: ForwardedPod, port: number): Promise<OpenPort> {
    const opening = this.#listen(key, pod, port)
    this.#open.set(key, opening)
    opening.catch(() => this.#open.delete(key))
    return opening
  }

  async #listen(key: string, { clusterId, namespace, pod }: ForwardedPod, port: number): Promise<OpenPort> {
    const forward = this.#forwardIn(clusterId)
    let connections = 0
    const server = createServer((socket) => {
      connections += 1
      socket.on('error', () => {})
      socket.once('close', () => {
        connections -= 1
        idle.refresh()
      })
      forward({ namespace, pod, port }).then(
        (stream) => pipeline(socket, stream, socket, () => {}),
        () => socket.destroy(),
      )
    })
    const idle = setTimeout(() => {
      // Forgotten before it is closed, so that nobody is given the address of a closing port.
      if (connections > 0) return
      this.#open.delete(key)
      server.close()
    }, IDLE_TIMEOUT_MS)
    idle.unref()
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error) => {
        clearTimeout(idle)
        reject(error)
      })
      server.listen(0, '127.0.0.1', resolve)
    })
    server.unref()
    return { server, idle }
  }
}
