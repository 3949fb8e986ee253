import { setTimeout as sleep } from 'node:timers/promises'
import type { Dispatcher } from 'undici'
import { checkFence } from '../core/fencedWork.ts'
import { KeyedSemaphore, SemaphoreTimeout } from '../core/keyedSemaphore.ts'
import type { Log } from '../core/log.ts'
import { currentOrigin } from '../core/origin.ts'
import { readWithin } from '../core/readWithin.ts'
import type { TimeShare } from '../core/timeShare.ts'
import type { ClusterAccess } from '../kubeconfig/access.ts'
import {
  type Attempt,
  errorFromAnswer,
  errorFromContent,
  errorFromTransport,
  isKubeError,
  type KubeError,
  transportCode,
} from './errors.ts'
import { isDense } from './jsonDensity.ts'
import { resourceId } from './object.ts'
import type { Liveness, StreamAnswer } from './sessions.ts'
import { AnswerTooLongError, type ByteBudget, Transport, timeoutError, type WireRequest } from './transport.ts'
import { isOfKubernetes, isWellFormedAnswer } from './wellFormedAnswer.ts'

export type CallOptions = {
  signal?: AbortSignal | undefined
  /** Milliseconds for the call with its retries; `Infinity` for answers that start only when there is news. */
  timeout?: number | undefined
  /** Skips the fence. Only the lease itself is written without holding the lease. */
  unfenced?: boolean | undefined
}

/** One HTTP request; each retry is one. Status 0: no answer. */
export type RequestObservation = {
  verb: string
  resource: string
  status: number
  durationSeconds: number
  /** When the API server answered, by its own clock; absent if the answer may be that of something behind it. */
  date?: string | undefined
}

export type CallRequest = WireRequest & { idempotent: boolean }

export type CallerOptions = {
  userAgent: string
  log: Log
  /** Called before every write is sent; throws once this process may no longer write. */
  fence?: () => void
  onRequest?: (observation: RequestObservation) => void
  /** Milliseconds for a call with its retries; default 30 s. */
  timeout?: number
  /** Maximum bytes of an answer, of a listing with all its pages, and of a line of a watch; unlimited when absent. */
  answerMax?: number
  /** Id of the cluster unless it is the platform's own; its answers are not trusted. */
  cluster?: string
  /** How much of the thread's time events of this cluster may take; unlimited when absent. */
  share?: Pick<TimeShare, 'spend'>
  /** For tests. */
  liveness?: Liveness
  random?: () => number
}

const DEFAULT_TIMEOUT_MS = 30_000
/** Milliseconds that an API server may need after a restart to load its roles. */
const ROLE_LOADING_MS = 30_000
const MAX_ATTEMPTS = 5
/** Maximum ordinary requests in flight. More would only queue inside the API server, behind everybody else's. */
const MAX_CONCURRENT = 50
/** Maximum of these per caller. The API server cannot be fair itself: all calls come from one account. */
const MAX_CONCURRENT_PER_CALLER = 5
/** Bytes of an error answer that are read. */
const MAX_ERROR_BYTES = 1024 * 1024

/** Makes one call: checks the fence, sends, judges the answer and retries if that is safe, within a deadline. */
export class Caller {
  readonly #transport: Transport
  readonly #options: CallerOptions
  readonly #slots = new KeyedSemaphore(MAX_CONCURRENT)
  readonly #callerSlots = new KeyedSemaphore(MAX_CONCURRENT_PER_CALLER)
  readonly #budget = new RetryBudget()
  readonly #random: () => number
  #unreachableAt = Number.NEGATIVE_INFINITY

  constructor(access: ClusterAccess, options: CallerOptions) {
    this.#transport = new Transport(access, options.userAgent, options)
    this.#options = options
    this.#random = options.random ?? Math.random
  }

  /** Returns the size limit for the answers of a call that is made in parts, such as pages. */
  allowance(): ByteBudget {
    return this.#transport.allowance()
  }

  get share(): CallerOptions['share'] {
    return this.#options.share
  }

