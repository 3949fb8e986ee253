import type { Clock } from '../core/clock.ts'
import type { Log } from '../core/log.ts'
import type { KubeClient } from './client.ts'
import { isKubeError, KubeError } from './errors.ts'
import type { NewestVersionReader } from './newestVersionReader.ts'
import { type KubeObject, type Resource, resourceId } from './object.ts'
import { isNewerResourceVersion } from './resourceVersion.ts'
import { StallGuard, type WatchTimings } from './stallGuard.ts'
import { isInitialEventsEnd, type WatchEvent } from './stream.ts'

/** Shared, because each `abort` without a reason creates an error with a stack of its own. */
const STOPPED = new Error('The watch was stopped.')

/** Receives the events of a resource. No method may throw, except if a memory budget is exceeded. */
export type WatchSink<T extends KubeObject> = {
  /** A listing begins; a previous one that did not end is void. */
  beginListing(): void
  listed(object: T): void
  /** Returns false if the listing is older than the cache and was ignored. */
  endListing(version: string): boolean
  changed(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): void
  bookmark(version: string): void
  /** The history in the cache is lost: the next listing counts, whatever its versions. */
  rewind(): void
  /** Version to resume from; undefined before the first listing, and after `rewind`. */
  readonly version: string | undefined
}

export const WATCH_TIMINGS: WatchTimings = {
  streamSeconds: { min: 330, max: 600 },
  stall: 100_000,
  open: 10_000,
  backoff: 250,
}

export type WatchObserver = {
  opened?(resource: Resource): void
  /** Everything that exists is known, and changes are reported from now on. */
  live?(resource: Resource): void
  ended?(resource: Resource, error: KubeError | undefined): void
  /** A listing began, the first one included. */
  listing?(resource: Resource): void
}

/** What is watched, and with which client. */
export type WatchTarget = {
  client: Pick<KubeClient, 'list' | 'watchStream'>
  resource: Resource
  /** Only this namespace. */
  namespace?: string | undefined
  labelSelector?: string | undefined
  fieldSelector?: string | undefined
}
/** The dependencies of every watch. */
export type WatchDependencies = {
  /** Shared by the caches of one client, so that caches of one type ask once. */
  history: NewestVersionReader
  clock: Clock
  random: () => number
  log: Log
  observer: WatchObserver
}
export type WatchLoopOptions<T extends KubeObject> = WatchTarget &
  WatchDependencies & { sink: WatchSink<T>; timings: WatchTimings }

/**
 * Keeps one resource watched for ever:
 *
 *   streaming list ──bookmark "initial events end"──> events ──ended, cut, silent, refused──> pause ──> resume at the
 *        ^                                                                                      │       last version
 *        └──────────────── 410: the version left the history, or the history went back ─────────┘
 *
 * A server whose etcd was restored accepts a version of the lost history and then stays silent. So after every stream
 * that did not end in time, the server is asked for its newest version. A server without streaming lists is asked for a
 * plain list and a watch from its version.
 */
export class WatchLoop<T extends KubeObject> {
  readonly #options: WatchLoopOptions<T>
  readonly #stop = new AbortController()
  #done: Promise<void> | undefined
  #streamingLists = true
  #relist = false
  /** Since when it is doubtful whether the server still has our history. */
  #doubtedSince: number | undefined
  #isComparing = false
  #failures = 0
  #lastFailure = ''
  #live = false
  #lostAt: number | undefined

  constructor(options: WatchLoopOptions<T>) {
    this.#options = options
  }

