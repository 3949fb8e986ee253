import { setTimeout } from 'node:timers/promises'

/** How often a write is tried against an object that others write at the same time. */
export const ATTEMPTS = 12
/** Milliseconds that a writer who lost waits at most before its second attempt; twice as long before each further one. */
const FIRST_PAUSE = 20
const LONGEST_PAUSE = 500

/** Writers who lost at the same moment must not meet again at the next. */
export async function pauseAfterConflict(attempt: number): Promise<void> {
  await setTimeout(Math.random() * Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (attempt - 1)))
}
