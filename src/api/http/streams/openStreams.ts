import { Readable } from 'node:stream'
import type { Clock } from '../../../core/clock.ts'
import { SharedSlots } from '../../../core/sharedSlots.ts'
import { type Answer, NO_STORE } from '../answer.ts'
import type { HttpMetrics } from '../metrics.ts'
import { EVENT_STREAM } from '../negotiation.ts'
import { FollowedList, type ListSubscription } from './followedList.ts'
import { type Follower, Followers, LOG_STREAM_LIMITS, tooManyStreams } from './followers.ts'

/** Enough for a person's tabs, or the replicas of a service. */
export const MAX_STREAMS_PER_PRINCIPAL = 32
export const MAX_STREAMS_PER_PROCESS = 1_000
/** Records in memory over all streams of the process; what they have read and not yet sent counts as records too. */
const RECORDS_MAX = 500_000

const HEADERS = {
  'content-type': EVENT_STREAM,
  ...NO_STORE,
  // Otherwise Nginx holds events back until its buffer is full.
  'x-accel-buffering': 'no',
}

export class OpenStreams {
  readonly #clock: Clock
  readonly #metrics: Pick<HttpMetrics, 'following' | 'limited'>
  readonly #stopping = new AbortController()
  /** Streams of logs, which their routes open themselves. */
  readonly logs: Followers
  readonly #followers: Followers
  readonly #records: SharedSlots

  constructor(clock: Clock, metrics: Pick<HttpMetrics, 'following' | 'limited'>, rememberedMax = RECORDS_MAX) {
    this.#records = new SharedSlots(rememberedMax)
    this.#clock = clock
    this.#metrics = metrics
    this.logs = new Followers({ ...LOG_STREAM_LIMITS, metrics })
    this.#followers = new Followers({
      noun: 'lists',
      ofPrincipal: MAX_STREAMS_PER_PRINCIPAL,
      ofProcess: MAX_STREAMS_PER_PROCESS,
      metrics,
    })
  }

  /** @throws the refusal of an ordinary request; TOO_MANY_REQUESTS, SERVICE_UNAVAILABLE */
  async open(follower: Follower, followed: ListSubscription): Promise<Answer<never>> {
    if (this.#records.isFullFor(follower.scope)) throw tooManyStreams('lists')
    const free = this.#followers.enter(follower)
    this.#metrics.following(1)
    const list = new FollowedList(followed, {
      clock: this.#clock,
      stopping: this.#stopping.signal,
      remember: (more) => this.#records.take(follower.scope, more),
    })
    const leave = () => {
      list.end()
      free()
      this.#metrics.following(-1)
    }
    try {
      await list.begin()
      // Other streams may have begun meanwhile.
      if (this.#records.isFullFor(follower.scope)) throw tooManyStreams('lists')
    } catch (error) {
      leave()
      throw error
    }
    const stream = Readable.from(list.events(), { highWaterMark: 1 }).once('close', leave)
    return { status: 200, headers: HEADERS, stream, isOpenEnded: true }
  }

  /** Ends all streams at once, also those that connect to this process again, so that clients go elsewhere. */
  stop(): void {
    this.#stopping.abort()
  }
}
