import { isAfter, type LogLine, LogLineReader, lastLines, logLines } from '../../contracts/logs.ts'
import type { Clock } from '../../core/clock.ts'
import { PlatformError } from '../../core/errors.ts'
import { pauseFor } from '../../core/pause.ts'
import { unlessAborted } from '../../core/unlessAborted.ts'
import { LineQueue } from './lineQueue.ts'
import type { FollowedPodLogs, FollowOptions, LogSource, LogWindow, PodLogs } from './port.ts'
import { RecentLines } from './recentLines.ts'

export type FollowedOptions = {
  clock: Clock
  /** Whether the pod may still write: it has not ended and is not being deleted. */
  isAlive(source: LogSource): boolean | Promise<boolean>
}

/** Milliseconds until a container that has ended, or not started, is tried again. */
const RETRY_MS = { least: 1_000, most: 5_000 }
/** Consecutive failures of a node after which its followers get the error. */
const MAX_FAILURES = 5

/** Characters buffered for the fastest reader from which reading from the node pauses. */
const PAUSE_CHARACTERS = 256 * 1024
/** Characters buffered for one reader, beyond which that reader is cut off. */
const CUT_OFF_CHARACTERS = 1024 * 1024

/** Shares one stream of the node between all followers of a container. */
export function followedPodLogs(logs: PodLogs, options: FollowedOptions): FollowedPodLogs {
  const streams = new Map<string, SharedStream>()
  return {
    open: (source, window) => logs.open(source, window),
    async *follow(source, { tailLines, signal }) {
      const key = `${source.clusterId ?? ''}/${source.namespace}/${source.pod}/${source.container}`
      const open = streams.get(key)
      const stream = open?.isOver === false ? open : new SharedStream(logs, source, options, tailLines)
      streams.set(key, stream)
      yield* stream.read({ tailLines, signal }, () => {
        if (streams.get(key) === stream) streams.delete(key)
      })
    },
  }
}

const NO_CHUNKS: readonly Uint8Array[] = []
const NO_LINE: LogLine = { timestamp: null, text: '' }
/**
 * Tail lengths to resume with, shortest first, in search of the newest known line. `sinceTime` alone repeats a whole
 * second, which takes many seconds if megabytes are written in each.
 */
const RESUME_TAIL_LINES = [2_000, 20_000, 200_000]

/** The stream of one followed container. */
class SharedStream {
  readonly #logs: PodLogs
  readonly #source: LogSource
  readonly #options: FollowedOptions
  readonly #queues = new Set<LineQueue>()
  readonly #recent = new RecentLines()
  readonly #stop = new AbortController()
  readonly #startup: Promise<void>
  #readers = 0
  #wake: () => void = () => {}

  constructor(logs: PodLogs, source: LogSource, options: FollowedOptions, tailLines: number) {
    this.#logs = logs
    this.#source = source
    this.#options = options
    this.#startup = this.#begin(tailLines)
    this.#startup.catch(() => {})
  }

  /** Whether the stream has ended. Readers may still be draining their queues. */
  get isOver(): boolean {
    return this.#stop.signal.aborted
  }

