import { BUILD_LOG_BYTES, deploymentLogPart } from '../../contracts/deployments.ts'
import { ownerSelector } from '../../contracts/workloads.ts'
import { pauseAfterConflict } from '../../core/conflicts.ts'
import { PlatformError } from '../../core/errors.ts'
import type { BlobOwner, BlobStore } from '../blobs/port.ts'
import type { BuildLogState, BuildLogs, LoggedDeployment } from './port.ts'

/** Where the log stands: part 0 holds it, the lines are in those after it. */
type Head = BuildLogState & { parts: number; lastBytes: number }

const EMPTY: Head = { lineCount: 0, sizeBytes: 0, isFinal: false, parts: 0, lastBytes: 0 }
const ATTEMPTS = 10

export function blobBuildLogs(blobs: BlobStore): BuildLogs {
  return {
    append: (deployment, lines, { offset, isFinal }) => new KeptLog(blobs, deployment).append(lines, offset, isFinal),
    read: (deployment, offset) => new KeptLog(blobs, deployment).read(offset),
  }
}

/**
 * The log of one deployment, in blobs that go with it. Lines are written before the head that counts them: what an
 * interrupted upload left behind the head is written over by the next one.
 */
class KeptLog {
  readonly #blobs: BlobStore
  readonly #deployment: LoggedDeployment

  constructor(blobs: BlobStore, deployment: LoggedDeployment) {
    this.#blobs = blobs
    this.#deployment = deployment
  }

  async append(lines: readonly string[], offset: number | undefined, isFinal: boolean): Promise<BuildLogState> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      if (attempt > 1) await pauseAfterConflict(attempt - 1)
      const { head, version } = await this.#head()
      const start = offset ?? head.lineCount
      if (start > head.lineCount) {
        const message = `The log has ${head.lineCount} lines: what comes next begins there, not at ${start}.`
        throw new PlatformError('LOG_GAP', message, { expectedOffset: head.lineCount })
      }
      const fresh = lines.slice(head.lineCount - start)
      if (fresh.length === 0 && head.isFinal === (head.isFinal || isFinal)) return stateOf(head)
      if (head.isFinal) throw new PlatformError('INVALID_STATE', 'The log has come to its end: nothing is added to it.')
      const next = await this.#write(head, fresh, isFinal)
      if (next !== undefined && (await this.#put(0, Buffer.from(JSON.stringify(next)), version))) return stateOf(next)
    }
    throw new PlatformError('SERVICE_UNAVAILABLE', 'Others write this log at the same moment.', {
      retryAfterSeconds: 2,
    })
  }

  async read(offset: number): Promise<{ lines: string[]; isFinal: boolean }> {
    const { head } = await this.#head()
    if (offset >= head.lineCount) return { lines: [], isFinal: head.isFinal }
    const parts: Uint8Array[] = []
    for (let part = 1; part <= head.parts; part += 1) {
      const bytes = (await this.#blobs.read(this.#ref(part)))?.bytes ?? new Uint8Array()
      parts.push(part === head.parts ? bytes.subarray(0, head.lastBytes) : bytes)
    }
    const lines = Buffer.concat(parts).toString('utf8').split('\n').slice(0, head.lineCount)
    return { lines: lines.slice(offset), isFinal: head.isFinal }
  }

  /** Undefined if somebody else was faster. */
  async #write(head: Head, lines: readonly string[], isFinal: boolean): Promise<Head | undefined> {
    const added = Buffer.from(lines.map((line) => `${line}\n`).join(''), 'utf8')
    const sizeBytes = head.sizeBytes + added.length
    if (sizeBytes > BUILD_LOG_BYTES) {
      const message = `The log of a build has at most ${BUILD_LOG_BYTES} bytes.`
      throw new PlatformError('BODY_TOO_LARGE', message, { limitBytes: BUILD_LOG_BYTES })
    }
    let { parts, lastBytes } = head
    let rest: Uint8Array = added
    while (rest.length > 0) {
      if (parts === 0 || lastBytes >= this.#blobs.maxBytes) [parts, lastBytes] = [parts + 1, 0]
      const before = await this.#blobs.read(this.#ref(parts))
      const room = this.#blobs.maxBytes - lastBytes
      const content = Buffer.concat([
        (before?.bytes ?? new Uint8Array()).subarray(0, lastBytes),
        rest.subarray(0, room),
      ])
      if (!(await this.#put(parts, content, before?.version))) return undefined
      lastBytes = content.length
      rest = rest.subarray(room)
    }
    return { lineCount: head.lineCount + lines.length, sizeBytes, isFinal, parts, lastBytes }
  }

  async #head(): Promise<{ head: Head; version: string | undefined }> {
    const blob = await this.#blobs.read(this.#ref(0))
    if (blob === undefined) return { head: EMPTY, version: undefined }
    return { head: JSON.parse(Buffer.from(blob.bytes).toString('utf8')) as Head, version: blob.version }
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
