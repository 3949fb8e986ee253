import { once } from 'node:events'
import { parseLogLine } from '../../contracts/logs.ts'
import type { LogSource, LogWindow, PodLogs } from './port.ts'

type Run = { text: string; hasEnded: boolean }

/** Logs in memory with the same guarantees. Each line that is written to it must begin with its time. */
export class FakePodLogs implements PodLogs {
  readonly #runs = new Map<string, Run[]>()
  readonly #changes = new EventTarget()
  /** Number of `open` calls, and of logs that are being followed. */
  opened = 0
  following = 0

  write(source: LogSource, text: string): void {
    const runs = this.#runs.get(keyOf(source)) ?? []
    const last = runs.at(-1)
    if (last === undefined || last.hasEnded) this.#runs.set(keyOf(source), [...runs, { text, hasEnded: false }])
    else last.text += text
    this.#changes.dispatchEvent(new Event('change'))
  }

  /** Ends the container's run; the next write begins another. */
  end(source: LogSource): void {
    const run = this.#runs.get(keyOf(source))?.at(-1)
    if (run !== undefined) run.hasEnded = true
    this.#changes.dispatchEvent(new Event('change'))
  }

  async open(source: LogSource, { tailLines, previous, follow, timestamps, signal }: LogWindow = {}) {
    this.opened += 1
    const run = this.#runs.get(keyOf(source))?.at(previous === true ? -2 : -1)
    if (run === undefined) return undefined
    const shown = (text: string) => (timestamps === true ? text : withoutTimes(text))
    const begin = run.text.length - endOf(run.text, tailLines).length
    return follow === true ? this.#follow(run, begin, shown, signal) : chunksOf(shown(run.text.slice(begin)))
  }

  async *#follow(run: Run, begin: number, shown: (text: string) => string, signal: AbortSignal | undefined) {
    this.following += 1
    try {
      for (let at = begin; ; ) {
        const { text, hasEnded } = run
        yield* chunksOf(shown(text.slice(at)))
        at = text.length
        if (hasEnded) return
        signal?.throwIfAborted()
        if (run.text.length === at && !run.hasEnded)
          await once(this.#changes, 'change', { ...(signal !== undefined && { signal }) })
      }
    } finally {
      this.following -= 1
    }
  }
}

const keyOf = ({ namespace, pod, container, clusterId = '' }: LogSource) =>
  `${clusterId}/${namespace}/${pod}/${container}`

function endOf(text: string, tailLines: number | undefined): string {
  if (tailLines === undefined) return text
  const lines = text.split('\n')
  const end = text.endsWith('\n') ? lines.length - 1 : lines.length
  return lines.slice(Math.max(0, end - tailLines)).join('\n')
}

function withoutTimes(text: string): string {
  return text
    .split('\n')
    .map((line) => parseLogLine(line).text)
    .join('\n')
}

async function* chunksOf(text: string): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += 4096) yield bytes.subarray(at, at + 4096)
}
