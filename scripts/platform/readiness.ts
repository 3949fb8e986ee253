import { setTimeout as delay } from 'node:timers/promises'

const ASK_EVERY = 50
/** Of one question; longer than a busy machine takes to start a process. */
const ANSWERS_WITHIN = 20_000

/**
 * Waits until an address answers 200.
 *
 * @param within milliseconds
 * @throws Error with the last answer when it did not in time
 */
export async function untilAnswers(url: string, within: number, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + within
  let last = 'no answer'
  while (performance.now() < deadline) {
    signal.throwIfAborted()
    try {
      const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWERS_WITHIN) })
      const text = await answer.text()
      if (answer.status === 200) return
      last = `${answer.status} ${text.slice(0, 500)}`
    } catch (error) {
      last = error instanceof Error ? error.message : String(error)
    }
    await delay(ASK_EVERY)
  }
  const advice = 'Logs are in the folder "logs" of the data folder; where the machine was busy, start again.'
  throw new Error(`${url} was not ready within ${within / 1000} s; the last answer was: ${last}. ${advice}`)
}
