import { createSecureContext } from 'node:tls'
import { Agent, type Dispatcher, ProxyAgent } from 'undici'
import { currentOrigin } from '../core/origin.ts'
import type { ClusterAccess, TlsMaterial } from '../kubeconfig/access.ts'
import { type Liveness, type SecureOptions, type StreamAnswer, StreamSessions } from './sessions.ts'

/** One request on the wire; `path` begins with a slash and is escaped already. */
export type WireRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  headers?: Record<string, string>
  body?: string | Buffer | undefined
  signal?: AbortSignal | undefined
  /** No timeout: only the signal ends the wait for the answer. */
  isPatient?: boolean | undefined
  /** Bytes left for this answer and the others of the same call; default: the transport's limit for one answer. */
  allowance?: ByteBudget | undefined
}

/** The number of bytes that a server may still send. */
export type ByteBudget = { left: number }

export type TransportOptions = {
  liveness?: Liveness | undefined
  /** Maximum bytes of an answer, and half of the maximum for all incomplete answers; for untrusted servers. */
  answerMax?: number | undefined
}

/** The server sent more than allowed; its answer is discarded. */
export class AnswerTooLongError extends Error {}

/** A complete answer. */
export type WireAnswer = { status: number; headers: Record<string, string | string[] | undefined>; text: string }

type Connections = { agent: Dispatcher; makeAgent: () => Dispatcher; sessions: StreamSessions | undefined }

/**
 * The connections to an API server. Watches use HTTP/2, where pings tell a dead connection from a quiet one; calls use
 * a pool of HTTP/1.1 connections, which takes less CPU.
 */
export class Transport {
  readonly #access: ClusterAccess
  readonly #userAgent: string
  readonly #origin: string
  readonly #prefix: string
  readonly #liveness: Liveness | undefined
  readonly #answerMax: number
  readonly #underway: ByteBudget
  #connections: Connections | undefined
  #material: TlsMaterial | undefined
  #closed = false

  constructor(access: ClusterAccess, userAgent: string, { liveness, answerMax }: TransportOptions = {}) {
    const url = new URL(access.server)
    this.#access = access
    this.#userAgent = userAgent
    this.#liveness = liveness
    this.#answerMax = answerMax ?? Number.POSITIVE_INFINITY
    this.#underway = { left: 2 * this.#answerMax }
    this.#origin = url.origin
    this.#prefix = url.pathname.replace(/\/+$/, '')
  }

