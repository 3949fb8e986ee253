import { setTimeout } from 'node:timers/promises'

/** How often a write is tried against an object that others write at the same time. */
export const ATTEMPTS = 12
/** Milliseconds that the loser of a conflict waits at most before its second attempt; doubled for each further one. */
const FIRST_PAUSE = 20
const LONGEST_PAUSE = 500

/** Losers of the same conflict must not collide again. */
export async function pauseAfterConflict(attempt: number): Promise<void> {
  await setTimeout(Math.random() * Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (attempt - 1)))
}
