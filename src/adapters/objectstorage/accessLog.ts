import { sha256 } from '../../core/names.ts'
import { linesBackwards } from '../audit/lines.ts'
import type { AuditRecord, ObjectStore } from './port.ts'

/** The end of the log that a look-up reads. */
const READ_BYTES = 8 * 1024 * 1024

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
    for await (const line of path === undefined ? [] : linesBackwards(path, READ_BYTES)) {
      const record = parseAccess(line)
      if (record === undefined || !buckets.has(record.bucket)) continue
      if (record.accessKeyId === platform && record.statusCode !== 403) continue
      found.push(record)
      if (found.length >= limit) break
    }
    return found
  }
}

/**
 * owner bucket [time] address requester requestId operation key uri status error bytesSent objectSize ...
 *
 * Everything up to the operation is the store's own. The key is taken from the URI, which is encoded: a key with a
 * space or a line's end could otherwise tell any story. An error that S3 has no code for is a sentence.
 */
const LINE =
  /^\S+ (\S+) \[([^\]]+)\] (\S+) (\S+) (\S+) ([\w-]+) .*? (\/\S*) (\d{3}) (.{1,500}?) (\d+) (\d+) \d+ \d+ \S+ .*SigV\S* \S+ AuthHeader /

const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec'

export function parseAccess(line: string): AuditRecord | undefined {
  const [
    ,
    bucket = '',
    time = '',
    address = '',
    requester = '',
    request = '',
    operation = '',
    uri = '',
    status,
    error,
    sent,
    size,
  ] = LINE.exec(line) ?? []
  const timestamp = parseTime(time)
  if (timestamp === undefined) return undefined
  const bytes = Math.max(Number(sent), Number(size))
  return {
    id: sha256(`${time}\n${request}\n${uri}`).slice(0, 32),
    timestamp,
    operation: operation.replace(/^s3_/, ''),
    bucket,
    key: keyOf(uri),
    statusCode: Number(status),
    errorCode: error === '-' ? undefined : error,
    accessKeyId: requester === '-' ? undefined : requester,
    user: undefined,
    remoteAddress: address,
    bytes: Number.isFinite(bytes) ? bytes : undefined,
    requestId: request,
  }
}

function keyOf(uri: string): string | undefined {
  const path = uri.split('?', 1)[0] ?? ''
  const encoded = path.split('/').slice(2).join('/')
  if (encoded === '') return undefined
  try {
    return decodeURIComponent(encoded)
  } catch {
    return encoded
  }
}

/** `21/November/2026:14:51:56 +0000`, with the month written out or cut to three letters. */
function parseTime(text: string): string | undefined {
  const match = /^(\d{2})\/([A-Z][a-z]{2})[a-z]*\/(\d{4}):(\d{2}:\d{2}:\d{2}) ([+-]\d{2})(\d{2})$/.exec(text)
  if (match === null) return undefined
  const [, day, month = '', year, clock, hours, minutes] = match
  const number = MONTHS.indexOf(month) / 3 + 1
  if (number < 1) return undefined
  const parsed = new Date(`${year}-${String(number).padStart(2, '0')}-${day}T${clock}${hours}:${minutes}`)
  return Number.isNaN(parsed.getTime()) ? undefined : parsed.toISOString()
}
