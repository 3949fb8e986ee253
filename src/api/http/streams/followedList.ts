import type { Clock } from '../../../core/clock.ts'
import { PlatformError } from '../../../core/errors.ts'
import { pauseFor } from '../../../core/pause.ts'
import { ReadTracker } from '../../../core/readTrackers.ts'
import { type ListChange, type ListEntry, ListState } from './listState.ts'

/** What a stream needs to know about its list and its caller. */
export type ListSubscription = {
  /** Returns every record of the list. @throws the refusal once the same request would be refused */
  readonly read: () => Promise<readonly ListEntry[]>
  /** @throws PlatformError once the same request would be refused */
  readonly ask: () => Promise<void>
  /** Returns undefined if the caller may proceed at once. */
  readonly turn: () => Promise<void> | undefined
  /** Called with the number of bytes before they are sent. */
  readonly spend: (bytes: number) => void
  /** Returns the JSON of a refusal, as in an ordinary response. */
  readonly refusalOf: (error: unknown) => string
  /** The state that the client has, by its Last-Event-ID. */
  readonly lastEventId: string | undefined
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
  /** Closes the connection of a client that does not read. */
  readonly cut: () => void
}

/** What all streams of a process share. */
export type StreamEnvironment = {
  readonly clock: Clock
  /** Aborted when the platform stops. */
  readonly stopping: AbortSignal
  /** Adds to the number of records in memory; places that were read and unsent text count as records too. */
  readonly remember: (more: number) => void
}

/** Milliseconds of silence until a comment keeps proxies from closing the stream, and permission is checked again. */
export const KEEPALIVE_INTERVAL_MS = 10_000
/** Milliseconds between a change and its event, so that related changes are sent together. */
export const CHANGE_DEBOUNCE_MS = 100
/** A list that changes all the time is computed for at most a tenth of the time, but at least every two seconds. */
const REST_FACTOR = 10
const REST_MAX_MS = 2_000
/** Milliseconds in which a client must read a chunk; fewer while the platform stops. */
export const CHUNK_READ_TIMEOUT_MS = 30_000
const SHUTDOWN_READ_TIMEOUT_MS = 1_000
/** Milliseconds that a browser waits before it reconnects. */
const RECONNECT_DELAY_MS = 2_000
/** The size of a chunk in characters. */
const CHUNK_CHARACTERS = 65_536
/** Characters that take as much memory as one remembered record. */
const RECORD_CHARACTERS = 200
/** The most records of one followed list. */
export const MAX_FOLLOWED_ENTRIES = 10_000

/**
 * One list as a stream of events (WHATWG HTML, 9.2). No events are queued: until the client has read what it was sent,
 * nothing more is computed, and changes in the meantime become one step. So slow readers take no more memory than fast
 * ones.
 */
export class FollowedList {
  readonly #subscription: ListSubscription
  readonly #environment: StreamEnvironment
  /** Aborted when the stream must end. */
  readonly #ended = new AbortController()
  readonly #state = new ListState()
  #initialChanges: readonly ListChange[] = []
  #tracker: ReadTracker | undefined
  /** Aborted once something that the list was computed from has changed, and when the stream must end. */
  #invalidated = new AbortController()
  #restsUntil = 0
  #lastSentAt = 0
  #unreadRecords = 0
  #records = 0

