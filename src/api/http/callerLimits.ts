import type { ServerResponse } from 'node:http'
import { addressKey } from '../../core/addressKey.ts'
import type { Clock } from '../../core/clock.ts'
import { PlatformError } from '../../core/errors.ts'
import { LateRefusals } from '../../core/lateRefusals.ts'
import type { RequestLimits } from '../../core/requestLimits.ts'
import { SharedPlaces } from '../../core/sharedPlaces.ts'
import type { Caller } from './context.ts'
import { BODY_RATE, Budget, byteRate, requestRate, SMALL_ANSWER, SMALL_BODY, wholeSeconds } from './limits.ts'
import type { HttpMetrics } from './metrics.ts'
import { UnprovedRequests } from './unproved.ts'
import { type Unread, UnreadAnswers } from './unreadAnswers.ts'

export type CallerLimitsOptions = RequestLimits & {
  /** How long whoever is over a limit waits to hear of it, in milliseconds. Absent: a second. */
  refusalDelay?: number
  /** Bytes of all bodies that are in memory at once, each until its answer is over. Absent: 192 MiB. */
  heldBodyBytes?: number
}

/** Milliseconds. */
const ROOM_AGAIN = 5_000
/** What is made of a body takes three times its bytes meanwhile, and a container of the facade has 1 GiB. */
const HELD_BODY_BYTES = 192 * 1_048_576

/** Milliseconds that an upload waits. Whoever owes more has very many under way, each with a piece in memory. */
const LONGEST_WAIT = 5_000

/** Whose limits a request counts against: those of its principal, or without one those of its address. */
export type Taker = { readonly kind: 'principal' | 'address'; readonly key: string }

type Asking = { readonly caller?: Caller | undefined; readonly address?: string | undefined }

export function takerOf({ caller, address }: Asking): Taker {
  if (caller !== undefined) return { kind: 'principal', key: caller.principalId }
  return { kind: 'address', key: addressKey(address) }
}

type Placed = Asking & { readonly match: { readonly parameters: { readonly [name: string]: string } } | undefined }

/** The boundary that the path names, where the caller was let in; of a stranger, who may name any, the address. */
export function placeOf(asking: Placed): string {
  const { key } = takerOf(asking)
  return asking.caller === undefined ? key : (asking.match?.parameters.boundaryId ?? key)
}

/** A request whose sender is not proved yet. */
export type Unproved = {
  /** It is a request of this principal, and none of its address. @throws PlatformError TOO_MANY_REQUESTS */
  prove(principal: string): void
  /** When all that it asks for is done. */
  end(): void
}

/** The limits of each caller on the thread that answers everybody. */
export class CallerLimits {
  readonly #requests: Record<Taker['kind'], Budget>
  readonly #unproved: UnprovedRequests
  readonly #bodies = new Budget(BODY_RATE)
  readonly #uploads: Budget
  readonly #answers: Budget
  readonly #unread = new UnreadAnswers()
  readonly #held: SharedPlaces
  readonly #refusals: LateRefusals
  readonly #clock: Clock
  readonly #metrics: HttpMetrics

