import { randomUUID } from 'node:crypto'
import { BUILD_LOG_LINES_MAX, deploymentLogPart, MAX_BUILD_LOG_BYTES } from '../../contracts/deployments.ts'
import { ownerSelector } from '../../contracts/workloads.ts'
import { pauseAfterConflict } from '../../core/conflictBackoff.ts'
import { PlatformError } from '../../core/errors.ts'
import { pluralize } from '../../core/pluralize.ts'
import type { BlobOwner, BlobStore } from '../blobs/port.ts'
import { BoundedKeyQueues } from './boundedKeyQueues.ts'
import type { BuildLogOwner, BuildLogPage, BuildLogState, BuildLogs } from './port.ts'

/**
 * Stored in part 0; the lines are in the parts after it. `ends` holds, for each of those, the number of lines that are
 * complete at its end, so that a page is found without reading the parts before it.
 */
type Head = BuildLogState & {
  ends: readonly number[]
  lastBytes: number
  /** The process that may write parts. Any other process claims the head first. */
  writer?: string
}

const EMPTY_HEAD: Head = { lineCount: 0, sizeBytes: 0, isFinal: false, ends: [], lastBytes: 0 }
const MAX_WRITE_ATTEMPTS = 30
/** Bytes from which a part is full. Adding a line rewrites the whole last part, so parts are kept short. */
const PART_FULL_BYTES = 32 * 1024
/** Bytes of one page, not counting its last line. */
const PAGE_BYTES = 1024 ** 2
const LINE_FEED = 0x0a

export function blobBuildLogs(blobs: BlobStore): BuildLogs {
  const queues = new BoundedKeyQueues()
  const writer = randomUUID()
  return {
    append: (deployment, lines, { offset, isFinal, maxBytes = MAX_BUILD_LOG_BYTES }) =>
      queues.take(`${deployment.namespace}/${deployment.name}`, () => {
        const limit = Math.min(maxBytes, MAX_BUILD_LOG_BYTES)
        return new StoredLog(blobs, deployment, writer, limit).append(lines, offset, isFinal)
      }),
    read: (deployment, offset, limit) => new StoredLog(blobs, deployment, writer).read(offset, limit),
    async forgetOldest(deployments, bytes) {
      let sum = 0
      for (const deployment of deployments) {
        const log = new StoredLog(blobs, deployment, writer)
        sum += await log.size()
        if (sum > bytes) await log.remove()
      }
    },
  }
}

/**
 * The log of one deployment, in blobs that the deployment owns. Lines are written before the head that counts them:
 * what an interrupted upload left beyond the head is overwritten by the next one.
 */
class StoredLog {
  readonly #blobs: BlobStore
  readonly #deployment: BuildLogOwner
  readonly #writer: string
  readonly #maxBytes: number

  constructor(blobs: BlobStore, deployment: BuildLogOwner, writer: string, maxBytes = MAX_BUILD_LOG_BYTES) {
    this.#maxBytes = maxBytes
    this.#blobs = blobs
    this.#deployment = deployment
    this.#writer = writer
  }

