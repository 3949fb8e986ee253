import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

export type Wire = {
  /** Where clients connect instead, as `https://127.0.0.1:<port>`. */
  readonly url: string
  /** Connections accepted since the start. */
  readonly accepted: number
  /** Bytes that came from the server since the start. */
  readonly received: number
  /**
   * Open connections stay open and transfer nothing any more, in either direction, forever: the peer vanished, and a
   * middlebox keeps its side open. New connections work.
   */
  silence(): void
  /** All packets are lost, also of new connections, until the network heals; nothing is closed. */
  blackHole(isOn: boolean): void
  /** Resets open connections, and refuses new ones while the network is cut. */
  cut(isOn: boolean): void
  close(): Promise<void>
}

/**
 * The network between a client and a server, below TLS and HTTP.
 *
 * @param port a free one by default; a chosen one if the client is another process, which may outlive it
 */
export async function startWire(target: string, port = 0): Promise<Wire> {
  const wire = new FaultyWire(new URL(target), port)
  await wire.listen()
  return wire
}

type Link = { readonly client: Socket; readonly server: Socket; isSilent: boolean }

class FaultyWire implements Wire {
  readonly #target: URL
  readonly #server: Server
  readonly #links = new Set<Link>()
  #port: number
  #isBlackHole = false
  #isCut = false
  accepted = 0
  received = 0

  constructor(target: URL, port: number) {
    this.#target = target
    this.#port = port
    this.#server = createServer((client) => this.#link(client))
  }

  get url(): string {
    return `https://127.0.0.1:${this.#port}`
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(this.#port, '127.0.0.1', resolve))
    this.#port = (this.#server.address() as AddressInfo).port
  }

  silence(): void {
    for (const link of this.#links) link.isSilent = true
  }

  blackHole(isOn: boolean): void {
    this.#isBlackHole = isOn
  }

  cut(isOn: boolean): void {
    this.#isCut = isOn
    if (isOn) for (const { client } of this.#links) client.resetAndDestroy()
  }

  async close(): Promise<void> {
    for (const { client, server } of this.#links) {
      client.destroy()
      server.destroy()
    }
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #link(client: Socket): void {
    this.accepted += 1
    if (this.#isCut) {
      client.resetAndDestroy()
      return
    }
    const server = connect(Number(this.#target.port || 443), this.#target.hostname)
    const link: Link = { client, server, isSilent: false }
    this.#links.add(link)
    client.on('data', (chunk) => this.#isDeaf(link) || server.write(chunk))
    server.on('data', (chunk) => {
      this.received += chunk.length
      if (!this.#isDeaf(link)) client.write(chunk)
    })
    const end = () => {
      this.#links.delete(link)
      server.destroy()
      // A dead peer closes nothing.
      if (!this.#isDeaf(link)) client.destroy()
    }
    for (const socket of [client, server]) socket.on('error', () => {}).on('close', end)
  }

  #isDeaf({ isSilent }: Link): boolean {
    return isSilent || this.#isBlackHole
  }
}
