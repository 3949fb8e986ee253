import { setTimeout as delay } from 'node:timers/promises'

const ASK_EVERY = 40

/**
 * Asks until the answer is truthy, and returns it.
 *
 * @param within milliseconds; 30 s
 * @throws Error that names what was waited for and the last answer or error
 */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined | false> | T | undefined | false,
  within = 30_000,
): Promise<T> {
  const deadline = performance.now() + within
  let last: unknown
  for (;;) {
    try {
      const answer = await ask()
      if (answer !== undefined && answer !== false) return answer
      last = answer
    } catch (error) {
      last = error instanceof Error ? error.message : error
    }
    if (performance.now() > deadline) throw new Error(`Not within ${within / 1000} s: ${what}. Last: ${String(last)}`)
    await delay(ASK_EVERY)
  }
}