  async append(lines: readonly string[], offset: number | undefined, isFinal: boolean): Promise<BuildLogState> {
    let conflicts = 0
    let isWriter = false
    for (let attempt = 1; attempt <= MAX_WRITE_ATTEMPTS; attempt += 1) {
      // A new writer goes on without a pause, or another process would take over meanwhile.
      if (conflicts > 0 && !isWriter) await pauseAfterConflict(conflicts)
      const { head, version } = await this.#head()
      const start = offset ?? head.lineCount
      if (start > head.lineCount) {
        const message = `The log has ${pluralize(head.lineCount, 'line')}: the next lines must begin there, not at ${start}.`
        throw new PlatformError('LOG_GAP', message, { expectedOffset: head.lineCount })
      }
      const fresh = lines.slice(head.lineCount - start)
      if (fresh.length === 0 && head.isFinal === (head.isFinal || isFinal)) return stateOf(head)
      if (head.isFinal) throw new PlatformError('INVALID_STATE', 'The log is complete: no lines can be added.')
      if (head.writer !== this.#writer) {
        const isLost: boolean = isWriter
        const claim = Buffer.from(JSON.stringify({ ...head, writer: this.#writer }))
        isWriter = !isLost && (await this.#put(0, claim, version))
        if (!isWriter) conflicts += 1
        continue
      }
      const next = await this.#write(head, version, fresh, isFinal)
      if (next !== undefined && (await this.#put(0, Buffer.from(JSON.stringify(next)), version))) return stateOf(next)
      isWriter = false
      conflicts += 1
    }
    throw new PlatformError('SERVICE_UNAVAILABLE', 'Others are writing this log at the same time.', {
      retryAfterSeconds: 2,
    })
  }

  async read(offset: number, limit: number): Promise<BuildLogPage> {
    const { head } = await this.#head()
    const lines = await this.#page(head, offset, Math.min(limit, head.lineCount - offset))
    // The parts are deleted with the deployment: without this check, a follower would read on forever.
    const isEnd = lines.length === 0 || offset + lines.length >= head.lineCount
    return { lines, isEnd, isFinal: head.isFinal }
  }

  async #page({ ends, lastBytes }: Head, offset: number, limit: number): Promise<string[]> {
    const lines: string[] = []
    // The line begins in the part where the line before it ends.
    const first = ends.findIndex((end) => end >= offset)
    let skipped = ends[first - 1] ?? 0
    let [bytes, rest] = [0, Buffer.alloc(0)]
    for (let index = first; index < ends.length && lines.length < limit && bytes < PAGE_BYTES; index += 1) {
      const part = (await this.#blobs.read(this.#ref(index + 1)))?.bytes ?? new Uint8Array()
      rest = Buffer.concat([rest, index === ends.length - 1 ? part.subarray(0, lastBytes) : part])
      let start = 0
      while (lines.length < limit && bytes < PAGE_BYTES) {
        const end = rest.indexOf(LINE_FEED, start)
        if (end < 0) break
        if (skipped < offset) skipped += 1
        else {
          lines.push(rest.toString('utf8', start, end))
          bytes += end - start
        }
        start = end + 1
      }
      rest = rest.subarray(start)
    }
    return lines
  }

  async size(): Promise<number> {
    return (await this.#head()).head.sizeBytes
  }

  /** Deletes the head last: if interrupted, the next attempt finds the remaining parts. */
  async remove(): Promise<void> {
    const { head } = await this.#head()
    for (const part of [...head.ends.keys()].reverse()) await this.#blobs.remove(this.#ref(part + 1))
    await this.#blobs.remove(this.#ref(0))
  }

  /**
   * Returns undefined if another writer was faster. Each part is read before the head is checked and written only if it
   * is unchanged: a process that claims the head after the check finds this write, or makes it fail.
   */
  async #write(
    head: Head,
    version: string | undefined,
    lines: readonly string[],
    isFinal: boolean,
  ): Promise<Head | undefined> {
    const lineCount = head.lineCount + lines.length
    if (lineCount > BUILD_LOG_LINES_MAX) throw tooManyLines()
    const added = Buffer.from(lines.map((line) => `${line}\n`).join(''), 'utf8')
    const sizeBytes = head.sizeBytes + added.length
    if (sizeBytes > this.#maxBytes) {
      const message = `The log of this build may have ${this.#maxBytes} bytes: ${MAX_BUILD_LOG_BYTES}, or less where many resources of the boundary share its room for logs.`
      throw new PlatformError('BODY_TOO_LARGE', message, { limitBytes: this.#maxBytes })
    }
    const ends = [...head.ends]
    let { lastBytes } = head
    let rest: Uint8Array = added
    while (rest.length > 0) {
      if (ends.length === 0 || lastBytes >= PART_FULL_BYTES) {
        ends.push(ends.at(-1) ?? 0)
        lastBytes = 0
      }
      const before = await this.#blobs.read(this.#ref(ends.length))
      if ((await this.#head()).version !== version) return undefined
      const piece = rest.subarray(0, this.#blobs.maxBytes - lastBytes)
      const content = Buffer.concat([(before?.bytes ?? new Uint8Array()).subarray(0, lastBytes), piece])
      if (!(await this.#put(ends.length, content, before?.version))) return undefined
      ends[ends.length - 1] = (ends.at(-1) ?? 0) + lineFeedsIn(piece)
      lastBytes = content.length
      rest = rest.subarray(piece.length)
    }
    return { lineCount, sizeBytes, isFinal, ends, lastBytes, writer: this.#writer }
  }

  async #head(): Promise<{ head: Head; version: string | undefined }> {
    const blob = await this.#blobs.read(this.#ref(0))
    if (blob === undefined) return { head: EMPTY_HEAD, version: undefined }
    const stored = JSON.parse(Buffer.from(blob.bytes).toString('utf8')) as Head & { parts?: number }
    // Older logs only have a count of parts, without `ends`: they are read from the beginning.
    const ends = stored.ends ?? Array<number>(stored.parts ?? 0).fill(stored.lineCount)
    return { head: { ...stored, ends }, version: blob.version }
  }

  #put(part: number, bytes: Uint8Array, version: string | undefined): Promise<boolean> {
    return this.#blobs.write(this.#ref(part), bytes, { version, owner: this.#owner() })
  }

  #ref(part: number) {
    const { namespace, name } = this.#deployment
    return { namespace, name: deploymentLogPart(name, part) }
  }

  #owner(): BlobOwner {
    const { apiVersion, kind, name, uid } = this.#deployment
    return { apiVersion, kind, name, uid, labels: ownerSelector(kind, name) }
  }
}

const stateOf = ({ lineCount, sizeBytes, isFinal }: Head): BuildLogState => ({ lineCount, sizeBytes, isFinal })

function tooManyLines(): PlatformError {
  const message = `The log of a build has at most ${BUILD_LOG_LINES_MAX} lines.`
  return new PlatformError('BODY_TOO_LARGE', message, { limitLines: BUILD_LOG_LINES_MAX })
}

function lineFeedsIn(bytes: Uint8Array): number {
  let count = 0
  for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) count += 1
  return count
}
