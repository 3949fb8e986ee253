import { Readable } from 'node:stream'
import type { Clock } from '../../../core/clock.ts'
import { PlatformError } from '../../../core/errors.ts'
import { SharedPlaces } from '../../../core/sharedPlaces.ts'
import type { Answer } from '../answer.ts'
import type { HttpMetrics } from '../metrics.ts'
import { EVENT_STREAM } from '../negotiation.ts'
import { type Followed, FollowedList } from './followedList.ts'

/** Who follows, and in what: a boundary, or of the platform what a tenant sees. */
export type Follower = { readonly principal: string; readonly place: string }

/** A person's tabs, or the replicas of a service. */
export const OF_PRINCIPAL = 32
export const OF_PROCESS = 1_000
/** Records that all streams of the process remember, and as much as they are: what they have read, and what a client has not taken. */
const REMEMBERED_MAX = 500_000

const HEADERS = {
  'content-type': EVENT_STREAM,
  'cache-control': 'no-store',
  // Nginx would keep back what has come until its buffer is full.
  'x-accel-buffering': 'no',
}

/** The lists of this process that are followed now. */
export class OpenStreams {
  readonly #clock: Clock
  readonly #metrics: Pick<HttpMetrics, 'following' | 'limited'>
  readonly #stopping = new AbortController()
  readonly #ofPrincipal = new Map<string, number>()
  readonly #places = new SharedPlaces(OF_PROCESS)
  readonly #records: SharedPlaces

  constructor(clock: Clock, metrics: Pick<HttpMetrics, 'following' | 'limited'>, rememberedMax = REMEMBERED_MAX) {
    this.#records = new SharedPlaces(rememberedMax)
    this.#clock = clock
    this.#metrics = metrics
  }

  /** @throws what the ordinary request would be refused with; TOO_MANY_REQUESTS, SERVICE_UNAVAILABLE */
  async open(follower: Follower, followed: Followed): Promise<Answer<never>> {
    this.#enter(follower)
    const list = new FollowedList(followed, {
      clock: this.#clock,
      stopping: this.#stopping.signal,
      remember: (more) => this.#records.take(follower.place, more),
    })
    const leave = () => {
      list.end()
      this.#leave(follower)
    }
    try {
      await list.begin()
      // Others may have begun meanwhile.
      if (this.#records.isFullFor(follower.place)) throw tooMany()
    } catch (error) {
      leave()
      throw error
    }
    const stream = Readable.from(list.events(), { highWaterMark: 1 }).once('close', leave)
    return { status: 200, headers: HEADERS, stream, isOpenEnded: true }
  }

  /** Ends all of them at once. Whoever connects to this process again is told the same, and goes elsewhere. */
  stop(): void {
    this.#stopping.abort()
  }

  #enter({ principal, place }: Follower): void {
    const own = this.#ofPrincipal.get(principal) ?? 0
    if (own >= OF_PRINCIPAL) {
      this.#metrics.limited('principal')
      const message = `You follow ${OF_PRINCIPAL} lists, which is the most: end one of them first.`
      throw new PlatformError('TOO_MANY_REQUESTS', message, { retryAfterSeconds: 10 })
    }
    // A tenant has as many principals as it likes.
    if (this.#places.isFullFor(place) || this.#records.isFullFor(place)) throw tooMany()
    this.#ofPrincipal.set(principal, own + 1)
    this.#places.take(place)
    this.#metrics.following(1)
  }

  #leave({ principal, place }: Follower): void {
    const own = (this.#ofPrincipal.get(principal) ?? 1) - 1
    if (own === 0) this.#ofPrincipal.delete(principal)
    else this.#ofPrincipal.set(principal, own)
    this.#places.free(place)
    this.#metrics.following(-1)
  }
}

function tooMany(): PlatformError {
  const message = 'Too many lists are followed here: try again in a moment, or read the list without following it.'
  return new PlatformError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 10 })
}
