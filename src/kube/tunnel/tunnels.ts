import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { type Clock, systemClock } from '../../core/clock.ts'
import { TimeShare } from '../../core/timeShare.ts'
import { keepPinging, LIVENESS } from '../sessions.ts'

/** The ALPN protocol of tunnels (RFC 7301): after the handshake, the accepting side sends the requests. */
export const TUNNEL_PROTOCOL = 'freehold-tunnel/1'

/** One open tunnel to the API server of another cluster. The tunnels of a cluster have one share of the time. */
export type Tunnel = { readonly clusterId: string; readonly session: ClientHttp2Session; readonly share: TimeShare }

/** Maximum tunnels per cluster. An agent that reconnects may have lost its former tunnel unnoticed. */
const CLUSTER_TUNNELS_MAX = 3
/** Maximum bytes of the headers of an answer; the API server's are a tenth of it. */
const HEADERS_MAX_BYTES = 16 * 1024
/** Share of the thread's time for frames of a cluster: 5,000 in a second. */
const FRAMES_SHARE = 0.1
/** Flow-control windows, large enough that a distant cluster does not wait for round trips. */
export const FLOW_CONTROL_WINDOWS = { stream: 1024 * 1024, session: 16 * 1024 * 1024 }

/**
 * The tunnels that end in this process. An agent opens the connection; over it we send requests to the agent's API
 * server, as HTTP/2 with the roles exchanged (RFC 9113: the side that sends the preface is the client). Pings find a
 * peer that vanished.
 */
export class Tunnels {
  readonly #open = new Map<string, Tunnel[]>()
  readonly #clock: Clock

  constructor(clock: Clock = systemClock) {
    this.#clock = clock
  }

  /** @param onEnd called once the tunnel has ended, for whatever reason */
  begin(clusterId: string, socket: TLSSocket, onEnd: (tunnel: Tunnel) => void): Tunnel {
    const session = connectHttp2('http://tunnel', {
      createConnection: () => socket,
      settings: {
        enablePush: false,
        initialWindowSize: FLOW_CONTROL_WINDOWS.stream,
        maxHeaderListSize: HEADERS_MAX_BYTES,
      },
    })
    session.setLocalWindowSize(FLOW_CONTROL_WINDOWS.session)
    const before = this.#open.get(clusterId) ?? []
    const share = before[0]?.share ?? new TimeShare(this.#clock, FRAMES_SHARE)
    const tunnel: Tunnel = { clusterId, session, share }
    this.#open.set(clusterId, [...before, tunnel])
    if (before.length >= CLUSTER_TUNNELS_MAX) before[0]?.session.destroy()
    // Each stream gets an error of its own when its session ends.
    session.on('error', () => {})
    const stopPings = keepPinging(session, LIVENESS, () => {})
    session.once('close', () => {
      stopPings()
      const left = (this.#open.get(clusterId) ?? []).filter((each) => each !== tunnel)
      if (left.length === 0) this.#open.delete(clusterId)
      else this.#open.set(clusterId, left)
      onEnd(tunnel)
    })
    return tunnel
  }

  /** Returns the tunnel of the cluster that was opened last. */
  find(clusterId: string): Tunnel | undefined {
    return this.#open.get(clusterId)?.findLast(({ session }) => !session.closed && !session.destroyed)
  }

  list(): readonly Tunnel[] {
    return [...this.#open.values()].flat()
  }

  stop(): void {
    for (const { session } of this.list()) session.destroy()
  }
}
