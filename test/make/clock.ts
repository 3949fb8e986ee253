import { type Clock, systemClock } from '../../src/core/clock.ts'

/** The system's, but no time passes by it: a limit that recovers with time does not, however long a machine takes to ask. */
export const stillClock: Clock = { ...systemClock, monotonic: () => 0 }

/**
 * Of watches of an API server in memory, which tells what happens but has no bookmarks for the time that a test lets pass:
 * every minute of it would begin all watches anew.
 */
export const NEVER_SILENT = { stall: Number.POSITIVE_INFINITY }

type Timer = { due: number; task: () => void }

/** A clock that stands still until a test moves it. Wall time and monotonic time move apart with `jump`. */
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

  /** Moves both times on, running each timer at its moment and what follows from it before the next. */
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

  /** Time passes while the process is stopped: nothing runs until the next `advance`. */
  freeze(milliseconds: number): void {
    this.#monotonic += milliseconds
  }

  /** Somebody set the wall clock. */
  jump(milliseconds: number): void {
    this.#offset += milliseconds
  }
}

/** Lets everything run that waits for nothing but its turn. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}
