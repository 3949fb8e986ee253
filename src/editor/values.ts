import { createHash } from 'node:crypto'
import { SqlFault } from './fault.ts'

/** The JSON representations of column values (records: SqlValue encoding). */
export const ENCODINGS = [
  'boolean',
  'integer',
  'bigint',
  'decimal',
  'float',
  'text',
  'date',
  'time',
  'dateTime',
  'dateTimeOffset',
  'uuid',
  'binary',
  'json',
  'wkt',
] as const
export type Encoding = (typeof ENCODINGS)[number]

/** Replaces a value that is too long to be shown. */
export type TruncatedValue = { truncated: true; sizeBytes: number }
export type SqlValue = null | boolean | number | string | TruncatedValue

/** Digests of long values, to distinguish them. Kept separately, so that they are never sent to clients. */
const DIGESTS = new WeakMap<TruncatedValue, string>()

export function digestOf(value: TruncatedValue): string | undefined {
  return DIGESTS.get(value)
}

function truncated(text: string, sizeBytes: number): TruncatedValue {
  const value = { truncated: true, sizeBytes } as const
  DIGESTS.set(value, createHash('sha256').update(text).digest('base64url'))
  return value
}

/** The value of a parameter: text that the engine parses as the column type, or bytes. */
export type BoundValue = null | string | Uint8Array

/** Longer values are shown as their size and refused in writes. */
export const VALUE_MAX_BYTES = 1024 * 1024

const DATE = String.raw`\d{4,6}-\d{2}-\d{2}`
const CLOCK = String.raw`\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?`
const ERA = '(?: BC)?'
const FORMS: Readonly<Partial<Record<Encoding, RegExp>>> = {
  bigint: /^-?\d{1,20}$/,
  decimal: /^(?:-?\d+(?:\.\d+)?|NaN|-?Infinity)$/,
  date: new RegExp(`^(?:${DATE}${ERA}|-?infinity)$`),
  time: /^-?\d{1,3}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?$/,
  dateTime: new RegExp(`^(?:${DATE}[T ]${CLOCK}${ERA}|-?infinity)$`),
  dateTimeOffset: new RegExp(`^(?:${DATE}[T ]${CLOCK}(?:Z|[+-]\\d{2}(?::\\d{2}){0,2})${ERA}|-?infinity)$`),
  uuid: /^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/,
  binary: /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/,
  wkt: /^SRID=\d{1,6};[A-Za-z][A-Za-z0-9 ,.()+-]*$/,
}
const NOT_A_NUMBER = new Set(['NaN', 'Infinity', '-Infinity'])

/**
 * Converts a JSON value for the engine. The engine checks ranges and lengths; this checks the format, because a lenient
 * engine converts anything (`'1 or 1=1'` is 1 in MariaDB).
 * @throws SqlFault InvalidValue
 */
export function bindValue(column: { name: string; encoding: Encoding }, value: unknown): BoundValue {
  if (value === null) return null
  const parsed = readForm(column.encoding, value)
  if (parsed === undefined) {
    const message = `The value of "${column.name}" is not a valid ${column.encoding} value.`
    throw new SqlFault('InvalidValue', message, { column: column.name })
  }
  const size = typeof parsed === 'string' ? Buffer.byteLength(parsed) : parsed.byteLength
  if (size > VALUE_MAX_BYTES)
    throw new SqlFault('InvalidValue', `The value of "${column.name}" is longer than 1 MiB.`, { column: column.name })
  return parsed
}

type Form = string | Uint8Array | undefined

/** Parsers where a pattern is not enough. They return undefined for an invalid value. */
const READERS: Readonly<Partial<Record<Encoding, (value: unknown) => Form>>> = {
  boolean: (value) => (value === true || value === 1 ? 'true' : value === false || value === 0 ? 'false' : undefined),
  integer: (value) => (typeof value === 'boolean' ? String(Number(value)) : wholeNumber(value)),
  bigint: (value) => wholeNumber(value) ?? matching('bigint', value),
  float: (value) =>
    typeof value === 'number' ? String(value) : NOT_A_NUMBER.has(value as string) ? (value as string) : undefined,
  // PostgreSQL does not support NUL, and other engines end the text there.
  text: (value) => (typeof value === 'string' && !value.includes('\0') && value.isWellFormed() ? value : undefined),
  json: (value) => (typeof value === 'string' && isJson(value) ? value : undefined),
  binary: (value) => (matching('binary', value) === undefined ? undefined : Buffer.from(value as string, 'base64')),
  uuid: (value) => matching('uuid', value)?.toLowerCase(),
}

function readForm(encoding: Encoding, value: unknown): Form {
  const reader = READERS[encoding]
  return reader === undefined ? matching(encoding, value) : reader(value)
}

function wholeNumber(value: unknown): string | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : undefined
}

function matching(encoding: Encoding, value: unknown): string | undefined {
  return typeof value === 'string' && FORMS[encoding]?.test(value) === true ? value : undefined
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Converts a path segment into the value of a key column. @throws SqlFault InvalidValue */
export function bindKeyText(column: { name: string; encoding: Encoding }, text: string): BoundValue {
  const { encoding } = column
  if (encoding === 'integer' || encoding === 'float') {
    const isNumber = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)
    return bindValue(column, isNumber ? Number(text) : text)
  }
  if (encoding === 'boolean') return bindValue(column, text === 'true' ? true : text === 'false' ? false : text)
  return bindValue(column, text)
}

/** Converts the engine's text of a value to JSON. */
export function shownValue(encoding: Encoding, text: string | null): SqlValue {
  if (text === null) return null
  if (text.length > VALUE_MAX_BYTES / 4) {
    const size = Buffer.byteLength(text, encoding === 'binary' ? 'base64' : 'utf8')
    if (size > VALUE_MAX_BYTES) return truncated(text, size)
  }
  switch (encoding) {
    case 'boolean':
      return text === 't' || text === 'true' || text === '1'
    case 'integer':
      return Number(text)
    case 'float':
      return NOT_A_NUMBER.has(text) ? text : Number(text)
    case 'dateTime':
      return text.replace(' ', 'T')
    case 'dateTimeOffset':
      return withOffset(text.replace(' ', 'T'))
    case 'uuid':
      return text.toLowerCase()
    default:
      return text
  }
}

/** Completes `+01` to `+01:00`, as RFC 3339 requires. */
function withOffset(text: string): string {
  return text.replace(/([+-]\d{2})( BC)?$/, '$1:00$2')
}
