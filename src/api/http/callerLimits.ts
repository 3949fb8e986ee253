import type { ServerResponse } from 'node:http'
import { addressKey } from '../../core/addressKey.ts'
import type { Clock } from '../../core/clock.ts'
import { PlatformError } from '../../core/errors.ts'
import { LateRefusals } from '../../core/lateRefusals.ts'
import type { Origin } from '../../core/origin.ts'
import type { RequestLimits } from '../../core/requestLimits.ts'
import { SharedSlots } from '../../core/sharedSlots.ts'
import type { Caller } from './context.ts'
import {
  BODY_RATE,
  byteRate,
  FREE_ANSWER_BYTES,
  FREE_BODY_BYTES,
  requestRate,
  TokenBucket,
  toRetryAfterSeconds,
} from './limits.ts'
import type { HttpMetrics } from './metrics.ts'
import { UnauthenticatedRequests } from './unauthenticatedRequests.ts'
import { UnreadAnswers, type UnreadResponse } from './unreadAnswers.ts'

export type CallerLimitsOptions = RequestLimits & {
  /** Milliseconds by which the refusal of a caller over a limit is delayed. Absent: a second. */
  refusalDelay?: number
  /** The most bytes of all bodies in memory, each until its request is answered. Absent: 192 MiB. */
  heldBodyBytes?: number
}

/** Milliseconds after which a caller may retry when there is no room for its body. */
const BODY_RETRY_AFTER_MS = 5_000
/** Parsing takes up to three times the bytes of a body, and a container of the facade has 1 GiB. */
const HELD_BODIES_MAX_BYTES = 192 * 1_048_576

/** The most milliseconds an upload waits. A caller that owes more has very many in flight, each with a chunk held. */
const UPLOAD_WAIT_MAX_MS = 5_000

/** Whose limits a request counts against: its principal's, or without a principal its address's. */
export type RateLimitKey = { readonly kind: 'principal' | 'address'; readonly key: string }

type Requester = { readonly caller?: Caller | undefined; readonly address?: string | undefined }

export function rateLimitKeyOf({ caller, address }: Requester): RateLimitKey {
  if (caller !== undefined) return { kind: 'principal', key: caller.principalId }
  return { kind: 'address', key: addressKey(address) }
}

type Routed = Requester & { readonly match: { readonly parameters: { readonly [name: string]: string } } | undefined }

/** Returns the boundary of the path; for strangers, who may name any boundary, their address. */
export function rateLimitScopeOf(asking: Routed): string {
  const { key } = rateLimitKeyOf(asking)
  return asking.caller === undefined ? key : (asking.match?.parameters.boundaryId ?? key)
}

/** A request whose sender has not been proved yet. */
export type UnauthenticatedRequest = {
  /**
   * Counts the request for this principal instead of its address, or for nobody.
   * @throws PlatformError TOO_MANY_REQUESTS
   */
  prove(principal?: string): void
  /** The proved principal. */
  readonly sender: string | undefined
  /** Must be called when the request is finished. */
  end(): void
}

/** Without a caller, calls to the API server queue behind those of the proved sender, or else of the same address. */
export function originOf(asking: Requester & { readonly unproved: UnauthenticatedRequest | undefined }): Origin {
  const { key } = rateLimitKeyOf(asking)
  return {
    get caller() {
      return asking.unproved?.sender ?? key
    },
  }
}

/** The rate limits of each caller, because one thread serves all of them. */
export class CallerLimits {
  readonly #requests: Record<RateLimitKey['kind'], TokenBucket>
  readonly #unauthenticated: UnauthenticatedRequests
  readonly #bodies = new TokenBucket(BODY_RATE)
  readonly #uploads: TokenBucket
  readonly #answers: TokenBucket
  readonly #unreadAnswers = new UnreadAnswers()
  readonly #heldBodies: SharedSlots
  readonly #refusals: LateRefusals
  readonly #clock: Clock
  readonly #metrics: HttpMetrics

