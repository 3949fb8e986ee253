import { type Clock, systemClock } from '../../src/core/clock.ts'

/** The system's clock with frozen time: limits do not recover, however long a machine takes to send requests. */
export const stillClock: Clock = { ...systemClock, monotonic: () => 0 }

/**
 * For watches of an API server in memory, which sends no bookmarks while a test advances time: every minute would
 * restart all watches.
 */
export const NEVER_SILENT = { stall: Number.POSITIVE_INFINITY }

type Timer = { due: number; task: () => void }

/** A clock that moves only when a test advances it. Wall time and monotonic time diverge with `jump`. */
export class ManualClock implements Clock {
  #monotonic = 0
  #offset: number
  readonly #timers = new Set<Timer>()

  constructor(epoch = Date.UTC(2026, 0, 1)) {
    this.#offset = epoch
  }

  now(): number {
    return this.#offset + this.#monotonic
  }

  monotonic(): number {
    return this.#monotonic
  }

  setTimeout(task: () => void, milliseconds: number) {
    const timer = { due: this.#monotonic + Math.max(0, milliseconds), task }
    this.#timers.add(timer)
    return { cancel: () => void this.#timers.delete(timer) }
  }

  /** Timers that are set. */
  get pending(): number {
    return this.#timers.size
  }

  /** Advances both times, running each timer at its time, with its consequences, before the next. */
  async advance(milliseconds: number): Promise<void> {
    const end = this.#monotonic + milliseconds
    await settle()
    for (;;) {
      let next: Timer | undefined
      for (const timer of this.#timers) if (timer.due <= end && timer.due < (next?.due ?? Infinity)) next = timer
      if (next === undefined) break
      this.#timers.delete(next)
      this.#monotonic = Math.max(this.#monotonic, next.due)
      next.task()
      await settle()
    }
    this.#monotonic = end
    await settle()
  }

  /** Time passes while the process is suspended: nothing runs until the next `advance`. */
  freeze(milliseconds: number): void {
    this.#monotonic += milliseconds
  }

  /** Sets the wall clock, as an administrator does. */
  jump(milliseconds: number): void {
    this.#offset += milliseconds
  }
}

/** Runs everything that is ready to run. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}
