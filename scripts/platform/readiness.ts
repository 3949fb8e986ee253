import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { tailOf } from '../controlplane/processes.ts'

const POLL_INTERVAL_MS = 50
/** For one request; longer than a busy machine takes to start a process. */
const REQUEST_TIMEOUT_MS = 20_000

/**
 * Waits until an address answers 200.
 *
 * @param timeout milliseconds
 * @param logFile of the process that is expected to answer
 * @throws Error with the last answer, and the last problem in the log, if it did not answer in time
 */
export async function untilAnswers(url: string, timeout: number, signal: AbortSignal, logFile?: string): Promise<void> {
  const deadline = performance.now() + timeout
  let last = 'no answer'
  while (performance.now() < deadline) {
    signal.throwIfAborted()
    try {
      const answer = await fetch(url, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) })
      const text = await answer.text()
      if (answer.status === 200) return
      last = `${answer.status} ${text.slice(0, 500)}`
    } catch (error) {
      last = error instanceof Error ? error.message : String(error)
    }
    await delay(POLL_INTERVAL_MS)
  }
  const lastError = logFile === undefined ? undefined : lastTrouble(logFile)
  const advice =
    lastError === undefined
      ? 'Logs are in the folder "logs" of the data folder; where the machine was busy, start again.'
      : `The last trouble in ${logFile}: ${lastError}`
  throw new Error(`${url} was not ready within ${timeout / 1000} s; the last answer was: ${last.trim()}. ${advice}`)
}

/** Lines that are searched: there may be a problem for each kind. */
const TAIL_LINES = 2_000

/** The last problem in the log of one of our processes: the message and the reason beside it. */
export function lastTrouble(logFile: string): string | undefined {
  if (!existsSync(logFile)) return undefined
  const lines = tailOf(logFile, TAIL_LINES).split('\n')
  for (const line of lines.toReversed()) {
    const { level, msg, error } = parseLogLine(line)
    if ((level === 'warn' || level === 'error') && msg !== undefined)
      return typeof error === 'string' ? `${msg} ${error}` : msg
  }
  return undefined
}

/** Some lines come from Node.js itself. */
function parseLogLine(line: string): { level?: string; msg?: string; error?: unknown } {
  try {
    return (JSON.parse(line) ?? {}) as ReturnType<typeof parseLogLine>
  } catch {
    return {}
  }
}
