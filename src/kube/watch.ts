import type { Clock } from '../core/clock.ts'
import type { Log } from '../core/log.ts'
import type { KubeClient } from './client.ts'
import { isKubeError, KubeError } from './errors.ts'
import type { History } from './history.ts'
import { type KubeObject, type Resource, resourceId } from './object.ts'
import { StallGuard, type WatchTimings } from './stallGuard.ts'
import { isListed, type WatchEvent } from './stream.ts'
import { isNewer } from './version.ts'

/** One for all: without a reason, each `abort` makes an error with a stack of its own. */
const STOPPED = new Error('The watch was stopped.')

/** Where the events of a resource go. None of these may throw, but for what has no room. */
export type WatchSink<T extends KubeObject> = {
  /** A listing begins; one that broke off before is void. */
  beginListing(): void
  listed(object: T): void
  /** False: the listing is older than the cache and was ignored. */
  endListing(version: string): boolean
  changed(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): void
  bookmark(version: string): void
  /** The cache holds a history that is lost: the next listing counts, whatever its versions. */
  rewind(): void
  /** Where to resume; undefined before the first listing, and after `rewind`. */
  readonly version: string | undefined
}

export const WATCH_TIMINGS: WatchTimings = {
  streamSeconds: { least: 330, most: 600 },
  stall: 100_000,
  open: 10_000,
  backoff: 250,
}

export type WatchObserver = {
  opened?(resource: Resource): void
  /** All that is there is known, and what changes is told from now on. */
  live?(resource: Resource): void
  ended?(resource: Resource, error: KubeError | undefined): void
  /** A listing began, the first one included. */
  listing?(resource: Resource): void
}

/** What is watched, and through whom. */
export type Watched = {
  client: Pick<KubeClient, 'list' | 'watchStream'>
  resource: Resource
  /** Only this namespace. */
  namespace?: string | undefined
  labelSelector?: string | undefined
  fieldSelector?: string | undefined
}
/** What every watch works with. */
export type WatchMeans = {
  /** Shared by the caches of one client, so that those of one type ask once. */
  history: History
  clock: Clock
  random: () => number
  log: Log
  observer: WatchObserver
}
export type WatchLoopOptions<T extends KubeObject> = Watched &
  WatchMeans & { sink: WatchSink<T>; timings: WatchTimings }

/**
 * Keeps one resource watched for ever:
 *
 *   streaming list ──bookmark "initial events end"──> events ──ended, cut, silent, refused──> pause ──> resume at the
 *        ^                                                                                      │       last version
 *        └──────────────── 410: the version left the history, or the history went back ─────────┘
 *
 * A server whose etcd was restored accepts a version of the lost history and says nothing from then on. So after every
 * stream that did not end in its time, the server is asked how far its history has come. The server that knows no streaming lists is asked for a plain list and a watch from its version.
 */
export class WatchLoop<T extends KubeObject> {
  readonly #options: WatchLoopOptions<T>
  readonly #stop = new AbortController()
  #done: Promise<void> | undefined
  #streamingLists = true
  #relist = false
  /** Since when it is in doubt whether the server still has our history. */
  #doubtedSince: number | undefined
  #isComparing = false
  #failures = 0
  #trouble = ''
  #live = false
  #lostAt: number | undefined

  constructor(options: WatchLoopOptions<T>) {
    this.#options = options
  }

  /** A stream is open now. */
  get live(): boolean {
    return this.#live
  }

  /** Milliseconds since the last stream was lost; zero while one is open. */
  get age(): number {
    return this.#lostAt === undefined ? 0 : this.#options.clock.monotonic() - this.#lostAt
  }

  start(): void {
    this.#done ??= this.#run()
  }

  async stop(): Promise<void> {
    this.#stop.abort(STOPPED)
    await this.#done
  }