  /** Returns the limit that all answers of one call share. */
  allowance(): ByteBudget {
    return { left: this.#answerMax }
  }

  /**
   * Sends one request and reads the whole answer, within `timeout` milliseconds. `before` runs after everything that
   * takes time, including the opening of a connection, so that the request is sent at the moment it is permitted.
   *
   * @throws AnswerTooLongError
   */
  async exchange(request: WireRequest, timeout: number, before: () => void): Promise<WireAnswer> {
    const { agent } = await this.#currentConnections()
    const headers = await this.#headers(request)
    before()
    const options = {
      origin: this.#origin,
      path: this.#prefix + request.path,
      method: request.method,
      headers,
      body: request.body ?? null,
    }
    return new Promise((resolve, reject) => {
      const failed = (error: Error) => {
        if (error.name === 'TimeoutError') this.#replacePool(agent)
        reject(error)
      }
      const allowances = { own: request.allowance ?? this.allowance(), underway: this.#underway }
      const answer = { resolve, reject: failed }
      new Exchange(answer, allowances, request.signal, timeout).begin(withCheck(before, agent), options)
    })
  }

  /** Replaces the pool: if one connection is dead, so are the others, and each would cost a call its whole deadline. */
  #replacePool(agent: Dispatcher | undefined): void {
    const connections = this.#connections
    if (connections === undefined || connections.agent !== agent || this.#closed) return
    this.#connections = { ...connections, agent: connections.makeAgent() }
    agent.close().catch(() => {})
  }

  /** Like `exchange`, but the caller must read or destroy the body, or its socket is never reused. */
  async send(request: WireRequest, before: () => void): Promise<Dispatcher.ResponseData> {
    const { agent } = await this.#currentConnections()
    const headers = await this.#headers(request)
    before()
    return withCheck(before, agent).request({
      origin: this.#origin,
      path: this.#prefix + request.path,
      method: request.method,
      headers,
      body: request.body ?? null,
      signal: request.signal ?? null,
      headersTimeout: request.isPatient === true ? 0 : 30_000,
      bodyTimeout: 0,
    })
  }

  /** Opens a stream that may be silent for long. */
  async stream(request: WireRequest): Promise<StreamAnswer> {
    const { sessions } = await this.#currentConnections()
    const headers = await this.#headers(request)
    const answer = await sessions?.open(this.#prefix + request.path, headers, request.signal)
    if (answer !== undefined) return answer
    const { statusCode: status, headers: received, body } = await this.send(request, () => {})
    return { status, headers: received, body }
  }

  /** To be called after a 401: credentials are read again for the next request. */
  refreshCredentials(): void {
    this.#access.refresh()
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#connections?.sessions?.destroy()
    await this.#connections?.agent.destroy()
  }

  async #headers(request: WireRequest): Promise<Record<string, string>> {
    const authorization = await this.#access.authorization()
    const headers: Record<string, string> = { 'user-agent': this.#userAgent, accept: 'application/json' }
    if (authorization !== undefined) headers.authorization = authorization
    const auditId = request.method === 'GET' ? undefined : currentOrigin()?.auditId
    if (auditId !== undefined) headers['audit-id'] = auditId
    return request.headers === undefined ? headers : { ...headers, ...request.headers }
  }

  async #currentConnections(): Promise<Connections> {
    if (this.#closed) throw new Error('The client of the API server was closed.')
    const material = await this.#access.tls()
    if (this.#connections === undefined || material !== this.#material) {
      const connections = createConnections(new URL(this.#origin), material, this.#access.proxyUrl, {
        liveness: this.#liveness,
        onSilence: () => this.#replacePool(this.#connections?.agent),
      })
      // Requests in flight finish on the old connections; new ones use the new certificate.
      this.#connections?.agent.close().catch(() => {})
      this.#connections?.sessions?.retire()
      this.#material = material
      this.#connections = connections
    }
    return this.#connections
  }
}

function createConnections(
  origin: URL,
  tls: TlsMaterial,
  proxyUrl: string | undefined,
  watched: { liveness: Liveness | undefined; onSilence: () => void },
): Connections {
  const { servername, rejectUnauthorized, ...material } = tls
  const secure: SecureOptions = {
    ...(origin.protocol === 'https:' && { secureContext: createSecureContext(material) }),
    ...(servername !== undefined && { servername }),
    ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
  }
  const isDirect = origin.protocol === 'https:' && proxyUrl === undefined
  const makeAgent = () => createAgent(secure, proxyUrl)
  return {
    agent: makeAgent(),
    makeAgent,
    sessions: isDirect ? new StreamSessions(origin, secure, watched.onSilence, watched.liveness) : undefined,
  }
}

function createAgent(secure: SecureOptions, proxyUrl: string | undefined): Dispatcher {
  const options = {
    allowH2: false,
    pipelining: 1,
    connectTimeout: 10_000,
    // The lease is renewed every few seconds: with undici's default of four, each renewal would open a connection.
    keepAliveTimeout: 90_000,
    keepAliveMaxTimeout: 600_000,
  }
  // TCP keepalive finds a peer of an idle socket that vanished within about fifteen seconds.
  const connect = { ...secure, keepAlive: true, keepAliveInitialDelay: 5_000 }
  if (proxyUrl === undefined) return new Agent({ ...options, connect })
  const protocol = new URL(proxyUrl).protocol
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw new Error(`The kubeconfig's proxy-url uses "${protocol}", which is not supported. Use an HTTP proxy.`)
  }
  return new ProxyAgent({ ...options, uri: proxyUrl, requestTls: connect })
}

/** Calls `before` again once there is a connection, which may take long. If it throws, nothing is sent. */
function withCheck(before: () => void, agent: Dispatcher): Dispatcher {
  const checked = (handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler => ({
    onRequestStart(...given) {
      before()
      handler.onRequestStart?.(...given)
    },
    onRequestUpgrade: (...given) => handler.onRequestUpgrade?.(...given),
    onResponseStart: (...given) => handler.onResponseStart?.(...given),
    onResponseData: (...given) => handler.onResponseData?.(...given),
    onResponseEnd: (...given) => handler.onResponseEnd?.(...given),
    onResponseError: (...given) => handler.onResponseError?.(...given),
  })
  return agent.compose((dispatch) => (options, handler) => dispatch(options, checked(handler)))
}

/** The byte limits of one answer, and of all incomplete answers together. */
type ByteBudgets = { readonly own: ByteBudget; readonly underway: ByteBudget }

/** One request and its whole answer, with one timer: abort signals and streams would cost more than the parsing. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #answer: { resolve: (answer: WireAnswer) => void; reject: (error: Error) => void }
  readonly #allowances: ByteBudgets
  /** Bytes taken from the allowance of all incomplete answers, given back at the end. */
  #held = 0
  readonly #signal: AbortSignal | undefined
  readonly #timer: NodeJS.Timeout
  readonly #chunks: Buffer[] = []
  readonly #abort = () => this.#end(this.#signal?.reason as Error)
  #controller: Dispatcher.DispatchController | undefined
  #failure: Error | undefined
  #status = 0
  #headers: WireAnswer['headers'] = {}

  constructor(
    answer: { resolve: (answer: WireAnswer) => void; reject: (error: Error) => void },
    allowances: ByteBudgets,
    signal: AbortSignal | undefined,
    timeout: number,
  ) {
    this.#answer = answer
    this.#allowances = allowances
    this.#signal = signal
    this.#timer = setTimeout(() => this.#end(timeoutError()), timeout)
    signal?.addEventListener('abort', this.#abort)
  }

  begin(agent: Dispatcher, options: Dispatcher.DispatchOptions): void {
    if (this.#signal?.aborted === true) this.#abort()
    // The timer of this exchange is the only limit.
    else agent.dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, this)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // Its deadline passed while it waited for a connection.
    if (this.#failure !== undefined) controller.abort(this.#failure)
  }

  onResponseStart(_controller: unknown, status: number, headers: WireAnswer['headers']): void {
    this.#status = status
    this.#headers = headers
    this.#chunks.length = 0
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    const { own, underway } = this.#allowances
    own.left -= chunk.length
    underway.left -= chunk.length
    this.#held += chunk.length
    if (own.left < 0 || underway.left < 0) this.#end(new AnswerTooLongError())
    else this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    this.#release()
    const [first] = this.#chunks
    const whole = this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks)
    this.#answer.resolve({ status: this.#status, headers: this.#headers, text: whole.toString('utf8') })
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.#release()
    this.#answer.reject(error)
  }

  #end(error: Error): void {
    this.#release()
    this.#failure = error
    this.#controller?.abort(error)
    this.#answer.reject(error)
  }

  #release(): void {
    this.#allowances.underway.left += this.#held
    this.#held = 0
    clearTimeout(this.#timer)
    this.#signal?.removeEventListener('abort', this.#abort)
  }
}

export function timeoutError(): Error {
  return new DOMException('The deadline of the call passed.', 'TimeoutError')
}
