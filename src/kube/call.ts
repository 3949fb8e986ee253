import { setTimeout as sleep } from 'node:timers/promises'
import type { Dispatcher } from 'undici'
import type { Log } from '../core/log.ts'
import type { ClusterAccess } from './credentials.ts'
import { type Attempt, errorFromAnswer, errorFromTransport, isKubeError, KubeError, transportCode } from './errors.ts'
import { resourceId } from './object.ts'
import { Semaphore, Transport, type WireRequest } from './transport.ts'

export type CallOptions = {
  signal?: AbortSignal | undefined
  /** Milliseconds for the call with its retries. */
  timeout?: number | undefined
  /** Only the lease itself writes without holding the lease. */
  unfenced?: boolean | undefined
}

/** What metrics hear of each request on the wire, retries included. Status 0: no answer. */
export type RequestObservation = { verb: string; resource: string; status: number; durationSeconds: number }

export type CallRequest = WireRequest & { idempotent: boolean }

export type CallerOptions = {
  userAgent: string
  log: Log
  fence?: () => void
  onRequest?: (observation: RequestObservation) => void
  timeout?: number
  random?: () => number
}

const DEFAULT_TIMEOUT = 30_000
const MAX_ATTEMPTS = 5

/** One call: fence, send, judge the answer, try again where that is safe, all within a deadline. */
export class Caller {
  readonly #transport: Transport
  readonly #options: CallerOptions
  readonly #semaphore = new Semaphore()
  readonly #budget = new RetryBudget()
  readonly #random: () => number

  constructor(access: ClusterAccess, options: CallerOptions) {
    this.#transport = new Transport(access, options.userAgent)
    this.#options = options
    this.#random = options.random ?? Math.random
  }

