import { type AddressInfo, createServer, type Server } from 'node:net'
import { pipeline } from 'node:stream'
import type { PortForward } from '../portForward.ts'

type OpenPort = { server: Server; idle: NodeJS.Timeout }
export type ForwardedPod = { clusterId: string; namespace: string; pod: string }

/** Milliseconds for which a port without connections stays open. */
const IDLE = 300_000

/**
 * Addresses of the loopback interface that lead to ports of pods in other clusters, one for each, so that drivers of
 * databases need not know of tunnels. Whoever is on the machine still needs the password of the database.
 */
export class ForwardedPorts {
  readonly #forwardIn: (clusterId: string) => PortForward
  readonly #open = new Map<string, Promise<OpenPort>>()

  constructor(forwardIn: (clusterId: string) => PortForward) {
    this.#forwardIn = forwardIn
  }

  /** Answers at once: whether the pod is reached shows when something connects. */
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

  /** What could not be opened is tried again by whoever asks next. */
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
      // At once: in a moment somebody may be given the address of a port that is being closed.
      if (connections > 0) return
      this.#open.delete(key)
      server.close()
    }, IDLE)
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
