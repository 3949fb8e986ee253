import { parsedJson } from '../../core/parsedJson.ts'

/**
 * One request, in the words of versitygw (s3log/audit-logger.go): a line of JSON in the access log. Whatever else the
 * store says of a request may stand in the line too.
 */
export type AccessEntry = Record<(typeof TEXTS)[number], string> & Record<(typeof NUMBERS)[number], number>

const TEXTS = ['Time', 'RemoteIP', 'Requester', 'RequestID', 'Operation', 'Bucket', 'Key', 'ErrorCode'] as const
const NUMBERS = ['HttpStatus', 'BytesSent', 'ObjectSize'] as const

/** An error that S3 has no code for is a sentence, with paths in it. */
const LONGEST_ERROR = 500

/** Undefined where it is no such object. */
export function accessEntry(text: string): AccessEntry | undefined {
  const sent = parsedJson(text)
  if (typeof sent !== 'object' || sent === null) return undefined
  const said = sent as Record<string, unknown>
  if (!TEXTS.every((name) => typeof said[name] === 'string')) return undefined
  if (!NUMBERS.every((name) => Number.isSafeInteger(said[name]))) return undefined
  const entry = Object.fromEntries([...TEXTS, ...NUMBERS].map((name) => [name, said[name]])) as AccessEntry
  if (Number.isNaN(Date.parse(entry.Time))) return undefined
  return { ...entry, ErrorCode: entry.ErrorCode.slice(0, LONGEST_ERROR) }
}

/** Who signs in the name of the platform without its secret is refused, and is somebody else. */
export const isOfPlatform = ({ Requester, HttpStatus }: AccessEntry, accessKeyId: string) =>
  Requester === accessKeyId && HttpStatus !== 403
