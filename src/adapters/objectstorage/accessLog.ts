import { stat } from 'node:fs/promises'
import { linesBackwards } from '../audit/lines.ts'
import { type Access, recordOf } from './access.ts'
import { AccessScan } from './accessScan.ts'
import type { AuditRecord, ObjectStore } from './port.ts'

/** How much of the end of the log a look-up reads, not counting requests of the platform itself. */
const READ_BYTES = 8 * 1024 * 1024

/** With them. */
const MOST_BYTES = 8 * READ_BYTES

/**
 * Reads requests from an access log in the form of S3 ("Server access log format"), as versitygw writes it, newest
 * first. Without a log there is none to tell of.
 *
 * @param platform the access key of the platform itself, whose requests are not told of. One that was refused is:
 *   whoever signs in its name without its secret is somebody else
 */
export function fileAudit(path: string | undefined, platform: string): ObjectStore['audit'] {
  return async (buckets, limit) => {
    const found: AuditRecord[] = []
    let read = 0
    for await (const { access, length } of path === undefined ? [] : accessesBackwards(path)) {
      if (access?.requester === platform && access.status !== 403) continue
      read += length
      if (read > READ_BYTES) break
      const record = access && buckets.has(access.bucket) ? recordOf(access) : undefined
      if (record !== undefined) found.push(record)
      if (found.length >= limit) break
    }
    return found
  }
}

async function* accessesBackwards(path: string): AsyncGenerator<{ access: Access | undefined; length: number }> {
  const scan = new AccessScan()
  let isEnd = true
  for await (const line of linesBackwards(path, MOST_BYTES)) {
    // What stands behind the last end of a line is being written.
    if (!isEnd) scan.add(line)
    isEnd = false
    while (scan.holdsOne) yield scan.next()
  }
  // What is left of a longer log may be half of a request.
  const { size } = await stat(path).catch(() => ({ size: 0 }))
  if (size <= MOST_BYTES) while (!scan.isEmpty) yield scan.next()
}