  async #run(): Promise<void> {
    const { clock, resource, observer, log } = this.#options
    const stopped = this.#stop.signal
    while (!stopped.aborted) {
      const started = clock.monotonic()
      let error: KubeError | undefined
      try {
        await this.#once()
      } catch (thrown) {
        if (stopped.aborted) return
        error = isKubeError(thrown) ? thrown : unexpected(resource, thrown)
      }
      this.#live = false
      this.#lostAt ??= clock.monotonic()
      this.#judge(error, clock.monotonic() - started)
      report(() => observer.ended?.(resource, error), log)
      if (!stopped.aborted) await this.#pause(error)
    }
  }

  /** One stream from its opening to its end. */
  async #once(): Promise<void> {
    const { sink, observer, resource, log } = this.#options
    if (sink.version !== undefined && !this.#relist) return this.#stream(false)
    if (this.#doubtedSince !== undefined) await this.#compareHistories(this.#doubtedSince)
    report(() => observer.listing?.(resource), log)
    sink.beginListing()
    if (this.#streamingLists) return this.#stream(true)
    await this.#plainList()
    return this.#stream(false)
  }

  /** Beside a resumed stream, which stays silent if the histories differ. */
  #compareBeside(guard: StallGuard, since: number): void {
    if (this.#isComparing) return
    this.#isComparing = true
    this.#compareHistories(since)
      .then((wentBack) => wentBack && guard.end())
      .catch(() => guard.end())
      .finally(() => {
        this.#isComparing = false
      })
  }

  /** @returns whether the server's history is behind ours, which is lost then */
  async #compareHistories(since: number): Promise<boolean> {
    const { sink, history, resource, namespace, log } = this.#options
    const known = sink.version
    const newest = known === undefined ? undefined : await history.newest(resource, namespace, since)
    this.#doubtedSince = undefined
    if (newest === undefined || !isNewer(known ?? '0', newest)) return false
    log.error({ known, newest }, 'The history of the API server went back; listing again.')
    sink.rewind()
    return true
  }

  async #plainList(): Promise<void> {
    const { client, resource, namespace, labelSelector, fieldSelector, sink } = this.#options
    const { items, resourceVersion } = await client.list<T>(resource, {
      namespace,
      labelSelector,
      fieldSelector,
      signal: this.#stop.signal,
    })
    for (const item of items) sink.listed(item)
    this.#listingEnded(sink.endListing(resourceVersion))
  }

  #listingEnded(accepted: boolean): void {
    if (accepted) {
      this.#relist = false
      return
    }
    this.#relist = true
    throw new KubeError(
      'Unavailable',
      `Cannot watch ${resourceId(this.#options.resource)}: the API server is behind.`,
      {
        status: 200,
        resource: this.#options.resource,
      },
    )
  }

  async #stream(initial: boolean): Promise<void> {
    const { client, resource, namespace, labelSelector, fieldSelector, sink, random, timings } = this.#options
    const { least, most } = timings.streamSeconds
    const timeoutSeconds = Math.round(least + (most - least) * random())
    const guard = new StallGuard(this.#options.clock, { ...timings, timeoutSeconds }, this.#stop.signal)
    let listing = initial
    try {
      const events = client.watchStream<T>(resource, {
        namespace,
        labelSelector,
        fieldSelector,
        // A new listing must not be older than what is known; asking for the newest of all would wait for etcd.
        resourceVersion: sink.version ?? '',
        sendInitialEvents: initial,
        timeoutSeconds,
        signal: guard.signal,
        onOpen: () => {
          guard.opened()
          this.#opened(initial)
          if (!initial && this.#doubtedSince !== undefined) this.#compareBeside(guard, this.#doubtedSince)
        },
        onActivity: () => guard.active(),
      })
      for await (const event of events) {
        if (listing) {
          listing = this.#listingEvent(event)
          continue
        }
        guard.expectBookmarks()
        if (isNewer(sink.version ?? '0', event.object.metadata.resourceVersion ?? '0')) this.#suspect(guard)
        deliver(sink, event)
      }
      if (listing) throw cutShort(resource)
    } catch (error) {
      throw guard.stalled && !this.#stop.signal.aborted ? silent(resource) : error
    } finally {
      guard.release()
    }
  }

  /** On a stream that began after it, an event older than the known version means another history, or a repetition. */
  #suspect(guard: StallGuard): void {
    this.#doubtedSince ??= this.#options.clock.monotonic()
    this.#compareBeside(guard, this.#doubtedSince)
  }

  #opened(initial: boolean): void {
    const { observer, resource, log } = this.#options
    if (!initial) this.#isLive()
    report(() => observer.opened?.(resource), log)
  }

  /** @returns whether the listing goes on */
  #listingEvent(event: WatchEvent<T>): boolean {
    const { sink } = this.#options
    const { type, object } = event
    if (type === 'ADDED') sink.listed(object)
    if (!isListed(event)) return true
    this.#listingEnded(sink.endListing(object.metadata.resourceVersion ?? ''))
    this.#isLive()
    return false
  }

  #isLive(): void {
    const { observer, resource, log } = this.#options
    this.#live = true
    this.#lostAt = undefined
    report(() => observer.live?.(resource), log)
  }

  #judge(error: KubeError | undefined, lasted: number): void {
    const { log } = this.#options
    // A server that ends each stream at once is in trouble as well.
    const healthy = lasted > 5_000 || (error === undefined && lasted > 1_000)
    // Trouble of another kind is news: the first answer after a minute of refused connections is not the hundredth failure.
    const trouble = error === undefined ? 'ended' : error.status === 0 ? 'lost' : error.reason
    this.#failures = healthy ? 0 : trouble === this.#trouble ? this.#failures + 1 : 1
    this.#trouble = trouble
    const { least } = this.#options.timings.streamSeconds
    const isInTime = error === undefined ? lasted >= least * 1_000 : error.reason === 'Gone'
    if (!isInTime) this.#doubtedSince = this.#options.clock.monotonic()
    if (error === undefined) return
    if (error.reason === 'Gone') this.#relist = true
    const wasListing = this.#relist || this.#options.sink.version === undefined
    if (error.reason === 'Invalid' && wasListing && this.#streamingLists) {
      this.#streamingLists = false
      // Nothing is wrong: an administrator may have turned them off.
      log.debug({ resource: resourceId(this.#options.resource) }, 'No streaming lists here: asking for plain ones.')
      return
    }
    // A stream that ends after its time is not worth a log line; nor is every attempt of a long outage.
    const isRepeated = error.status === 0 && (lasted > 1_000 || this.#failures > 1)
    log[isRepeated ? 'debug' : this.#keepsFromStart(error) ? 'warn' : 'info'](
      { reason: error.reason, failures: this.#failures },
      error.message,
    )
  }

  /** Nothing was ever read, and nobody else has to act: a process that cannot start has reported why. */
  #keepsFromStart({ reason }: KubeError): boolean {
    return this.#options.sink.version === undefined && (reason === 'Unavailable' || reason === 'Unauthorized')
  }

  #pause(error: KubeError | undefined): Promise<void> {
    const { clock, sink, timings, random } = this.#options
    const milliseconds = pauseAfter(error, this.#failures, timings.backoff, random, sink.version !== undefined)
    const { signal } = this.#stop
    return new Promise((resolve) => {
      const finish = () => {
        timer.cancel()
        signal.removeEventListener('abort', finish)
        resolve()
      }
      const timer = clock.setTimeout(finish, milliseconds)
      signal.addEventListener('abort', finish)
    })
  }
}

/**
 * Milliseconds until the stream is opened again. A lost connection is tried often, because a refused attempt costs
 * nothing and the server may be back; a server that answers with trouble is given time; a type or a permission that is
 * missing waits for a person, unless the permission was there before: a server that has just started has yet to read it.
 */
export function pauseAfter(
  error: KubeError | undefined,
  failures: number,
  first: number,
  random: () => number,
  wasPermitted = false,
): number {
  const jitter = 0.5 + 0.5 * random()
  const asked = Math.min(30, error?.retryAfterSeconds ?? 0) * 1000 * (1 + 0.2 * random())
  if (failures === 0) return Math.max(asked, 200 * random())
  if (error?.status === 0) return Math.min(700, first * 2 ** Math.min(failures - 1, 10)) * jitter
  const patience = error?.reason === 'NotFound' || (error?.reason === 'Forbidden' && !wasPermitted) ? 30_000 : 4_000
  return Math.max(asked, Math.min(patience, first * 2 ** Math.min(failures - 1, 20)) * jitter)
}

function deliver<T extends KubeObject>(sink: WatchSink<T>, { type, object }: WatchEvent<T>): void {
  if (type === 'BOOKMARK') sink.bookmark(object.metadata.resourceVersion ?? '')
  else sink.changed(type, object)
}

/** An observer that throws never ends a stream. */
function report(call: () => void, log: Log): void {
  try {
    call()
  } catch (error) {
    log.error({ err: error }, 'An observer of a watch failed.')
  }
}

function silent(resource: Resource): KubeError {
  return new KubeError('Unavailable', `The watch of ${resourceId(resource)} fell silent.`, { status: 0, resource })
}

function cutShort(resource: Resource): KubeError {
  return new KubeError('Unavailable', `The listing of ${resourceId(resource)} ended before it was complete.`, {
    status: 200,
    resource,
  })
}

function unexpected(resource: Resource, cause: unknown): KubeError {
  const message = `The watch of ${resourceId(resource)} failed unexpectedly.`
  return new KubeError('Unexpected', message, { status: 0, resource, cause })
}
