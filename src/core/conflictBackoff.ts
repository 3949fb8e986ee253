import { setTimeout } from 'node:timers/promises'

/** How many times a write to a contended object is attempted. */
export const MAX_CONFLICT_ATTEMPTS = 12
/** Milliseconds: the longest pause before the second attempt after a conflict. It doubles with each further attempt. */
const FIRST_PAUSE_MS = 20
const MAX_PAUSE_MS = 500

/** Pauses for a random time, so that the losers of one conflict do not collide again. */
export async function pauseAfterConflict(attempt: number): Promise<void> {
  await setTimeout(Math.random() * Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempt - 1)))
}