  /** Adds the called cluster, which errors name. */
  withCluster(attempt: Attempt): Attempt {
    return { ...attempt, cluster: this.#options.cluster }
  }

  /** Returns the parsed body of a 2xx answer. */
  json<T>(call: Attempt, request: CallRequest, options: CallOptions): Promise<T> {
    const { signal } = options
    const attempt = this.withCluster(call)
    return this.#attempts(attempt, request, options, async (timeLimit) => {
      const end = performance.now() + timeLimit
      const release = await this.#acquireSlot(end, signal)
      const left = Math.max(1, end - performance.now())
      const { status, headers, text } = await this.#observed(attempt, async () => {
        const answer = await this.#transport.exchange({ ...request, signal }, left, this.#before(request, options))
        return [answer.status, answer, answer.headers.date]
      }).finally(release)
      // Before the status is judged, because refusals are parsed as well.
      if (this.#options.answerMax !== undefined && isDense(text)) throw answerTooLong(attempt)
      if (status >= 300) throw this.#refused(attempt, status, headers, text)
      const answer = parse<T>(attempt, status, text)
      // A delete may be answered with a Status, of which only the metadata is read.
      const form = attempt.verb === 'delete' ? undefined : attempt.resource
      const isTrusted = attempt.cluster === undefined
      if (isTrusted ? !isOfKubernetes(answer) : !isWellFormedAnswer(answer, form))
        throw errorFromContent(attempt, 'the answer is not an object', { status })
      return answer
    })
  }

  /** Waits for a free slot, first among the caller's own. @returns releases it */
  async #acquireSlot(end: number, signal: AbortSignal | undefined): Promise<() => void> {
    const caller = currentOrigin()?.caller
    const leave =
      caller === undefined ? undefined : await this.#callerSlots.take(caller, signal, end - performance.now())
    try {
      const release = await this.#slots.take('', signal, Math.max(1, end - performance.now()))
      return () => {
        release()
        leave?.()
      }
    } catch (error) {
      leave?.()
      throw error
    }
  }

  /** Returns the answer unread. The deadline covers the headers, then again `text`; the signal also covers the body. */
  raw(
    call: Attempt,
    request: CallRequest,
    options: CallOptions,
  ): Promise<{
    status: number
    headers: Dispatcher.ResponseData['headers']
    body: Dispatcher.ResponseData['body']
    text(): Promise<string>
  }> {
    const attempt = this.withCluster(call)
    return this.#attempts(attempt, request, options, async (left) => {
      const deadline = new AbortController()
      const isPatient = left === Number.POSITIVE_INFINITY
      const timer = isPatient ? undefined : setTimeout(() => deadline.abort(timeoutError()), left)
      try {
        const signal =
          options.signal === undefined ? deadline.signal : AbortSignal.any([options.signal, deadline.signal])
        const response = await this.#observed(attempt, async () => {
          const answer = await this.#transport.send({ ...request, signal, isPatient }, this.#before(request, options))
          return [answer.statusCode, answer]
        })
        const { statusCode: status, headers, body } = response
        return { status, headers, body, text: () => this.#textOf(attempt, body, options) }
      } finally {
        clearTimeout(timer)
      }
    })
  }

  /** Opens a stream without retries: the reader handles its end. `attempt` is one of `withCluster`. */
  async open(attempt: Attempt, request: WireRequest): Promise<StreamAnswer['body']> {
    let answer: StreamAnswer
    try {
      answer = await this.#observed(attempt, async () => {
        const opened = await this.#transport.stream(request)
        return [opened.status, opened]
      })
    } catch (error) {
      request.signal?.throwIfAborted()
      throw isKubeError(error) ? error : this.#unanswered(attempt, error)
    }
    const { status, headers, body } = answer
    if (status === 200) return body
    if (status === 401) this.#transport.refreshCredentials()
    throw this.#refused(attempt, status, headers, await textOf(body))
  }

  async #textOf(
    attempt: Attempt,
    body: Dispatcher.ResponseData['body'],
    { signal, timeout = this.#options.timeout ?? DEFAULT_TIMEOUT_MS }: CallOptions,
  ): Promise<string> {
    const { left } = this.allowance()
    const timer =
      timeout === Number.POSITIVE_INFINITY ? undefined : setTimeout(() => body.destroy(timeoutError()), timeout)
    try {
      return (await readWithin(left, body, () => answerTooLong(attempt))).toString('utf8')
    } catch (error) {
      signal?.throwIfAborted()
      throw isKubeError(error) ? error : errorFromTransport(attempt, error, attempt.verb !== 'GET')
    } finally {
      clearTimeout(timer)
    }
  }

  close(): Promise<void> {
    return this.#transport.close()
  }

  async #attempts<T>(
    attempt: Attempt,
    request: CallRequest,
    options: CallOptions,
    once: (left: number) => Promise<T>,
  ): Promise<T> {
    const { signal, timeout = this.#options.timeout ?? DEFAULT_TIMEOUT_MS } = options
    const deadline = performance.now() + timeout
    this.#budget.earn()
    let isDoubtful = false
    for (let count = 1; ; count += 1) {
      signal?.throwIfAborted()
      try {
        // Half the time for the first attempt if a retry is safe: its connection may have died silently.
        const timeLimit = request.idempotent && count === 1 ? timeout / 2 : timeout
        // The pause may have lasted longer than planned, and timers take no negative time.
        return await once(Math.max(1, Math.min(deadline - performance.now(), timeLimit)))
      } catch (thrown) {
        signal?.throwIfAborted()
        if (thrown instanceof FencedError) throw thrown.cause
        const found = this.#failureOf(attempt, thrown)
        const error = isDoubtful ? found.afterLostAnswer() : found
        isDoubtful ||= found.maybeApplied
        const pause = this.#pause(error, request, count)
        if (pause === undefined || performance.now() + pause >= deadline)
          throw this.#isTooEarly(error) ? error.whileStarting() : error
        this.#options.log.debug({ attempt: count, pause, reason: error.reason }, error.message)
        await sleep(pause, undefined, { ...(signal !== undefined && { signal }) }).catch(() => {})
      }
    }
  }

  /** Returns the milliseconds to wait before the next attempt; undefined if this was the last. */
  #pause(error: KubeError, request: CallRequest, count: number): number | undefined {
    if (error.reason === 'Unauthorized' && count === 1) {
      this.#transport.refreshCredentials()
      return 0
    }
    const repeatable = request.idempotent ? error.reason === 'Unavailable' : error.status === 0 && !error.maybeApplied
    if (error.reason !== 'Throttled' && !this.#isTooEarly(error) && !repeatable) return undefined
    // A 500 to a write is more often a webhook that fails for good than a server about to recover.
    if (error.status === 500 && request.method !== 'GET') return undefined
    if (count >= MAX_ATTEMPTS || !this.#budget.spend()) return undefined
    // The attempt itself has waited long enough.
    if (transportCode(error.cause) === 'TIMEOUT') return 0
    const backoff = 100 * 2 ** (count - 1)
    const retryAfter = (error.retryAfterSeconds ?? 0) * 1000
    return Math.max(backoff, retryAfter) * (1 + 0.5 * this.#random())
  }

  #failureOf(attempt: Attempt, thrown: unknown): KubeError {
    if (isKubeError(thrown)) return thrown
    if (thrown instanceof SemaphoreTimeout) return errorFromTransport(attempt, thrown, false)
    return thrown instanceof AnswerTooLongError ? answerTooLong(attempt) : this.#unanswered(attempt, thrown)
  }

  #unanswered(attempt: Attempt, thrown: unknown): KubeError {
    this.#unreachableAt = performance.now()
    return errorFromTransport(attempt, thrown, !wasNotSent(thrown))
  }

  /** Whether rights may be missing only because the API server just started: it refuses everybody until it has loaded its roles. */
  #isTooEarly({ reason, denial, quota, causes }: KubeError): boolean {
    if (reason !== 'Forbidden' || denial !== undefined || quota !== undefined || causes.length > 0) return false
    return performance.now() - this.#unreachableAt < ROLE_LOADING_MS
  }

  /** Reports one HTTP request. */
  async #observed<T>(
    attempt: Attempt,
    send: () => Promise<[status: number, answer: T, date?: string | string[] | undefined]>,
  ): Promise<T> {
    const started = performance.now()
    let status = 0
    let date: string | undefined
    try {
      const [answered, answer, told] = await send()
      status = answered
      date = typeof told === 'string' ? told : undefined
      return answer
    } finally {
      this.#options.onRequest?.({
        verb: attempt.verb,
        resource: attempt.resource === undefined ? '' : resourceId(attempt.resource),
        status,
        durationSeconds: (performance.now() - started) / 1000,
        date,
      })
    }
  }

  #refused(attempt: Attempt, status: number, headers: StreamAnswer['headers'], text: string): KubeError {
    const header = headers['retry-after']
    const retryAfter = typeof header === 'string' ? header : undefined
    const error = errorFromAnswer(attempt, status, text, retryAfter)
    // Of a load balancer, or the server itself while it stops and starts; 500 is often a webhook.
    if (error.reason === 'Unavailable' && status !== 500) this.#unreachableAt = performance.now()
    return error
  }

  #before({ method }: WireRequest, { unfenced }: CallOptions): () => void {
    return method === 'GET' || unfenced === true ? () => {} : () => this.#fence()
  }

  #fence(): void {
    try {
      this.#options.fence?.()
      checkFence()
    } catch (error) {
      throw new FencedError(error)
    }
  }
}

/** Not retried: the next answer would be as long. */
function answerTooLong(attempt: Attempt): KubeError {
  const why = 'the answer is larger than any expected from this cluster'
  return errorFromContent(attempt, why, { maybeApplied: attempt.verb !== 'get' })
}

/** Reads the body of an error answer; a partial one is enough. */
async function textOf(body: StreamAnswer['body']): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of body) {
      chunks.push(chunk)
      length += chunk.length
      if (length > MAX_ERROR_BYTES) break
    }
  } catch {
    // The status is known already, and the text is optional.
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Carries the fence's error past code that would mistake it for a lost connection. */
class FencedError extends Error {
  constructor(cause: unknown) {
    super('This process may no longer write.', { cause })
  }
}

/**
 * Limits retries to a tenth of all calls, after the first ten: an overloaded server gets less work from us, not five
 * times as much.
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
    throw errorFromContent(attempt, 'the answer is not JSON', { status, cause })
  }
}
