import { randomBytes } from 'node:crypto'
import { type Clock, microTimestamp, systemClock, type Timer } from '../core/clock.ts'
import { type Log, silentLog } from '../core/log.ts'
import type { KubeObject } from '../core/object.ts'
import { currentOrigin, onBehalfOf } from '../core/origin.ts'
import { event as eventResource } from './builtin.ts'
import type { KubeClient } from './client.ts'
import { isKubeError } from './errors.ts'
import { FairKeyQueue } from './fairKeyQueue.ts'

export type RecordedEvent = {
  /** The object that the event is about. */
  regarding: KubeObject
  type: 'Normal' | 'Warning'
  /** A word in UpperCamelCase; the same constant as the condition's reason. */
  reason: string
  /** One sentence for people, at most 1 KiB; longer ones are cut. */
  note: string
  /** What was being done; default `Reconcile`. */
  action?: string
}

export type EventRecorderOptions = {
  client: Pick<KubeClient, 'create' | 'mergePatch'>
  /** `reportingController`: a qualified name such as `freehold.dev/operator`. */
  controller: string
  /** `reportingInstance`: this process. */
  instance: string
  clock?: Clock
  log?: Log
}

/** Equal events about one object, with a count. */
type Series = {
  /** The caller on whose behalf the event was recorded; callers take turns. */
  party: string
  ref: { namespace: string; name: string }
  count: number
  sentCount: number
  lastAt: number
  /** The time of the last one, in milliseconds since 1970. */
  observedAt: number
  /** Whether the event exists on the server. */
  stored: boolean
  event: RecordedEvent
}

/** Keeps only the names of the object, which may be large: a series outlives it. */
function withNamesOnly({ regarding, ...event }: RecordedEvent): RecordedEvent {
  const { apiVersion, kind, metadata } = regarding
  const { name, namespace, uid, resourceVersion } = metadata
  const named = { name, namespace, uid, resourceVersion } as KubeObject['metadata']
  return { ...event, regarding: { apiVersion, kind, metadata: named } }
}

function forgetFirst(entries: Map<string, unknown>): void {
  for (const key of entries.keys()) {
    if (entries.size <= MAX_OBJECTS) return
    entries.delete(key)
  }
}

/** Repetitions are written at most once per flush; after the end of a series, the same event begins a new one. */
const FLUSH_INTERVAL_MS = 60_000
const SERIES_TIMEOUT_MS = 600_000
/** Rate limit per object: a burst, then one event every thirty seconds. */
const BURST = 10
const REFILL_INTERVAL_MS = 30_000
/** Maximum waiting events. Above it, the server is slow or down, and new ones are dropped. One caller may have half. */
const MAX_WAITING = 500
/** Maximum entries in memory; above it, those of objects that were silent for longest are forgotten. */
const MAX_OBJECTS = 5_000

