import type { Clock } from '../core/clock.ts'

export type WatchTimings = {
  /** Seconds after which the server shall end a stream; random per stream, so that kinds do not reopen together. */
  streamSeconds: { min: number; max: number }
  /**
   * Milliseconds of silence after which a stream counts as dead. Bookmarks come about once a minute, but a server that
   * has processed no change of the type since its start sends none. So this applies only from the first event of a
   * stream on; before that, only the end of the stream is awaited, and TCP keepalive finds a lost peer.
   */
  stall: number
  /** Milliseconds within which the server must accept a stream. */
  open: number
  /** Milliseconds of the first pause after a failure; it doubles. */
  backoff: number
}

/** Ends a stream that fell silent, because a half-open connection causes no error. */
export class StallGuard {
  readonly #abort = new AbortController()
  readonly #clock: Clock
  readonly #timings: WatchTimings & { timeoutSeconds: number }
  readonly #outer: AbortSignal
  readonly #forward = () => this.#abort.abort(this.#outer.reason)
  #lastActive: number
  #allowed: number
  #timer: { cancel(): void }
  stalled = false

  constructor(clock: Clock, timings: WatchTimings & { timeoutSeconds: number }, outer: AbortSignal) {
    this.#clock = clock
    this.#timings = timings
    this.#outer = outer
    this.#lastActive = clock.monotonic()
    this.#allowed = timings.open
    this.#timer = this.#arm(timings.open)
    if (outer.aborted) this.#abort.abort(outer.reason)
    outer.addEventListener('abort', this.#forward)
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  opened(): void {
    this.#allow(Math.max(this.#timings.stall, this.#timings.timeoutSeconds * 1000 + this.#timings.open))
  }

  expectBookmarks(): void {
    if (this.#allowed !== this.#timings.stall) this.#allow(this.#timings.stall)
  }

  #allow(milliseconds: number): void {
    this.#allowed = milliseconds
    this.active()
    this.#timer.cancel()
    this.#timer = this.#arm(milliseconds)
  }

  active(): void {
    this.#lastActive = this.#clock.monotonic()
  }

  /** Ends the stream and marks it as stalled. */
  end(): void {
    this.stalled = true
    this.#abort.abort()
  }

  release(): void {
    this.#timer.cancel()
    this.#outer.removeEventListener('abort', this.#forward)
  }

  #arm(milliseconds: number): { cancel(): void } {
    return this.#clock.setTimeout(() => this.#check(), milliseconds)
  }

  #check(): void {
    const left = this.#lastActive + this.#allowed - this.#clock.monotonic()
    if (left > 0) {
      this.#timer = this.#arm(left)
      return
    }
    this.end()
  }
}