  /** @param onEmpty called when the stream must not be reused */
  async *read({ tailLines, signal }: FollowOptions, onEmpty: () => void): AsyncGenerator<readonly LogLine[]> {
    this.#readers += 1
    const queue = new LineQueue(signal, () => this.#wake())
    try {
      await unlessAborted(this.#startup, signal).catch((error: unknown) => {
        if (!signal.aborted) throw error
      })
      if (signal.aborted) return
      // Synchronous up to adding the queue: no line can be lost in between.
      const remembered = this.#recent.last(tailLines)
      this.#queues.add(queue)
      if (this.#stop.signal.aborted) queue.end()
      yield remembered ?? (await this.#endOfLog(tailLines, queue, signal))
      yield* queue.batches()
    } finally {
      this.#queues.delete(queue)
      this.#readers -= 1
      this.#wake()
      if (this.#readers === 0 || this.#stop.signal.aborted) onEmpty()
      if (this.#readers === 0) this.#stop.abort()
    }
  }

  /** Reads the end of the log while new lines collect in the queue. Lines in both are dropped from the queue. */
  async #endOfLog(tailLines: number, queue: LineQueue, signal: AbortSignal): Promise<readonly LogLine[]> {
    const { lines, newest } = await this.#readTail(tailLines, signal)
    queue.dropUntil(newest)
    return lines
  }

  async #begin(tailLines: number): Promise<void> {
    const { lines, newest, isWhole } = await this.#readTail(tailLines, this.#stop.signal)
    this.#recent.begin(lines, isWhole)
    void this.#run(newest)
  }

  async #readTail(tailLines: number, signal: AbortSignal) {
    // At least one line: the stream starts at its time.
    const lineCount = Math.max(1, tailLines)
    const chunks = await this.#logs.open(this.#source, { tailLines: lineCount, timestamps: true, signal })
    if (chunks === undefined) return { lines: [], newest: undefined, isWhole: true }
    const { kept, truncated } = await lastLines(logLines(chunks), lineCount)
    const newest = kept.findLast(({ timestamp }) => timestamp !== null)?.timestamp ?? undefined
    return { lines: tailLines === 0 ? [] : kept, newest, isWhole: kept.length < lineCount && !truncated }
  }

  /** Follows each run of the container in turn, until the pod has ended. */
  async #run(newest: string | undefined): Promise<void> {
    let [last, failures, pause] = [newest, 0, RETRY_MS.least]
    try {
      while (!this.#stop.signal.aborted) {
        const { newest: now, failure } = await this.#follow(last)
        failures = failure === undefined ? 0 : failures + 1
        if (failures === MAX_FAILURES) throw failure
        // After a lost connection there may be more to read, also of a pod that has ended.
        if (failures === 0 && !(await this.#options.isAlive(this.#source))) break
        pause = now === last ? Math.min(2 * pause, RETRY_MS.most) : RETRY_MS.least
        last = now
        await pauseFor(this.#options.clock, pause, this.#stop.signal)
      }
      for (const queue of this.#queues) queue.end()
    } catch (error) {
      for (const queue of this.#queues) queue.fail(error)
    } finally {
      this.#stop.abort()
    }
  }

  /** Reads one stream of the node, from after `last`. Returns the time of its newest line. */
  async #follow(last: string | undefined): Promise<{ newest: string | undefined; failure?: unknown }> {
    let [newest, isRepeated] = [last, last !== undefined]
    const take = async (read: readonly LogLine[]) => {
      const lines = isRepeated ? read.filter((line) => isAfter(line, last)) : read
      isRepeated &&= lines.length === 0
      newest = lines.findLast(({ timestamp }) => timestamp !== null)?.timestamp ?? newest
      if (lines.length > 0) await this.#publish(lines)
    }
    try {
      for await (const lines of this.#newLines(last)) await take(lines)
      return { newest }
    } catch (failure) {
      return { newest, failure }
    }
  }

  /** Yields lines from the time `last` on, including those that the node repeats. */
  async *#newLines(last: string | undefined): AsyncGenerator<readonly LogLine[]> {
    const window = { follow: true, timestamps: true, sinceTime: last, signal: this.#stop.signal }
    for (const tailLines of last === undefined ? [] : RESUME_TAIL_LINES) {
      let reaches: boolean | undefined
      for await (const lines of this.#linesOf({ ...window, tailLines })) {
        // Only newer lines: the tail does not reach back to `last`, or this is another run. Some lines may be missing.
        reaches ??= !isAfter(lines[0] ?? NO_LINE, last)
        if (!reaches) break
        yield lines
      }
      if (reaches !== false) return
    }
    yield* this.#linesOf(window)
  }

  async *#linesOf(window: LogWindow): AsyncGenerator<readonly LogLine[]> {
    const reader = new LogLineReader()
    for await (const chunk of (await this.#logs.open(this.#source, window)) ?? NO_CHUNKS) {
      const lines = reader.push(chunk)
      if (lines.length > 0) yield lines
    }
    const rest = reader.end()
    if (rest.length > 0) yield rest
  }

  /** Waits while all readers have enough buffered, and cuts off those that are far behind. */
  async #publish(lines: readonly LogLine[]): Promise<void> {
    while (!this.#stop.signal.aborted && [...this.#queues].every(({ characters }) => characters > PAUSE_CHARACTERS)) {
      if (this.#queues.size === 0) break
      await this.#waitForChange()
    }
    this.#recent.push(lines)
    for (const queue of this.#queues) {
      if (queue.characters > CUT_OFF_CHARACTERS) queue.fail(tooSlowError(this.#source))
      else queue.push(lines)
    }
  }

  #waitForChange(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }
}

function tooSlowError({ pod }: LogSource): PlatformError {
  const message = `The log of pod "${pod}" was read more slowly than it was written, and others follow it too.`
  return new PlatformError('TOO_MANY_REQUESTS', message)
}