  /** The parsed body of a 2xx answer. */
  json<T>(attempt: Attempt, request: CallRequest, options: CallOptions): Promise<T> {
    return this.#semaphore.run(() =>
      this.#attempts(attempt, request, options, async (signal) => {
        const response = await this.#send(attempt, { ...request, signal }, options)
        const text = await response.body.text()
        if (response.statusCode >= 300) throw this.#refused(attempt, response, text)
        return parse<T>(attempt, response.statusCode, text)
      }),
    )
  }

  /** Any answer, unread. The deadline covers the time to its headers; the caller's signal also the body. */
  raw(
    attempt: Attempt,
    request: CallRequest,
    options: CallOptions,
  ): Promise<{
    status: number
    headers: Dispatcher.ResponseData['headers']
    body: Dispatcher.ResponseData['body']
    text(): Promise<string>
  }> {
    return this.#attempts(attempt, request, options, async () => {
      const deadline = new AbortController()
      const timer = setTimeout(() => deadline.abort(timeoutError()), options.timeout ?? DEFAULT_TIMEOUT)
      try {
        const signal = anySignal(options.signal, deadline.signal)
        const response = await this.#send(attempt, { ...request, signal, bodyTimeout: 0 }, options)
        const { statusCode: status, headers, body } = response
        return { status, headers, body, text: () => body.text() }
      } finally {
        clearTimeout(timer)
      }
    })
  }

  /** Opens a stream once, without retries: whoever reads it has a plan for its end. */
  async open(attempt: Attempt, request: WireRequest): Promise<Dispatcher.ResponseData['body']> {
    let response: Dispatcher.ResponseData
    try {
      response = await this.#send(attempt, { ...request, bodyTimeout: 0 }, {})
    } catch (error) {
      request.signal?.throwIfAborted()
      throw isKubeError(error) ? error : errorFromTransport(attempt, error, false)
    }
    if (response.statusCode === 200) return response.body
    if (response.statusCode === 401) this.#transport.refreshCredentials()
    throw this.#refused(attempt, response, await response.body.text().catch(() => ''))
  }

  close(): Promise<void> {
    return this.#transport.close()
  }

  async #attempts<T>(
    attempt: Attempt,
    request: CallRequest,
    options: CallOptions,
    once: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const deadline = AbortSignal.timeout(options.timeout ?? this.#options.timeout ?? DEFAULT_TIMEOUT)
    const signal = anySignal(options.signal, deadline)
    this.#budget.earn()
    let isDoubtful = false
    for (let count = 1; ; count += 1) {
      options.signal?.throwIfAborted()
      try {
        return await once(signal)
      } catch (thrown) {
        options.signal?.throwIfAborted()
        if (thrown instanceof FencedError) throw thrown.cause
        const found = isKubeError(thrown) ? thrown : errorFromTransport(attempt, thrown, !wasNotSent(thrown))
        const error = isDoubtful ? found.afterLostAnswer() : found
        isDoubtful ||= found.maybeApplied
        const pause = this.#pause(error, request, count)
        if (pause === undefined || deadline.aborted) throw error
        this.#options.log.debug({ attempt: count, pause, reason: error.reason }, error.message)
        await sleep(pause, undefined, { signal }).catch(() => {})
        options.signal?.throwIfAborted()
        if (deadline.aborted) throw error
      }
    }
  }

  /** Milliseconds to wait before the next attempt; undefined: this was the last. */
  #pause(error: KubeError, request: CallRequest, count: number): number | undefined {
    if (error.reason === 'Unauthorized' && count === 1) {
      this.#transport.refreshCredentials()
      return 0
    }
    const repeatable = request.idempotent ? error.reason === 'Unavailable' : error.status === 0 && !error.maybeApplied
    if (error.reason !== 'Throttled' && !repeatable) return undefined
    // A 500 to a write is more often a hook that fails for good than a server about to recover.
    if (error.status === 500 && request.method !== 'GET') return undefined
    if (count >= MAX_ATTEMPTS || !this.#budget.spend()) return undefined
    const backoff = 100 * 2 ** (count - 1)
    const asked = (error.retryAfterSeconds ?? 0) * 1000
    return Math.max(backoff, asked) * (1 + 0.5 * this.#random())
  }

  async #send(attempt: Attempt, request: WireRequest, options: CallOptions): Promise<Dispatcher.ResponseData> {
    const started = performance.now()
    const fenced = request.method !== 'GET' && options.unfenced !== true
    let status = 0
    try {
      const response = await this.#transport.send(request, () => {
        if (fenced) this.#fence()
      })
      status = response.statusCode
      return response
    } finally {
      this.#options.onRequest?.({
        verb: attempt.verb,
        resource: attempt.resource === undefined ? '' : resourceId(attempt.resource),
        status,
        durationSeconds: (performance.now() - started) / 1000,
      })
    }
  }

  #fence(): void {
    try {
      this.#options.fence?.()
    } catch (error) {
      throw new FencedError(error)
    }
  }

  #refused(attempt: Attempt, response: Dispatcher.ResponseData, text: string): KubeError {
    const header = response.headers['retry-after']
    return errorFromAnswer(attempt, response.statusCode, text, typeof header === 'string' ? header : undefined)
  }
}

/** Carries what the fence threw past everything that would take it for a lost connection. */
class FencedError extends Error {
  constructor(cause: unknown) {
    super('This process may not write any more.', { cause })
  }
}

/**
 * Retries are at most a tenth of all calls, after a first handful: a server that is short of breath gets less work
 * from us, not five times as much.
 */
class RetryBudget {
  #tokens = 10

  earn(): void {
    this.#tokens = Math.min(10, this.#tokens + 0.1)
  }

  spend(): boolean {
    if (this.#tokens < 1) return false
    this.#tokens -= 1
    return true
  }
}

const NOT_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

function wasNotSent(thrown: unknown): boolean {
  return NOT_SENT.has(transportCode(thrown))
}

function parse<T>(attempt: Attempt, status: number, text: string): T {
  try {
    return JSON.parse(text) as T
  } catch (cause) {
    throw new KubeError('Unexpected', `Cannot read the answer of the API server to ${attempt.verb}: not JSON.`, {
      status,
      resource: attempt.resource,
      cause,
    })
  }
}

function timeoutError(): Error {
  return new DOMException('The deadline of the call passed.', 'TimeoutError')
}

function anySignal(first: AbortSignal | undefined, second: AbortSignal): AbortSignal {
  return first === undefined ? second : AbortSignal.any([first, second])
}
