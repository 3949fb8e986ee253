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
    const lines: string[] = []
    for await (const line of path === undefined ? [] : linesBackwards(path, READ_BYTES)) lines.push(line)
    for (const text of requestsIn(lines)) {
      const record = parseAccess(text)
      if (record === undefined || !buckets.has(record.bucket)) continue
      if (record.accessKeyId === platform && record.statusCode !== 403) continue
      found.push(record)
      if (found.length >= limit) break
    }
    return found
  }
}

/**
 * owner bucket [time] address requester requestId operation key uri status error bytesSent objectSize ... SigV4 - AuthHeader
 * host tls arn Yes
 *
 * Everything up to the operation is the store's own, if the line is (`requestsIn`). Key and agent may hold whatever looks like the rest of a line: of all
 * places that look like one, the last is meant whose URI, which is encoded, and whose ARN name that very key. An error that
 * S3 has no code for is a sentence.
 */
const HEAD = /^\S+ (\S+) \[([^\]]+)\] (\S+) (\S+) (\S+) ([\w-]+) /
const URI = / (\/\S*)(?= \d{3} )/g
const SIGNED = / SigV\S* \S+ AuthHeader /
const TAIL = /^ (\d{3}) (.{1,500}?) (\d+) (\d+) \d+ \d+ \S+ /
/** What of a line is looked at behind the URI. */
const TAIL_LENGTH = 1_000

const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec'

export function parseAccess(line: string): AuditRecord | undefined {
  const head = HEAD.exec(line)
  if (head === null) return undefined
  const [whole, bucket = '', time = '', address = '', requester = '', request = '', operation = ''] = head
  const timestamp = parseTime(time)
  const rest = line.slice(whole.length)
  const place = SIGNED.test(rest) ? placeIn(rest, bucket) : undefined
  if (timestamp === undefined || place === undefined) return undefined
  const { uri, key, end } = place
  const tail = TAIL.exec(rest.slice(end, end + TAIL_LENGTH))
  if (tail === null) return undefined
  const [, status, error, sent, size] = tail
  const bytes = Math.max(Number(sent), Number(size))
  return {
    id: sha256(`${time}\n${request}\n${uri}`).slice(0, 32),
    timestamp,
    operation: operation.replace(/^s3_/, ''),
    bucket,
    key,
    statusCode: Number(status),
    errorCode: error === '-' ? undefined : error,
    accessKeyId: requester === '-' ? undefined : requester,
    user: undefined,
    remoteAddress: address,
    bytes: Number.isFinite(bytes) ? bytes : undefined,
    requestId: request,
  }
}

/**
 * What was written of each request. A key may hold ends of lines, and between them what looks like other requests; whoever
 * reaches the store can ask for such a key. The URI, which is encoded, tells which lines belong together: those of the key
 * before it, and again those of the ARN behind. Of two such texts the longer one holds the other.
 *
 * @param lines the last one first, as the requests that are told
 */
function* requestsIn(lines: readonly string[]): Generator<string> {
  /** By the last line of a request: the ends of lines in its key. */
  const ends = new Map<number, number>()
  for (const [at, line] of lines.entries()) {
    if (!/%0A/i.test(line)) continue
    for (const [, uri = ''] of line.matchAll(URI)) {
      const parts = pathOf(uri).slice(1).split('\n')
      const count = parts.length - 1
      if (count > (ends.get(at - count) ?? 0) && areOne(lines, at, uri, parts)) ends.set(at - count, count)
    }
  }
  for (let at = 0, length = 1; at < lines.length; at += length) {
    length = 2 * (ends.get(at) ?? 0) + 1
    yield lines
      .slice(at, at + length)
      .reverse()
      .join('\n')
  }
}

function areOne(lines: readonly string[], at: number, uri: string, parts: readonly string[]): boolean {
  const [first = '', ...others] = parts
  const last = others.pop() ?? ''
  const key = first.slice(first.indexOf('/') + 1)
  return (
    lines[at]?.startsWith(`${last} ${uri} `) === true &&
    lines[at].endsWith(`:::/${first}`) &&
    others.every((part, index) => lines[at - 1 - index] === part && lines[at + others.length - index] === part) &&
    lines[at - 1 - others.length] === `${last} Yes` &&
    lines[at + 1 + others.length]?.endsWith(` ${key}`) === true
  )
}

type Place = { uri: string; key: string | undefined; end: number }

function placeIn(rest: string, bucket: string): Place | undefined {
  let found: Place | undefined
  for (const { index, 0: text, 1: uri = '' } of rest.matchAll(URI)) {
    const path = pathOf(uri)
    if (!rest.endsWith(`${path.slice(1)} Yes`)) continue
    const key = rest.slice(0, index)
    const isOfBucket = key === '-' && [`/${bucket}`, `/${bucket}/`].includes(path)
    if (isOfBucket || path === `/${bucket}/${key}`)
      found = { uri, key: isOfBucket ? undefined : key, end: index + text.length }
  }
  return found
}

/** As the store decodes it: bytes, whatever they are. */
function pathOf(uri: string): string {
  const bytes = Buffer.from(uri.split('?', 1)[0] ?? '')
    .toString('latin1')
    .replaceAll(/%([0-9A-Fa-f]{2})/g, (_, pair) => String.fromCharCode(Number.parseInt(pair, 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8')
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
