import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { sha256 } from '../../core/names.ts'
import { unlessAbsent } from '../../core/unlessAbsent.ts'
import { linesBackwards } from '../audit/lines.ts'
import { takeNewestEntries } from '../audit/port.ts'
import { type AccessEntry, isPlatformRequest, parseAccessEntry } from './accessEntry.ts'
import { isFolderName } from './folders.ts'
import { type AuditRecord, type ObjectStore, StoreError } from './port.ts'

/** Bytes that one query reads from the ends of all logs together, and at least of each. */
const READ_BYTES = 8 * 1024 * 1024
const READ_BYTES_MIN = 64 * 1024

/** The previous log file, after rotation. */
export const rotatedLogPath = (path: string) => `${path}.1`

/**
 * The log of a bucket: successful and refused requests are separate, because anyone can cause any number of refused
 * ones. Names of buckets contain no underscore.
 */
export const bucketLogPath = (folder: string, bucket: string, what: 'done' | 'refused') =>
  join(folder, `${bucket}_${what}.jsonl`)

/**
 * Reads requests from JSON-lines logs, newest first. Malformed lines are skipped; without a log there are no records.
 *
 * @param path one log for all buckets, or a folder with a log per bucket
 * @param platform access key of the platform itself, whose requests are left out
 */
export function accessLogReader(path: string | undefined, platform: string): ObjectStore['audit'] {
  return async (buckets, limit) => {
    const isWanted = (entry: AccessEntry) => buckets.has(entry.Bucket) && !isPlatformRequest(entry, platform)
    const found = await readRecords().catch((error: unknown) => {
      throw new StoreError('Unreachable', 'The audit of the object store cannot be read.', error)
    })
    // Requests of almost the same time may be logged out of order.
    return found.sort((one, other) => Date.parse(other.timestamp) - Date.parse(one.timestamp)).slice(0, limit)

    async function readRecords(): Promise<AuditRecord[]> {
      const logs = path === undefined ? [] : await logsAt(path, buckets)
      const maxBytes = Math.max(READ_BYTES_MIN, READ_BYTES / logs.length)
      const records: AuditRecord[] = []
      for (const log of logs)
        records.push(...(await takeNewestEntries(recordsBackwards(log, maxBytes, isWanted), limit, () => true)))
      return records
    }
  }
}

async function logsAt(path: string, buckets: ReadonlySet<string>): Promise<string[]> {
  const found = await unlessAbsent(stat(path))
  if (found?.isDirectory() !== true) return [path]
  return [...buckets]
    .filter(isFolderName)
    .flatMap((each) => [bucketLogPath(path, each, 'done'), bucketLogPath(path, each, 'refused')])
}

async function* recordsBackwards(
  path: string,
  maxBytes: number,
  isWanted: (entry: AccessEntry) => boolean,
): AsyncGenerator<AuditRecord> {
  let left = maxBytes
  for (const file of [path, rotatedLogPath(path)])
    for await (const line of linesBackwards(file, left)) {
      left -= Buffer.byteLength(line) + 1
      const entry = parseAccessEntry(line)
      if (entry !== undefined && isWanted(entry)) yield recordOf(entry)
    }
}

function recordOf(entry: AccessEntry): AuditRecord {
  const { Time, RequestID, Operation, Bucket, Key, Requester, ErrorCode } = entry
  return {
    id: sha256(JSON.stringify([Time, RequestID, Operation, Bucket, Key])).slice(0, 32),
    timestamp: new Date(Time).toISOString(),
    operation: Operation.replace(/^s3_/, ''),
    bucket: Bucket,
    key: Key === '' ? undefined : Key,
    statusCode: entry.HttpStatus,
    errorCode: ErrorCode === '' ? undefined : ErrorCode,
    accessKeyId: ['', '-'].includes(Requester) ? undefined : Requester,
    user: undefined,
    remoteAddress: entry.RemoteIP,
    bytes: Math.max(entry.BytesSent, entry.ObjectSize),
    requestId: RequestID,
  }
}
