import { sha256 } from '../../core/names.ts'
import { linesBackwards } from '../audit/lines.ts'
import { newestOf } from '../audit/port.ts'
import { type AccessEntry, accessEntry, isOfPlatform } from './accessEntry.ts'
import type { AuditRecord, ObjectStore } from './port.ts'

/** How much of the end of the log a look-up reads. */
const READ_BYTES = 8 * 1024 * 1024

/** The file that a log was, until the present one was begun. */
export const olderLog = (path: string) => `${path}.1`

/**
 * Reads requests from a log with a line of JSON for each, newest first. A line that is none is skipped. Without a log there
 * is none to tell of.
 *
 * @param platform the access key of the platform itself, whose requests are not told of
 */
export function fileAudit(path: string | undefined, platform: string): ObjectStore['audit'] {
  return async (buckets, limit) => {
    const isWanted = (entry: AccessEntry) => buckets.has(entry.Bucket) && !isOfPlatform(entry, platform)
    const found = await newestOf(recordsBackwards(path, isWanted), limit, () => true)
    // Of two requests at almost the same time, the later one may have arrived first.
    return found.sort((one, other) => Date.parse(other.timestamp) - Date.parse(one.timestamp))
  }
}

async function* recordsBackwards(
  path: string | undefined,
  isWanted: (entry: AccessEntry) => boolean,
): AsyncGenerator<AuditRecord> {
  let left = READ_BYTES
  for (const file of path === undefined ? [] : [path, olderLog(path)])
    for await (const line of linesBackwards(file, left)) {
      left -= Buffer.byteLength(line) + 1
      const entry = accessEntry(line)
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
