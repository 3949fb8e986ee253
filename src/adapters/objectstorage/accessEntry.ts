import { tryParseJson } from '../../core/tryParseJson.ts'

/** One line of versitygw's access log, with its field names (s3log/audit-logger.go). A line may have further fields. */
export type AccessEntry = Record<(typeof TEXTS)[number], string> & Record<(typeof NUMBERS)[number], number>

const TEXTS = ['Time', 'RemoteIP', 'Requester', 'RequestID', 'Operation', 'Bucket', 'Key', 'ErrorCode'] as const
const NUMBERS = ['HttpStatus', 'BytesSent', 'ObjectSize'] as const

/** For an error without an S3 code, versitygw logs a sentence that contains paths. */
const ERROR_MAX_LENGTH = 500

/** Parses a line; undefined if it is not such an entry. */
export function parseAccessEntry(text: string): AccessEntry | undefined {
  const sent = tryParseJson(text)
  if (typeof sent !== 'object' || sent === null) return undefined
  const fields = sent as Record<string, unknown>
  if (!TEXTS.every((name) => typeof fields[name] === 'string')) return undefined
  if (!NUMBERS.every((name) => Number.isSafeInteger(fields[name]))) return undefined
  const entry = Object.fromEntries([...TEXTS, ...NUMBERS].map((name) => [name, fields[name]])) as AccessEntry
  if (Number.isNaN(Date.parse(entry.Time))) return undefined
  return { ...entry, ErrorCode: entry.ErrorCode.slice(0, ERROR_MAX_LENGTH) }
}

/** A 403 in the platform's name is not the platform: a request without its secret is refused. */
export const isPlatformRequest = ({ Requester, HttpStatus }: AccessEntry, accessKeyId: string) =>
  Requester === accessKeyId && HttpStatus !== 403