  constructor(followed: ListSubscription, environment: StreamEnvironment) {
    this.#subscription = followed
    this.#environment = environment
    for (const signal of [followed.signal, environment.stopping]) signal.addEventListener('abort', this.#abort)
    if (followed.signal.aborted || environment.stopping.aborted) this.#abort()
  }

  /** Reads the list for the first time. @throws the refusal of an ordinary request */
  async begin(): Promise<void> {
    this.#initialChanges = await this.#changes()
  }

  async *events(): AsyncGenerator<string> {
    try {
      // The empty id makes a browser forget its last id until the whole list has been sent.
      yield* this.#chunks([`retry: ${RECONNECT_DELAY_MS}\nid:\n\n`])
      yield* this.#initialEvents()
      for (;;) {
        const next = await this.#nextStep()
        if (next === 'over') break
        if (next === 'changed') yield* this.#chunks((await this.#changes()).map(eventOf))
        else {
          await this.#subscription.ask()
          yield* this.#chunks([':\n\n'])
        }
      }
      const message = 'The platform starts anew: connect again.'
      yield* this.#closing(new PlatformError('SERVICE_UNAVAILABLE', message))
    } catch (error) {
      yield* this.#closing(error)
    }
  }

  /** Must be called when the stream is no longer read. */
  end(): void {
    for (const signal of [this.#subscription.signal, this.#environment.stopping])
      signal.removeEventListener('abort', this.#abort)
    this.#tracker?.end()
    this.#countUnread(0)
    this.#environment.remember(-this.#records)
  }

  readonly #abort = () => {
    this.#ended.abort()
    this.#invalidated.abort()
  }

  async *#initialEvents(): AsyncGenerator<string> {
    const { name, size } = this.#state
    const unchanged = this.#subscription.lastEventId === name
    const events = unchanged ? [] : this.#initialChanges.map(({ type, text }) => `event: ${type}\ndata: ${text}\n\n`)
    this.#initialChanges = []
    const bookmark = JSON.stringify({ totalItems: size, unchanged })
    events.push(`event: bookmark\ndata: ${bookmark}\nid: ${name}\n\n`)
    yield* this.#chunks(events)
  }

  /** Comments keep their schedule whatever changes: they must not reveal changes that the caller may not see. */
  async #nextStep(): Promise<'changed' | 'silence' | 'over'> {
    const { clock } = this.#environment
    const over = this.#ended.signal
    const tickAt = this.#lastSentAt + KEEPALIVE_INTERVAL_MS
    const pauseUntil = (time: number, signal: AbortSignal) =>
      pauseFor(clock, Math.max(0, time - clock.monotonic()), signal)
    if (!over.aborted) await pauseUntil(tickAt, this.#invalidated.signal)
    if (over.aborted) return 'over'
    if (!this.#invalidated.signal.aborted) return 'silence'
    const readAt = Math.max(clock.monotonic() + CHANGE_DEBOUNCE_MS, this.#restsUntil)
    await pauseUntil(Math.min(readAt, tickAt), over)
    if (over.aborted) return 'over'
    return clock.monotonic() < tickAt ? 'changed' : 'silence'
  }

  async #changes(): Promise<readonly ListChange[]> {
    const { clock, remember } = this.#environment
    const awake = new AbortController()
    const began = clock.monotonic()
    const { reading, result } = ReadTracker.begin(
      () => awake.abort(),
      async () => {
        await this.#subscription.turn()
        return this.#subscription.read()
      },
    )
    // End the previous reading only now, so that no change is missed in between.
    this.#tracker?.end()
    this.#tracker = reading
    this.#invalidated = awake
    const entries = await result
    if (entries.length > MAX_FOLLOWED_ENTRIES) throw tooMany()
    const changes = this.#state.changesTo(entries)
    const before = this.#records
    this.#records = this.#state.size + reading.size
    remember(this.#records - before)
    const now = clock.monotonic()
    this.#restsUntil = now + Math.min(REST_MAX_MS, REST_FACTOR * (now - began))
    return changes
  }

  async *#closing(error: unknown): AsyncGenerator<string> {
    yield* this.#chunks([`event: closed\ndata: ${this.#subscription.refusalOf(error)}\n\n`])
  }

  /** Yields chunks: the next one is joined only when the client has read this one. */
  async *#chunks(events: string[]): AsyncGenerator<string> {
    const { clock, stopping } = this.#environment
    const { cut, spend } = this.#subscription
    let left = events.reduce((sum, { length }) => sum + length, 0)
    spend(left)
    this.#countUnread(left)
    for (const piece of piecesOf(events)) {
      left -= piece.length
      this.#countUnread(left)
      const readTimeout = clock.setTimeout(cut, stopping.aborted ? SHUTDOWN_READ_TIMEOUT_MS : CHUNK_READ_TIMEOUT_MS)
      stopping.addEventListener('abort', cut)
      try {
        yield piece
      } finally {
        readTimeout.cancel()
        stopping.removeEventListener('abort', cut)
      }
      this.#lastSentAt = clock.monotonic()
    }
  }

  /** Counts the characters that wait for the client. */
  #countUnread(characters: number): void {
    const held = Math.ceil(characters / RECORD_CHARACTERS)
    this.#environment.remember(held - this.#unreadRecords)
    this.#unreadRecords = held
  }
}

function eventOf({ type, text, state }: ListChange): string {
  return `event: ${type}\ndata: ${text}\nid: ${state}\n\n`
}

/** Releases each event as soon as it is part of a chunk. */
function* piecesOf(events: string[]): Generator<string> {
  let piece = ''
  for (const [at, event] of events.entries()) {
    events[at] = ''
    if (piece !== '' && piece.length + event.length > CHUNK_CHARACTERS) {
      yield piece
      piece = ''
    }
    piece += event
  }
  if (piece !== '') yield piece
}

function tooMany(): PlatformError {
  const message = `A list of more than ${MAX_FOLLOWED_ENTRIES} records cannot be followed: narrow it down with filter or search.`
  return new PlatformError('BAD_REQUEST', message, { parameter: 'filter' })
}