/**
 * Records events (events.k8s.io/v1). Equal events about the same object become one event with a count, events are
 * rate-limited per object, and they are dropped while the server is down. Never throws, never waits.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions
  readonly #clock: Clock
  readonly #log: Log
  /** Least recently used first, as are the buckets. */
  readonly #series = new Map<string, Series>()
  readonly #buckets = new Map<string, { tokens: number; at: number }>()
  readonly #waiting = new FairKeyQueue<Series>(({ party, ref }) => ({ party, queue: ref.namespace }))
  #sending = false
  #flush: Timer | undefined
  #dropped = 0

  constructor(options: EventRecorderOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#log = options.log ?? silentLog
  }

  /** Number of events dropped since the start, because of the rate limit or because the server was down. */
  get dropped(): number {
    return this.#dropped
  }

  /** Numbers of entries in memory, so that tests see what remains of deleted objects. */
  get remembered(): { series: number; objects: number } {
    return { series: this.#series.size, objects: this.#buckets.size }
  }

  record(event: RecordedEvent): void {
    const { uid, namespace, name } = event.regarding.metadata
    const key = [uid ?? name, event.type, event.reason, event.action, event.note].join('\n')
    const now = this.#clock.monotonic()
    const known = this.#series.get(key)
    if (known !== undefined && now - known.lastAt < SERIES_TIMEOUT_MS) {
      known.count += 1
      known.lastAt = now
      known.observedAt = this.#clock.now()
      this.#series.delete(key)
      this.#series.set(key, known)
      this.#flushLater()
      return
    }
    this.#forgetOld(now)
    const party = currentOrigin()?.caller ?? ''
    const isFull = this.#waiting.depthOf(party) >= MAX_WAITING - this.#waiting.depth
    if (!this.#permits(uid ?? name, now) || isFull) {
      this.#dropped += 1
      return
    }
    const ref = { namespace: namespace ?? 'default', name: `${name.slice(0, 230)}.${randomBytes(8).toString('hex')}` }
    const observedAt = this.#clock.now()
    const about = { party, ref, event: withNamesOnly(event) }
    const series = { ...about, count: 1, sentCount: 0, lastAt: now, observedAt, stored: false }
    this.#series.set(key, series)
    forgetFirst(this.#series)
    this.#enqueue(series)
  }

  /** Waits until all queued events are sent; for the end of the process. */
  async stop(): Promise<void> {
    this.#flush?.cancel()
    while (this.#sending) await new Promise((resolve) => setImmediate(resolve))
  }

  #permits(object: string, now: number): boolean {
    const bucket = this.#buckets.get(object) ?? { tokens: BURST, at: now }
    const tokens = Math.min(BURST, bucket.tokens + (now - bucket.at) / REFILL_INTERVAL_MS)
    this.#buckets.delete(object)
    this.#buckets.set(object, { tokens: Math.max(0, tokens - 1), at: now })
    forgetFirst(this.#buckets)
    return tokens >= 1
  }

  /** Drops entries that equal new ones: ended series and full buckets. */
  #forgetOld(now: number): void {
    for (const [key, { lastAt }] of this.#series) {
      if (now - lastAt < SERIES_TIMEOUT_MS) break
      this.#series.delete(key)
    }
    for (const [object, { at }] of this.#buckets) {
      if (now - at < BURST * REFILL_INTERVAL_MS) break
      this.#buckets.delete(object)
    }
  }

  #flushLater(): void {
    this.#flush ??= this.#clock.setTimeout(() => {
      this.#flush = undefined
      const now = this.#clock.monotonic()
      for (const [key, series] of this.#series) {
        if (series.count > series.sentCount) this.#enqueue(series)
        else if (now - series.lastAt >= SERIES_TIMEOUT_MS) this.#series.delete(key)
      }
    }, FLUSH_INTERVAL_MS)
  }

  #enqueue(series: Series): void {
    this.#waiting.add(series, this.#clock.monotonic())
    if (!this.#sending) void onBehalfOf(undefined, () => this.#drain())
  }

  /** Sends one event after the other, so that events never compete with the work that they report. */
  async #drain(): Promise<void> {
    this.#sending = true
    for (let next = this.#waiting.next(); next !== undefined; next = this.#waiting.next()) {
      try {
        await this.#send(next.key)
      } catch (error) {
        this.#dropped += 1
        this.#log.debug({ err: error }, 'An event was not recorded.')
      }
    }
    this.#sending = false
  }

  async #send(series: Series): Promise<void> {
    const { count, ref, observedAt } = series
    const call = { timeout: 5_000 }
    series.sentCount = count
    if (!series.stored) {
      await this.#options.client.create(eventResource, this.#body(series), call)
      series.stored = true
      return
    }
    try {
      const patch = { series: { count, lastObservedTime: microTimestamp(observedAt) } }
      await this.#options.client.mergePatch(eventResource, ref, patch, call)
    } catch (error) {
      // The server forgets events after an hour; the next repetition begins a new one.
      if (isKubeError(error, 'NotFound')) series.lastAt = Number.NEGATIVE_INFINITY
      throw error
    }
  }

  #body({ ref, count, event, observedAt }: Series): KubeObject {
    const { regarding, type, reason, note, action } = event
    const { name, namespace, uid, resourceVersion } = regarding.metadata
    const observed = microTimestamp(observedAt)
    return {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { ...ref },
      eventTime: observed,
      reportingController: this.#options.controller,
      reportingInstance: this.#options.instance.slice(0, 128),
      action: (action ?? 'Reconcile').slice(0, 128),
      reason: reason.slice(0, 128),
      type,
      note: note.length > 1000 ? `${note.slice(0, 999)}…` : note,
      regarding: { apiVersion: regarding.apiVersion, kind: regarding.kind, name, namespace, uid, resourceVersion },
      ...(count > 1 && { series: { count, lastObservedTime: observed } }),
    }
  }
}
