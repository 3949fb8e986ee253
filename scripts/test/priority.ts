import type { ChildProcess } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'

/** Of -20 to 19: beside one busy process, a quarter of a core is left. */
const NICENESS = 5

/**
 * Lowers the priority of a program that leads a session, and of everything that it will start. Linux compares sessions
 * first, and processes only within one.
 *
 * @see https://man7.org/linux/man-pages/man7/sched.7.html
 */
export function lowerPriority({ pid }: Pick<ChildProcess, 'pid'>): void {
  if (pid === undefined) return
  try {
    setPriority(pid, NICENESS)
    writeFileSync(`/proc/${pid}/autogroup`, String(NICENESS))
  } catch {
    // It has ended, or sessions are not compared here.
  }
}
