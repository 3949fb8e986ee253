import type { TaskName, TaskOf } from './tasks.ts'

/** Runs what takes long enough to be felt by other callers, beside the thread that answers them. */
export interface Workers {
  /**
   * @param who the principal that it is done for: no principal keeps others from their turn
   * @throws WorkRefused
   */
  run<Name extends TaskName>(
    name: Name,
    input: Parameters<TaskOf<Name>>[0],
    who: string,
  ): Promise<Awaited<ReturnType<TaskOf<Name>>>>
  /** Loads what the tasks need before the first of them comes. May be called often. */
  warm(): void
  stop(): Promise<void>
}

/**
 * - `Overdue`: it was not done before its deadline, or needed too much memory; the same again would end alike;
 * - `TooMany`: this principal has too much under way, or had too much time of late;
 * - `Busy`: everybody together has.
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
