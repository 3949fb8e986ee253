/** Reports long work: a step is announced, shows that it is alive, and ends with its duration. */
export type Progress = {
  step<T>(title: string, work: () => Promise<T>): Promise<T>
  note(text: string): void
}

type Output = { isTTY?: boolean; write(text: string): unknown }
const TERMINAL_INTERVAL_MS = 200
const LOG_INTERVAL_MS = 10_000

/** On a terminal one line per step that counts; elsewhere plain lines, a sign of life every 10 s. */
export function createProgress(output: Output = process.stderr, now: () => number = Date.now): Progress {
  const live = output.isTTY === true
  const running = new Map<string, number>()
  let timer: NodeJS.Timeout | undefined

  const elapsed = (since: number) => `${((now() - since) / 1000).toFixed(1)} s`
  const drawn = () => [...running].map(([title, since]) => `${title} ${elapsed(since)}`).join(' | ')
  const line = (text: string) => output.write(live ? `\r\x1b[K${text}\n` : `${text}\n`)
  const beat = () => {
    if (live) output.write(`\r\x1b[K  ... ${drawn()}`.slice(0, 150))
    else output.write(`  ... ${drawn()}\n`)
  }
  return {
    note: line,
    async step(title, work) {
      const since = now()
      running.set(title, since)
      timer ??= setInterval(beat, live ? TERMINAL_INTERVAL_MS : LOG_INTERVAL_MS).unref()
      try {
        const result = await work()
        line(`  done ${title} (${elapsed(since)})`)
        return result
      } catch (error) {
        line(`  FAILED ${title} (${elapsed(since)})`)
        throw error
      } finally {
        running.delete(title)
        if (running.size === 0) {
          clearInterval(timer)
          timer = undefined
        }
      }
    },
  }
}

/** For tests and scripts that must stay quiet. */
export const silentProgress: Progress = { step: (_title, work) => work(), note: () => undefined }