  /** Whether a stream is open now. */
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
        await this.#runStream()
      } catch (thrown) {
        if (stopped.aborted) return
        error = isKubeError(thrown) ? thrown : unexpectedError(resource, thrown)
      }
      this.#live = false
      this.#lostAt ??= clock.monotonic()
      this.#countFailure(error, clock.monotonic() - started)
      report(() => observer.ended?.(resource, error), log)
      if (!stopped.aborted) await this.#pause(error)
    }
  }

  /** Runs one stream from its opening to its end. */
  async #runStream(): Promise<void> {
    const { sink, observer, resource, log } = this.#options
    if (sink.version !== undefined && !this.#relist) return this.#stream(false)
    if (this.#doubtedSince !== undefined) await this.#compareHistories(this.#doubtedSince)
    report(() => observer.listing?.(resource), log)
    sink.beginListing()
    if (this.#streamingLists) return this.#stream(true)
    await this.#plainList()
    return this.#stream(false)
  }

  /** Compares histories during a resumed stream, which stays silent if they differ. */
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

  /** @returns whether the server's history is behind ours, which is then lost */
  async #compareHistories(since: number): Promise<boolean> {
    const { sink, history, resource, namespace, log } = this.#options
    const known = sink.version
    const newest = known === undefined ? undefined : await history.newest(resource, namespace, since)
    this.#doubtedSince = undefined
    if (newest === undefined || !isNewerResourceVersion(known ?? '0', newest)) return false
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
    this.#requireListing(sink.endListing(resourceVersion))
  }

  #requireListing(accepted: boolean): void {
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
    const { min, max } = timings.streamSeconds
    const timeoutSeconds = Math.round(min + (max - min) * random())
    const guard = new StallGuard(this.#options.clock, { ...timings, timeoutSeconds }, this.#stop.signal)
    let listing = initial
    try {
      const events = client.watchStream<T>(resource, {
        namespace,
        labelSelector,
        fieldSelector,
        // A new listing must not be older than what is known, but a request for the very newest would wait for etcd.
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
        if (isNewerResourceVersion(sink.version ?? '0', event.object.metadata.resourceVersion ?? '0'))
          this.#suspect(guard)
        deliver(sink, event)
      }
      if (listing) throw incompleteError(resource)
    } catch (error) {
      throw guard.stalled && !this.#stop.signal.aborted ? silenceError(resource) : error
    } finally {
      guard.release()
    }
  }

  /** On a stream opened later, an event older than the known version means another history, or a repetition. */
  #suspect(guard: StallGuard): void {
    this.#doubtedSince ??= this.#options.clock.monotonic()
    this.#compareBeside(guard, this.#doubtedSince)
  }

  #opened(initial: boolean): void {
    const { observer, resource, log } = this.#options
    if (!initial) this.#setLive()
    report(() => observer.opened?.(resource), log)
  }

  /** @returns whether the listing goes on */
  #listingEvent(event: WatchEvent<T>): boolean {
    const { sink } = this.#options
    const { type, object } = event
    if (type === 'ADDED') sink.listed(object)
    if (!isInitialEventsEnd(event)) return true
    this.#requireListing(sink.endListing(object.metadata.resourceVersion ?? ''))
    this.#setLive()
    return false
  }

  #setLive(): void {
    const { observer, resource, log } = this.#options
    this.#live = true
    this.#lostAt = undefined
    report(() => observer.live?.(resource), log)
  }

  #countFailure(error: KubeError | undefined, milliseconds: number): void {
    const { log } = this.#options
    // A server that ends every stream at once is in trouble as well.
    const healthy = milliseconds > 5_000 || (error === undefined && milliseconds > 1_000)
    // Another kind of failure restarts the count: the first answer after many refused connections is no repetition.
    const failure = error === undefined ? 'ended' : error.status === 0 ? 'lost' : error.reason
    this.#failures = healthy ? 0 : failure === this.#lastFailure ? this.#failures + 1 : 1
    this.#lastFailure = failure
    const { min } = this.#options.timings.streamSeconds
    const isInTime = error === undefined ? milliseconds >= min * 1_000 : error.reason === 'Gone'
    if (!isInTime) this.#doubtedSince = this.#options.clock.monotonic()
    if (error === undefined) return
    if (error.reason === 'Gone') this.#relist = true
    const wasListing = this.#relist || this.#options.sink.version === undefined
    if (error.reason === 'Invalid' && wasListing && this.#streamingLists) {
      this.#streamingLists = false
      // Not an error: an administrator may have turned streaming lists off.
      log.debug({ resource: resourceId(this.#options.resource) }, 'No streaming lists here: asking for plain ones.')
      return
    }
    // Neither a stream that ended after its time nor every attempt of a long outage is worth a log line.
    const isRepeated = error.status === 0 && (milliseconds > 1_000 || this.#failures > 1)
    log[isRepeated ? 'debug' : this.#keepsFromStart(error) ? 'warn' : 'info'](
      { reason: error.reason, failures: this.#failures },
      error.message,
    )
  }

  /** Whether nothing was ever read because of this error: a process that cannot start must log why. */
  #keepsFromStart({ reason }: KubeError): boolean {
    return this.#options.sink.version === undefined && (reason === 'Unavailable' || reason === 'Unauthorized')
  }

  #pause(error: KubeError | undefined): Promise<void> {
    const { clock, sink, timings, random } = this.#options
    const milliseconds = reopenDelayMs(error, this.#failures, timings.backoff, random, sink.version !== undefined)
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
 * Returns the milliseconds until the stream is opened again. A lost connection is retried often, because a refused
 * attempt costs nothing and the server may be back; a server that answers with errors is given time. A missing type or
 * permission waits for a person, unless the permission was there before: an API server that just started must load it.
 */
export function reopenDelayMs(
  error: KubeError | undefined,
  failures: number,
  first: number,
  random: () => number,
  wasPermitted = false,
): number {
  const jitter = 0.5 + 0.5 * random()
  const retryAfter = Math.min(30, error?.retryAfterSeconds ?? 0) * 1000 * (1 + 0.2 * random())
  if (failures === 0) return Math.max(retryAfter, 200 * random())
  if (error?.status === 0) return Math.min(700, first * 2 ** Math.min(failures - 1, 10)) * jitter
  const maxDelay = error?.reason === 'NotServed' || (error?.reason === 'Forbidden' && !wasPermitted) ? 30_000 : 4_000
  return Math.max(retryAfter, Math.min(maxDelay, first * 2 ** Math.min(failures - 1, 20)) * jitter)
}

function deliver<T extends KubeObject>(sink: WatchSink<T>, { type, object }: WatchEvent<T>): void {
  if (type === 'BOOKMARK') sink.bookmark(object.metadata.resourceVersion ?? '')
  else sink.changed(type, object)
}

/** Calls an observer; one that throws never ends a stream. */
function report(call: () => void, log: Log): void {
  try {
    call()
  } catch (error) {
    log.error({ err: error }, 'An observer of a watch failed.')
  }
}

function silenceError(resource: Resource): KubeError {
  return new KubeError('Unavailable', `The watch of ${resourceId(resource)} fell silent.`, { status: 0, resource })
}

function incompleteError(resource: Resource): KubeError {
  return new KubeError('Unavailable', `The listing of ${resourceId(resource)} ended before it was complete.`, {
    status: 200,
    resource,
  })
}

function unexpectedError(resource: Resource, cause: unknown): KubeError {
  const message = `The watch of ${resourceId(resource)} failed unexpectedly.`
  return new KubeError('Unexpected', message, { status: 0, resource, cause })
}
