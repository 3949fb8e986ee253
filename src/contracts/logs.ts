/** Bytes kept from the end of the log of a job, or of a build by the platform, after the pod is gone. */
export const KEPT_LOG_BYTES = 1024 ** 2

/** The most bytes of the logs of all jobs of a boundary, which are stored as objects for a week. */
const BOUNDARY_JOB_LOG_BYTES = 256 * 1024 ** 2

/** Returns how many of the last bytes of a job's log are kept. @param jobs of the boundary, whatever their state */
export const keptJobLogBytes = (jobs: number) =>
  Math.min(KEPT_LOG_BYTES, Math.floor(BOUNDARY_JOB_LOG_BYTES / Math.max(1, jobs)))

/** One line of a container's log. `timestamp` is RFC 3339 in UTC with nine digits, so that text order is time order. */
export type LogLine = { readonly timestamp: string | null; readonly text: string }

const TIMED = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d) (.*)$/s

/** Reads `<RFC 3339 time> <text>`, as the kubelet writes lines with timestamps; a line without a time is all text. */
export function parseLogLine(line: string): LogLine {
  const [, seconds, fraction = '', zone, text = ''] = TIMED.exec(line) ?? []
  if (seconds === undefined) return { timestamp: null, text: line }
  const time = new Date(`${seconds}${zone}`)
  if (Number.isNaN(time.getTime())) return { timestamp: null, text: line }
  const utc = zone === 'Z' ? seconds : time.toISOString().slice(0, 19)
  return { timestamp: `${utc}.${fraction.padEnd(9, '0')}Z`, text }
}

/** Longer lines are cut into several of the same time, because a container may never write a line break. */
const MAX_LINE_CHARACTERS = 64 * 1024

/** Returns the pieces of a line; all but the last have the maximum length. */
export function cutLine(line: string): string[] {
  if (line.length <= MAX_LINE_CHARACTERS) return [line]
  const pieces = Math.ceil(line.length / MAX_LINE_CHARACTERS)
  return Array.from({ length: pieces }, (_, at) => line.slice(at * MAX_LINE_CHARACTERS, (at + 1) * MAX_LINE_CHARACTERS))
}

/** Assembles lines from chunks that end anywhere, even inside a character. */
export class LogLineReader {
  readonly #decoder = new TextDecoder()
  #rest = ''

  push(chunk: Uint8Array): LogLine[] {
    const pieces = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split('\n')
    const rest = pieces.pop() ?? ''
    const lines = pieces.map(parseLogLine)
    if (rest.length < MAX_LINE_CHARACTERS) {
      this.#rest = rest
      return lines
    }
    const { timestamp, text } = parseLogLine(rest)
    // The continuation gets the time of the beginning.
    this.#rest = timestamp === null ? '' : `${timestamp} `
    return [...lines, { timestamp, text }]
  }

  end(): LogLine[] {
    const rest = this.#rest + this.#decoder.decode()
    this.#rest = ''
    return rest === '' ? [] : [parseLogLine(rest)]
  }
}

export async function* logLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<LogLine> {
  const reader = new LogLineReader()
  for await (const chunk of chunks) yield* reader.push(chunk)
  yield* reader.end()
}

/** Whether a line is later than a time of the same format. A line without a time counts as later. */
export function isAfter(line: LogLine, time: string | undefined): boolean {
  return time === undefined || line.timestamp === null || line.timestamp > time
}

/** Merges logs, oldest line first. A line without a time stays behind its predecessor. Buffers one line per log. */
export async function* mergeLogsByTime<Line extends LogLine>(
  logs: readonly AsyncIterable<Line>[],
): AsyncGenerator<Line> {
  const readers = logs.map((log) => log[Symbol.asyncIterator]())
  try {
    const heads = await Promise.all(readers.map(async (reader) => ({ reader, head: await reader.next() })))
    for (;;) {
      const open = heads.filter(({ head }) => head.done !== true)
      const [first, ...others] = open
      if (first === undefined) return
      const next = others.reduce(
        (least, one) => (timeOf(one.head.value) < timeOf(least.head.value) ? one : least),
        first,
      )
      yield next.head.value as Line
      next.head = await next.reader.next()
    }
  } finally {
    await Promise.all(readers.map((reader) => reader.return?.()))
  }
}

const timeOf = (line: LogLine | undefined) => line?.timestamp ?? ''

/** Maximum characters of lines that are held for one answer; older lines are left out. */
const MAX_LOG_CHARACTERS = 4 * 1024 * 1024

/** Returns at most `maxLines` lines from the end, and no more than an answer may hold. */
export async function lastLines<Line extends LogLine>(
  lines: AsyncIterable<Line>,
  maxLines: number,
  mostCharacters = MAX_LOG_CHARACTERS,
): Promise<{ kept: Line[]; truncated: boolean }> {
  const kept: Line[] = []
  let [first, characters, truncated] = [0, 0, false]
  for await (const line of lines) {
    kept.push(line)
    characters += line.text.length
    while (kept.length - first > maxLines || (characters > mostCharacters && kept.length - first > 1)) {
      characters -= kept[first]?.text.length ?? 0
      first += 1
      truncated = true
    }
    // Shifting the array for each line would take quadratic time.
    if (first > 2 * maxLines + 1000) first -= kept.splice(0, first).length
  }
  return { kept: kept.slice(first), truncated }
}

/** Merges streams of batches in the order of arrival; buffers one batch per stream. */
export async function* mergeByArrival<T>(streams: readonly AsyncIterator<T>[]): AsyncGenerator<T> {
  const next = async (stream: AsyncIterator<T>) => ({ stream, result: await stream.next() })
  const pending = new Map(streams.map((stream) => [stream, next(stream)]))
  try {
    while (pending.size > 0) {
      const { stream, result } = await Promise.race(pending.values())
      if (result.done === true) pending.delete(stream)
      else {
        yield result.value
        pending.set(stream, next(stream))
      }
    }
  } finally {
    // Not awaited: a silent stream ends when its signal aborts.
    for (const stream of streams) void stream.return?.().catch(() => {})
    for (const one of pending.values()) one.catch(() => {})
  }
}
