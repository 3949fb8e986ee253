import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'

const NICE = 10

/** The thread that answers requests goes first if there are too few processors. Linux knows threads by number. */
export function giveWay(): void {
  try {
    setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), NICE)
  } catch {
    // Elsewhere all threads of a process have the same priority.
  }
}
