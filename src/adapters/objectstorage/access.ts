import { sha256 } from '../../core/names.ts'
import type { AuditRecord } from './port.ts'

/**
 * One request as versitygw writes it:
 *
 * owner bucket [time] address requester requestId operation key uri status error bytesSent objectSize total turnAround
 * referer agent version hostId SigV4 cipher AuthHeader host tls arn:aws:s3:::/bucket/key Yes
 *
 * Bucket, key and version stand there decoded, with whatever blanks and ends of lines; the URI is encoded and has none.
 */
export type Access = {
  readonly bucket: string
  readonly key: string
  readonly time: string
  readonly address: string
  readonly requester: string
  readonly request: string
  readonly operation: string
  readonly uri: string
  readonly status: number
  /** From the status on. */
  readonly answer: string
  /** The bucket and the key, as the URI has them. */
  readonly path: string
}

const TAIL = / [^ \n]+ SigV\S* [^ \n]+ AuthHeader [^ \n]+ [^ \n]+ arn:aws:s3:::/g
const HEAD = /\[([^\]\n]+)\] ([^ \n]+) ([^ \n]+) ([^ \n]+) ([\w-]+) /y
const END = ' Yes'

/**
 * The request that a text is, from its first character to its last. Bucket and key stand there twice, and the version is
 * the one in the URI, so that each is known to its end before anything behind it is looked at. Of several ARNs the first
 * that fits is meant: others are within what the client wrote.
 */
export function accessIn(text: string): Access | undefined {
  if (!text.endsWith(END)) return undefined
  for (const { index, 0: tail } of text.matchAll(TAIL)) {
    const found = accessWith(text, index, text.slice(index + tail.length, -END.length))
    if (found !== undefined) return found
  }
  return undefined
}

function accessWith(text: string, end: number, path: string): Access | undefined {
  const [, first = '', ...others] = path.split('/')
  const [bucket, key] = [first || '-', others.join('/') || '-']
  const owner = text.indexOf(' ')
  if (!text.startsWith(`${bucket} `, owner + 1)) return undefined
  HEAD.lastIndex = owner + bucket.length + 2
  const head = HEAD.exec(text)
  if (head === null || !text.startsWith(`${key} `, HEAD.lastIndex)) return undefined
  const start = HEAD.lastIndex + key.length + 1
  const blank = text.indexOf(' ', start)
  if (blank < 0 || blank > end) return undefined
  const [uri, answer] = [text.slice(start, blank), text.slice(blank + 1, end)]
  const version = ` ${versionIn(uri) || '-'}`
  if (uri.includes('\n') || !answer.endsWith(version) || answer.slice(0, -version.length).includes('\n'))
    return undefined
  const [, time = '', address = '', requester = '', request = '', operation = ''] = head
  const status = Number(/^\d{3} /.exec(answer)?.[0])
  return { bucket, key, time, address, requester, request, operation, uri, status, answer, path }
}

/** How many ends of lines a request with this URI writes before and behind it, if it is one. */
export function endsOfLines(uri: string): { path: number; version: number } {
  const path = pathOf(uri).split('\n').length - 1
  return { path, version: versionIn(uri).split('\n').length - 1 }
}

/** An error that S3 has no code for is a sentence. */
const ANSWER = /^\d{3} (.{1,500}?) (\d+) (\d+) \d+ \d+ /

/** What is told of it; nothing where its URI does not ask for what it says. */
export function recordOf(access: Access): AuditRecord | undefined {
  const { time, address, requester, request, operation, uri, status, bucket, key, path } = access
  const timestamp = parseTime(time)
  const answer = ANSWER.exec(access.answer)
  if (timestamp === undefined || answer === null || pathOf(uri) !== path) return undefined
  const [, error, sent, size] = answer
  const bytes = Math.max(Number(sent), Number(size))
  return {
    id: sha256(`${time}\n${request}\n${uri}`).slice(0, 32),
    timestamp,
    operation: operation.replace(/^s3_/, ''),
    bucket,
    key: [`/${bucket}`, `/${bucket}/`].includes(path) ? undefined : key,
    statusCode: status,
    errorCode: error === '-' ? undefined : error,
    accessKeyId: requester === '-' ? undefined : requester,
    user: undefined,
    remoteAddress: address,
    bytes: Number.isFinite(bytes) ? bytes : undefined,
    requestId: request,
  }
}

/** As the store decodes it: not at all if an escape in it is none. */
function pathOf(uri: string): string {
  const [path = ''] = uri.replace(/^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#]*/, '').split(/[?#]/, 1)
  return /%(?![0-9A-Fa-f]{2})/.test(path) ? path : decoded(path)
}

/** The version that it asks for, as the store decodes it: what is no escape stays. */
function versionIn(uri: string): string {
  const [target = ''] = uri.split('#', 1)
  const query = target.indexOf('?')
  if (query < 0) return ''
  for (const part of target.slice(query + 1).split('&')) {
    const [name = ''] = part.split('=', 1)
    if (argument(name) === 'versionId') return argument(part.slice(name.length + 1))
  }
  return ''
}

function argument(text: string): string {
  const cut = text.indexOf('%', Math.max(0, text.length - 2))
  const whole = cut < 0 ? text : text.slice(0, cut)
  return decoded(whole.replaceAll('+', ' '), text.slice(whole.length))
}

/** Bytes, whatever they are. */
function decoded(text: string, literal = ''): string {
  const bytes = Buffer.from(text)
    .toString('latin1')
    .replaceAll(/%([0-9A-Fa-f]{2})/g, (_, pair) => String.fromCharCode(Number.parseInt(pair, 16)))
  return Buffer.from(bytes + Buffer.from(literal).toString('latin1'), 'latin1').toString('utf8')
}

const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec'

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
