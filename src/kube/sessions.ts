import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2, type Http2Session } from 'node:http2'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls, type SecureContext, type TLSSocket } from 'node:tls'
import { unlessAborted } from '../core/unlessAborted.ts'

/** TLS options of connections. The context is parsed once: one per connection would cost 100 KB and a millisecond. */
export type SecureOptions = {
  secureContext?: SecureContext
  servername?: string
  rejectUnauthorized?: boolean
}

/** An answer whose body is an endless stream. */
export type StreamAnswer = {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: AsyncIterable<Buffer> & { destroy(error?: Error): unknown }
}

/** All in milliseconds. */
export type Liveness = {
  /** How often a connection is probed with a ping. */
  pingEvery: number
  /** How long the answer to a ping may take before the connection counts as lost. */
  pingTimeout: number
}

/** Detects a silent connection within 20 s; client-go takes 45 s. */
export const LIVENESS: Liveness = { pingEvery: 10_000, pingTimeout: 10_000 }

const CONNECT_TIMEOUT_MS = 10_000
/** Milliseconds that callers wait for an unreachable server before they get an error. */
const CALLER_TIMEOUT_MS = 5_000
const RETRY_PAUSE_MS = { least: 250, most: 500 }
/** Maximum streams per connection, the default of the API server; more need another connection. */
const STREAMS_MAX = 100
/** Flow-control windows, large enough that a listing neither waits for round trips nor holds up other streams. */
const STREAM_WINDOW_BYTES = 1024 * 1024
const SESSION_WINDOW_BYTES = 16 * STREAM_WINDOW_BYTES

type Session = { readonly http2: ClientHttp2Session; streams: number }

/**
 * Streams over HTTP/2. A few connections carry all watches of a process. Each is pinged, because a vanished peer, or a
 * proxy that keeps its side of a dead connection open, causes no error. While the server cannot be reached, one attempt
 * at a time serves all waiters.
 */
export class StreamSessions {
  readonly #origin: URL
  readonly #secure: SecureOptions
  readonly #onSilence: () => void
  readonly #liveness: Liveness
  readonly #sessions = new Set<Session>()
  #connecting: Promise<Session | undefined> | undefined
  #closed = false

  /** @param onSilence called when a connection has died silently */
  constructor(origin: URL, secure: SecureOptions, onSilence: () => void, liveness: Liveness = LIVENESS) {
    this.#origin = origin
    this.#secure = secure
    this.#onSilence = onSilence
    this.#liveness = liveness
  }

  /** Opens one stream; undefined if the server speaks HTTP/1.1 only. */
  async open(
    path: string,
    headers: Record<string, string>,
    signal: AbortSignal | undefined,
  ): Promise<StreamAnswer | undefined> {
    const session = await unlessAborted(this.#session(), signal)
    if (session === undefined) return undefined
    const stream = session.http2.request({ ':method': 'GET', ':path': path, ...headers })
    session.streams += 1
    const abort = () => stream.destroy(signal?.reason as Error)
    signal?.addEventListener('abort', abort, { once: true })
    stream.once('close', () => {
      signal?.removeEventListener('abort', abort)
      this.#released(session)
    })
    return answerOf(stream)
  }

  /** Lets open streams end by themselves and opens no new ones. */
  retire(): void {
    this.#closed = true
    for (const { http2 } of this.#sessions) http2.close()
  }

  destroy(): void {
    this.#closed = true
    for (const { http2 } of this.#sessions) http2.destroy()
  }

  #session(): Promise<Session | undefined> {
    for (const session of this.#sessions) if (hasRoom(session)) return Promise.resolve(session)
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined
    })
    return this.#connecting
  }

  async #connect(): Promise<Session | undefined> {
    const patient = performance.now() + CALLER_TIMEOUT_MS
    for (;;) {
      try {
        const socket = await this.#secureSocket()
        if (socket.alpnProtocol === 'h2') return await this.#begin(socket)
        socket.destroy()
        return undefined
      } catch (error) {
        if (this.#closed || performance.now() > patient) throw error
        await sleep(RETRY_PAUSE_MS.least + (RETRY_PAUSE_MS.most - RETRY_PAUSE_MS.least) * Math.random())
      }
    }
  }

  #secureSocket(): Promise<TLSSocket> {
    const { hostname, port } = this.#origin
    const host = hostname.replace(/^\[|\]$/g, '')
    return new Promise((resolve, reject) => {
      const options = { host, port: Number(port || 443), ALPNProtocols: ['h2', 'http/1.1'], ...this.#secure }
      const socket = connectTls(options)
      socket.setTimeout(CONNECT_TIMEOUT_MS, () => socket.destroy(connectionError('CONNECT_TIMEOUT')))
      socket.once('error', reject)
      socket.once('secureConnect', () => {
        socket.off('error', reject)
        socket.setTimeout(0)
        resolve(socket)
      })
    })
  }

  async #begin(socket: TLSSocket): Promise<Session> {
    const settings = { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES }
    const http2 = connectHttp2(this.#origin, { createConnection: () => socket, settings })
    await new Promise<void>((resolve, reject) => {
      http2.once('remoteSettings', () => resolve())
      http2.once('close', () => reject(connectionError('ECONNRESET')))
      http2.once('error', reject)
      http2.setTimeout(CONNECT_TIMEOUT_MS, () => http2.destroy(connectionError('CONNECT_TIMEOUT')))
    })
    http2.setTimeout(0)
    http2.setLocalWindowSize(SESSION_WINDOW_BYTES)
    // Each stream gets an error of its own when its session ends.
    http2.on('error', () => {})
    const session: Session = { http2, streams: 0 }
    const stopPings = keepPinging(http2, this.#liveness, this.#onSilence)
    http2.once('close', () => {
      stopPings()
      this.#sessions.delete(session)
    })
    if (this.#closed) http2.destroy()
    else this.#sessions.add(session)
    return session
  }

  #released(session: Session): void {
    session.streams -= 1
    if (session.streams === 0 && this.#sessions.size > 1) session.http2.close()
  }
}

function hasRoom({ http2, streams }: Session): boolean {
  const limit = Math.min(STREAMS_MAX, http2.remoteSettings.maxConcurrentStreams ?? STREAMS_MAX)
  return !http2.closed && !http2.destroyed && streams < limit
}

/** Pings the session and destroys it if a ping stays unanswered. @returns stops the pings */
export function keepPinging(
  http2: Http2Session,
  { pingEvery, pingTimeout }: Liveness,
  onSilence: () => void,
): () => void {
  let silence: NodeJS.Timeout | undefined
  const end = () => {
    onSilence()
    http2.destroy(connectionError('PING_TIMEOUT'))
  }
  const interval = setInterval(() => {
    if (http2.destroyed) return
    silence ??= setTimeout(end, pingTimeout)
    http2.ping((error) => {
      if (error !== null) return
      clearTimeout(silence)
      silence = undefined
    })
  }, pingEvery)
  interval.unref()
  return () => {
    clearInterval(interval)
    clearTimeout(silence)
  }
}

/** @throws Error if the stream ends without an answer */
export function answerOf(stream: ClientHttp2Stream): Promise<StreamAnswer> {
  return new Promise((resolve, reject) => {
    stream.once('error', reject)
    stream.once('close', () => reject(connectionError('ECONNRESET')))
    stream.once('response', ({ ':status': status = 0, ...headers }) => {
      // From here on the reader of the body gets the errors.
      resolve({ status, headers: headers as StreamAnswer['headers'], body: stream })
    })
  })
}

function connectionError(code: string): Error {
  return Object.assign(new Error(`The connection to the API server ended (${code}).`), { code })
}
