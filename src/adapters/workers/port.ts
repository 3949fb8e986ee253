import type { TaskName, TaskOf } from './tasks.ts'

/** Runs CPU-bound work off the main thread, where it would delay other callers. */
export interface Workers {
  /**
   * @param principalId the principal; each has limits of its own, so that none can starve the others
   * @throws WorkRefused
   */
  run<Name extends TaskName>(
    name: Name,
    input: Parameters<TaskOf<Name>>[0],
    principalId: string,
  ): Promise<Awaited<ReturnType<TaskOf<Name>>>>
  /** Loads what the tasks need ahead of the first one. Idempotent. */
  warm(): void
  stop(): Promise<void>
}

/**
 * - `Overdue`: it missed the deadline, or ran out of memory; a retry would end the same way;
 * - `TooMany`: this principal has too many tasks, or has used too much CPU time recently;
 * - `Busy`: all principals together have too many tasks.
 */
export type WorkRefusal = 'Overdue' | 'TooMany' | 'Busy'

export class WorkRefused extends Error {
  readonly reason: WorkRefusal
  readonly retryAfterSeconds: number

  constructor(reason: WorkRefusal, retryAfterSeconds = 1) {
    super(`A task was refused: ${reason}.`)
    this.name = 'WorkRefused'
    this.reason = reason
    this.retryAfterSeconds = retryAfterSeconds
  }
}
