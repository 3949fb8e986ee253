/** A pending timer; `cancel` is safe to call twice. */
export type Timer = { cancel(): void }

/** Time as a dependency: everything that waits or compares times takes a clock, so that tests can move it by hand. */
export interface Clock {
  /** Wall time, milliseconds since the epoch. It may jump; never measure a duration with it. */
  now(): number
  /** Milliseconds that never go backwards, for durations and deadlines. */
  monotonic(): number
  /** Runs `task` once after `milliseconds`. The timer does not keep the process alive. */
  setTimeout(task: () => void, milliseconds: number): Timer
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimeout(task, milliseconds) {
    // The moment may have passed meanwhile: run at once.
    const handle = setTimeout(task, Math.max(0, milliseconds))
    handle.unref()
    return { cancel: () => clearTimeout(handle) }
  },
}

/** Milliseconds of a day. */
export const DAY_MS = 86_400_000

/** RFC 3339 in UTC with microseconds, which the types MicroTime of Kubernetes require. */
export function microTimestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace('Z', '000Z')
}

/** RFC 3339 in UTC with whole seconds, the form that Kubernetes writes. */
export function timestamp(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19)}Z`
}