  constructor(limits: CallerLimitsOptions, clock: Clock, metrics: HttpMetrics) {
    this.#requests = {
      principal: new Budget(requestRate(limits.requestsPerMinute)),
      address: new Budget(requestRate(limits.anonymousRequestsPerMinute)),
    }
    this.#unproved = new UnprovedRequests(this.#requests.address, () => clock.monotonic())
    this.#uploads = new Budget(byteRate(limits.uploadBytesPerSecond))
    this.#answers = new Budget(byteRate(limits.answerBytesPerSecond))
    this.#refusals = new LateRefusals(clock, limits.refusalDelay)
    this.#held = new SharedPlaces(limits.heldBodyBytes ?? HELD_BODY_BYTES)
    this.#clock = clock
    this.#metrics = metrics
  }

  /** @throws PlatformError TOO_MANY_REQUESTS, also while long answers of before are owed */
  takeRequest(taker: Taker): void {
    const now = this.#clock.monotonic()
    this.#refuseFor(taker, this.#requests[taker.kind].take(taker.key, 1, now))
    this.#refuseFor(taker, this.#answers.until(taker.key, 0, now))
  }

  /** As `takeRequest`, of what may show by its content who sends it. @throws PlatformError TOO_MANY_REQUESTS */
  async takeUnproved(taker: Taker): Promise<Unproved> {
    this.#refuseFor(taker, await this.#unproved.begin(taker.key))
    let isProved = false
    return {
      prove: (principal) => {
        isProved = true
        this.takeRequest({ kind: 'principal', key: principal })
      },
      end: () => this.#unproved.end(taker.key, isProved),
    }
  }

  /** @throws PlatformError TOO_MANY_REQUESTS */
  takeBody(taker: Taker, bytes: number): void {
    if (bytes > SMALL_BODY) this.#refuseFor(taker, this.#bodies.take(taker.key, bytes, this.#clock.monotonic()))
  }

  /**
   * Of a body that is held whole. A tenant has as many principals as it likes, each with a body that it sends slowly.
   *
   * @param place whose it is: a boundary, or who sends it
   * @returns hears of bytes before they are in memory. @throws PlatformError TOO_MANY_REQUESTS
   */
  bodyHeld({ kind }: Taker, place: string, response: Pick<ServerResponse, 'closed' | 'once'>): (bytes: number) => void {
    let own = 0
    response.once('close', () => this.#held.take(place, -own))
    return (bytes) => {
      if (bytes <= SMALL_BODY || response.closed) return
      if (!this.#held.hasRoomFor(place, bytes)) this.#refuseFor({ kind, key: place }, ROOM_AGAIN)
      this.#held.take(place, bytes)
      own += bytes
    }
  }

  /** Before a body that is read as it comes. @throws PlatformError TOO_MANY_REQUESTS */
  beginUpload(taker: Taker): void {
    const wait = this.#uploads.until(taker.key, 0, this.#clock.monotonic()) ?? 0
    if (wait > LONGEST_WAIT) this.#refuseFor(taker, wait - LONGEST_WAIT)
  }

  /**
   * Such a body is slowed and not refused: nobody sends half a gigabyte again because it came too fast.
   *
   * @returns milliseconds until the next piece of it may be read
   */
  payUpload({ key }: Taker, bytes: number): number {
    const now = this.#clock.monotonic()
    this.#uploads.owe(key, bytes, now)
    return this.#uploads.until(key, 0, now) ?? 0
  }

  /**
   * What is dropped of a body whose answer is there counts as an upload, so that refusals cannot be used to send more.
   *
   * @returns milliseconds until more of it may be read; undefined if its caller has sent too much
   */
  payDropped(taker: Taker, bytes: number): number | undefined {
    const wait = this.payUpload(taker, bytes)
    return wait > LONGEST_WAIT ? undefined : wait
  }

  /**
   * How long an answer is shows only once it is there: the next request waits for it.
   *
   * @param unread absent where it goes on
   */
  oweAnswer({ key }: Taker, bytes: number, unread?: { readonly place: string; readonly response: Unread }): void {
    if (bytes <= SMALL_ANSWER) return
    this.#answers.owe(key, bytes, this.#clock.monotonic())
    if (unread !== undefined) this.#unread.add({ key, place: unread.place }, bytes, unread.response)
  }

  /** Before a refusal is sent; over once the caller has gone. */
  holdRefusal(signal: AbortSignal): Promise<void> {
    return this.#refusals.wait(signal)
  }

  #refuseFor({ kind }: Taker, milliseconds: number | undefined): void {
    if (milliseconds === undefined) return
    const retryAfterSeconds = wholeSeconds(milliseconds)
    this.#metrics.limited(kind)
    throw new PlatformError('TOO_MANY_REQUESTS', `Too many requests: try again in ${retryAfterSeconds} s.`, {
      retryAfterSeconds,
    })
  }
}
