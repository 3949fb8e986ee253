import { setTimeout as delay } from 'node:timers/promises'
import { TEST_CONFIG } from '../config.ts'

const ASK_EVERY = 40
/**
 * Pauses grow with the waiting time: an eighth of it, at most half a second. Each question costs the API server and the
 * facade time; 25 a second would dominate a run.
 */
const PAUSE_SHARE = 1 / 8
const LONGEST_PAUSE = 500
/** Long enough for a machine on which ten others work; waiting in vain may take long. */
export const PATIENCE = 120_000

/**
 * How long to wait for something that the platform promises within this many milliseconds. `npm run faults` measures
 * the promise itself, on an idle machine; `npm test` shows that it happens.
 */
export const promised = (milliseconds: number): number => TEST_CONFIG.sized(PATIENCE, milliseconds)

/**
 * Asks until the answer is truthy, and returns it.
 *
 * @param within milliseconds; two minutes
 * @throws Error that names the condition and the last answer or error
 */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined | false> | T | undefined | false,
  within = PATIENCE,
): Promise<T> {
  const began = performance.now()
  let last: unknown
  for (;;) {
    try {
      const answer = await ask()
      if (answer !== undefined && answer !== false) return answer
      last = answer
    } catch (error) {
      last = error instanceof Error ? error.message : error
    }
    const waited = performance.now() - began
    if (waited > within) throw new Error(`Not within ${within / 1000} s: ${what}. Last: ${String(last)}`)
    await delay(Math.min(LONGEST_PAUSE, Math.max(ASK_EVERY, waited * PAUSE_SHARE)))
  }
}

/** The initial lifetime of an object that ends by itself, in milliseconds. */
const SHORT_LIFE = 4_000

/**
 * Creates something that ends by itself and sees it work before its end. On a busy machine it may end before anybody
 * could look; then it is created again with a longer life.
 *
 * @param make receives the end, in RFC 3339
 * @throws Error if it never works
 */
export async function seenWorking<T>(
  make: (expiresAt: string) => Promise<T>,
  works: (made: T) => Promise<boolean>,
): Promise<T> {
  for (let life = SHORT_LIFE; life <= 10 * PATIENCE; life *= 3) {
    const end = Date.now() + life
    const made = await make(new Date(end).toISOString())
    while (Date.now() < end) {
      if (await works(made)) return made
      await delay(ASK_EVERY)
    }
  }
  throw new Error('Each object expired before it worked.')
}