  constructor(limits: CallerLimitsOptions, clock: Clock, metrics: HttpMetrics) {
    this.#requests = {
      principal: new TokenBucket(requestRate(limits.requestsPerMinute)),
      address: new TokenBucket(requestRate(limits.anonymousRequestsPerMinute)),
    }
    this.#unauthenticated = new UnauthenticatedRequests(this.#requests.address, () => clock.monotonic())
    this.#uploads = new TokenBucket(byteRate(limits.uploadBytesPerSecond))
    this.#answers = new TokenBucket(byteRate(limits.answerBytesPerSecond))
    this.#refusals = new LateRefusals(clock, limits.refusalDelay)
    this.#heldBodies = new SharedSlots(limits.heldBodyBytes ?? HELD_BODIES_MAX_BYTES)
    this.#clock = clock
    this.#metrics = metrics
  }

  /** @throws PlatformError TOO_MANY_REQUESTS, also while the caller still owes for long answers */
  takeRequest(limitKey: RateLimitKey): void {
    const now = this.#clock.monotonic()
    this.#refuseFor(limitKey, this.#requests[limitKey.kind].take(limitKey.key, 1, now))
    this.#refuseFor(limitKey, this.#answers.until(limitKey.key, 0, now))
  }

  /** Like `takeRequest`, for requests whose content may prove their sender. @throws PlatformError TOO_MANY_REQUESTS */
  async takeUnproved(limitKey: RateLimitKey): Promise<UnauthenticatedRequest> {
    this.#refuseFor(limitKey, await this.#unauthenticated.begin(limitKey.key))
    let isProved = false
    let sender: string | undefined
    return {
      get sender() {
        return sender
      },
      prove: (principal) => {
        isProved = true
        sender = principal
        if (principal !== undefined) this.takeRequest({ kind: 'principal', key: principal })
      },
      end: () => this.#unauthenticated.end(limitKey.key, isProved),
    }
  }

  /** @throws PlatformError TOO_MANY_REQUESTS */
  takeBody(limitKey: RateLimitKey, bytes: number): void {
    if (bytes > FREE_BODY_BYTES)
      this.#refuseFor(limitKey, this.#bodies.take(limitKey.key, bytes, this.#clock.monotonic()))
  }

  /**
   * Limits the bodies that are held in memory, per scope: a tenant may have many principals that each send one slowly.
   *
   * @param place a boundary, or the sender
   * @returns a function to call with bytes before they are in memory. @throws PlatformError TOO_MANY_REQUESTS
   */
  bodyHeld(
    { kind }: RateLimitKey,
    scope: string,
    response: Pick<ServerResponse, 'closed' | 'once'>,
  ): (bytes: number) => void {
    let own = 0
    response.once('close', () => this.#heldBodies.take(scope, -own))
    return (bytes) => {
      if (bytes <= FREE_BODY_BYTES || response.closed) return
      if (!this.#heldBodies.hasRoomFor(scope, bytes)) this.#refuseFor({ kind, key: scope }, BODY_RETRY_AFTER_MS)
      this.#heldBodies.take(scope, bytes)
      own += bytes
    }
  }

  /** Must be called before a streamed body is read. @throws PlatformError TOO_MANY_REQUESTS */
  beginUpload(limitKey: RateLimitKey): void {
    const wait = this.#uploads.until(limitKey.key, 0, this.#clock.monotonic()) ?? 0
    if (wait > UPLOAD_WAIT_MAX_MS) this.#refuseFor(limitKey, wait - UPLOAD_WAIT_MAX_MS)
  }

  /**
   * Slows a streamed body down instead of refusing it: nobody wants to send half a gigabyte twice.
   *
   * @returns milliseconds until its next chunk may be read
   */
  payUpload({ key }: RateLimitKey, bytes: number): number {
    const now = this.#clock.monotonic()
    this.#uploads.owe(key, bytes, now)
    return this.#uploads.until(key, 0, now) ?? 0
  }

  /**
   * Counts what is dropped of an answered request's body as an upload, so that refusals are no way to send more.
   *
   * @returns milliseconds until more of it may be read; undefined if the caller has sent too much
   */
  payDropped(limitKey: RateLimitKey, bytes: number): number | undefined {
    const wait = this.payUpload(limitKey, bytes)
    return wait > UPLOAD_WAIT_MAX_MS ? undefined : wait
  }

  /**
   * Counts the length of an answer, which is known only once it exists: the caller's next request waits for it.
   *
   * @param unread absent for streams without an end
   */
  oweAnswer(
    { key }: RateLimitKey,
    bytes: number,
    unread?: { readonly scope: string; readonly response: UnreadResponse },
  ): void {
    if (bytes <= FREE_ANSWER_BYTES) return
    this.#answers.owe(key, bytes, this.#clock.monotonic())
    if (unread !== undefined) this.#unreadAnswers.add({ key, scope: unread.scope }, bytes, unread.response)
  }

  /** Delays a refusal; ends early if the caller disconnects. */
  holdRefusal(signal: AbortSignal): Promise<void> {
    return this.#refusals.wait(signal)
  }

  #refuseFor({ kind }: RateLimitKey, milliseconds: number | undefined): void {
    if (milliseconds === undefined) return
    const retryAfterSeconds = toRetryAfterSeconds(milliseconds)
    this.#metrics.limited(kind)
    throw new PlatformError('TOO_MANY_REQUESTS', `Too many requests: try again in ${retryAfterSeconds} s.`, {
      retryAfterSeconds,
    })
  }
}
