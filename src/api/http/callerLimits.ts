import type { Clock } from '../../core/clock.ts'
import { PlatformError } from '../../core/errors.ts'
import { LateRefusals } from '../../core/lateRefusals.ts'
import { answerRate, BODY_RATE, Budget, requestRate, SMALL_ANSWER, SMALL_BODY } from './limits.ts'
import type { HttpMetrics } from './metrics.ts'

export type RequestLimits = {
  /** In a minute. */
  requestsPerPrincipal: number
  /** In a minute, on routes without a token and with refused tokens. */
  anonymousRequestsPerAddress: number
  /** On average, of answers that are not small. */
  answerBytesPerSecond: number
  /** How long whoever is over a limit waits to hear of it, in milliseconds. Absent: a second. */
  refusalDelay?: number
}

/** Whose limits a request takes: those of its principal, or without one those of its address. */
export type Taker = { readonly kind: 'principal' | 'address'; readonly key: string }

/** What a caller may ask of the thread that answers everybody. */
export class CallerLimits {
  readonly #requests: Record<Taker['kind'], Budget>
  readonly #bodies = new Budget(BODY_RATE)
  readonly #answers: Budget
  readonly #refusals: LateRefusals
  readonly #clock: Clock
  readonly #metrics: HttpMetrics

  constructor(limits: RequestLimits, clock: Clock, metrics: HttpMetrics) {
    this.#requests = {
      principal: new Budget(requestRate(limits.requestsPerPrincipal)),
      address: new Budget(requestRate(limits.anonymousRequestsPerAddress)),
    }
    this.#answers = new Budget(answerRate(limits.answerBytesPerSecond))
    this.#refusals = new LateRefusals(clock, limits.refusalDelay)
    this.#clock = clock
    this.#metrics = metrics
  }

  /** @throws PlatformError TOO_MANY_REQUESTS, also while long answers of before are owed */
  takeRequest(taker: Taker): void {
    this.#take(taker, this.#requests[taker.kind], 1)
    this.#take(taker, this.#answers, 0)
  }

  /** @throws PlatformError TOO_MANY_REQUESTS */
  takeBody(taker: Taker, bytes: number): void {
    if (bytes > SMALL_BODY) this.#take(taker, this.#bodies, bytes)
  }

  /** How long an answer is shows only once it is there: the next request waits for it. */
  oweAnswer({ key }: Taker, bytes: number): void {
    if (bytes > SMALL_ANSWER) this.#answers.owe(key, bytes, this.#clock.monotonic())
  }

  /** Before a refusal is sent; over once the caller has gone. */
  holdRefusal(signal: AbortSignal): Promise<void> {
    return this.#refusals.wait(signal)
  }

  #take({ kind, key }: Taker, budget: Budget, amount: number): void {
    const retryAfterSeconds = budget.take(key, amount, this.#clock.monotonic())
    if (retryAfterSeconds === undefined) return
    this.#metrics.limited(kind)
    throw new PlatformError('TOO_MANY_REQUESTS', `Too many requests: try again in ${retryAfterSeconds} s.`, {
      retryAfterSeconds,
    })
  }
}
