import { Agent, type Dispatcher, ProxyAgent } from 'undici'
import type { ClusterAccess, TlsMaterial } from './credentials.ts'

/** One request on the wire; `path` begins with a slash and is escaped already. */
export type WireRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  headers?: Record<string, string>
  body?: string | Buffer | undefined
  signal?: AbortSignal | undefined
  /** 0 for streams, which may be silent; they have a stall timer of their own. */
  bodyTimeout?: number
}

/** Ordinary requests in flight at once. More only queue inside the API server, behind everybody else's. */
const MAX_CONCURRENT = 50

/**
 * The one connection pool to an API server: HTTP/1.1, one socket per watch and at most 50 for everything else, kept
 * open between requests. HTTP/2 measured the same and would drop every watch with one lost connection.
 */
export class Transport {
  readonly #access: ClusterAccess
  readonly #userAgent: string
  readonly #origin: string
  readonly #prefix: string
  #agent: Dispatcher | undefined
  #material: TlsMaterial | undefined
  #closed = false

  constructor(access: ClusterAccess, userAgent: string) {
    const url = new URL(access.server)
    this.#access = access
    this.#userAgent = userAgent
    this.#origin = url.origin
    this.#prefix = url.pathname.replace(/\/+$/, '')
  }

  /**
   * Sends one request once. The caller reads or destroys the body, or its socket is never used again. `before` runs
   * after everything that takes time: what it permits is on its way in the same moment.
   */
  async send(request: WireRequest, before: () => void): Promise<Dispatcher.ResponseData> {
    const [agent, authorization] = [await this.#currentAgent(), await this.#access.authorization()]
    const headers: Record<string, string> = { 'user-agent': this.#userAgent, accept: 'application/json' }
    if (authorization !== undefined) headers.authorization = authorization
    before()
    return agent.request({
      origin: this.#origin,
      path: this.#prefix + request.path,
      method: request.method,
      headers: { ...headers, ...request.headers },
      body: request.body ?? null,
      signal: request.signal ?? null,
      headersTimeout: 30_000,
      bodyTimeout: request.bodyTimeout ?? 30_000,
    })
  }

  /** After a 401: credentials are read again for the next request. */
  refreshCredentials(): void {
    this.#access.refresh()
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#agent?.destroy()
  }

  async #currentAgent(): Promise<Dispatcher> {
    if (this.#closed) throw new Error('The client of the API server was closed.')
    const material = await this.#access.tls()
    if (this.#agent === undefined || material !== this.#material) {
      // Requests under way finish on the old connections; new ones use the new certificate.
      this.#agent?.close().catch(() => {})
      this.#material = material
      this.#agent = createAgent(material, this.#access.proxyUrl)
    }
    return this.#agent
  }
}

function createAgent(tls: TlsMaterial, proxyUrl: string | undefined): Dispatcher {
  const options = {
    allowH2: false,
    pipelining: 1,
    connectTimeout: 10_000,
    // The lease is renewed every few seconds: with undici's default of four, each renewal would open a connection.
    keepAliveTimeout: 90_000,
    keepAliveMaxTimeout: 600_000,
  }
  // Probes on an idle socket find a peer that vanished within about fifteen seconds.
  const connect = { ...tls, keepAlive: true, keepAliveInitialDelay: 5_000 }
  if (proxyUrl === undefined) return new Agent({ ...options, connect })
  const protocol = new URL(proxyUrl).protocol
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw new Error(`The kubeconfig's proxy-url uses "${protocol}", which is not supported. Use an HTTP proxy.`)
  }
  return new ProxyAgent({ ...options, uri: proxyUrl, requestTls: connect })
}

/** Lets at most `limit` tasks run at once, the rest in order of arrival. */
export class Semaphore {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(limit: number = MAX_CONCURRENT) {
    this.#free = limit
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await task()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free += 1
      else next()
    }
  }
}
