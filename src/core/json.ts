import { unreadableFields } from './errors.ts'
import { endOfText } from './jsonValues.ts'

const DEPTH_MAX = 64
/** Far more than any of our objects has; many different names take long to read and to copy. */
const NAMES_MAX = 2_000

class Refusal extends Error {}

const refuse = (message: string) => new Refusal(message)

/** The value of a JSON text, or why the text is refused. Can be sent between threads. */
export type StrictJsonResult = { value: unknown } | { refusal: string }

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Parses a JSON text of RFC 8259 strictly: UTF-8 without a byte order mark, no name twice in an object (readers
 * disagree on which one counts), no lone surrogates, no number out of the range of a double (1e-400 would be read as
 * 0), at most 64 levels and 2,000 names in an object, and no `__proto__`.
 */
export function parseStrictJson(bytes: Uint8Array): StrictJsonResult {
  try {
    return { value: parse(bytes) }
  } catch (error) {
    if (error instanceof Refusal) return { refusal: error.message }
    throw error
  }
}

/** @throws PlatformError MODEL_BINDING_FAILED if it was refused */
export function unwrapStrictJson(read: StrictJsonResult): unknown {
  if ('value' in read) return read.value
  throw unreadableFields([{ field: '', message: read.refusal }])
}

function parse(bytes: Uint8Array): unknown {
  const text = decode(bytes)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // The parser's own message would repeat a piece of the body, which may be a secret.
    throw refuse('it is not JSON')
  }
  checkStructure(text)
  return value
}

function decode(bytes: Uint8Array): string {
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    throw refuse('it is not UTF-8')
  }
  if (text.charCodeAt(0) === 0xfeff) throw refuse('it begins with a byte order mark')
  return text
}

/** `names` is created with the first name, because a body may hold very many empty objects. */
type Level = { isObject: boolean; names: Set<string> | undefined; isName: boolean }

/** Walks valid JSON text and checks what `JSON.parse` lets pass: nesting, duplicate names and numbers out of range. */
function checkStructure(text: string): void {
  const levels: Level[] = []
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    const level = levels[levels.length - 1]
    if (code === QUOTE) {
      const end = endOfText(text, index)
      checkString(text, index, end, level)
      index = end
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (levels.length === DEPTH_MAX) throw refuse(`it is nested deeper than ${DEPTH_MAX} levels`)
      const isObject = code === OPEN_BRACE
      levels.push({ isObject, names: undefined, isName: isObject })
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) levels.pop()
    else if (code === COMMA && level !== undefined) level.isName = level.isObject
    else if (code === COLON && level !== undefined) level.isName = false
    else if (code === MINUS || (code >= ZERO && code <= NINE)) index = checkNumber(text, index)
  }
}

const QUOTE = 0x22
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const COMMA = 0x2c
const COLON = 0x3a
const MINUS = 0x2d
const ZERO = 0x30
const NINE = 0x39

const NUMBER = /[-+.0-9eE]+/y
/** Numbers of fewer characters without an exponent are within the range of a double. */
const SAFE_DIGITS_MAX = 300

/** Returns the index of the last character of the number. */
function checkNumber(text: string, start: number): number {
  NUMBER.lastIndex = start
  const [digits = ''] = NUMBER.exec(text) ?? []
  if (digits.length >= SAFE_DIGITS_MAX || /[eE]/.test(digits)) {
    const value = Number(digits)
    const isLost = value === 0 && /^-?[0.]*[1-9]/.test(digits)
    if (isLost || !Number.isFinite(value)) throw refuse('it contains a number that is too large or too close to zero')
  }
  return start + digits.length - 1
}

function checkString(text: string, start: number, end: number, level: Level | undefined): void {
  const raw = text.slice(start + 1, end)
  const value = raw.includes('\\') ? (JSON.parse(text.slice(start, end + 1)) as string) : raw
  if (value !== raw && !value.isWellFormed()) throw refuse('it contains half a surrogate pair')
  if (level?.isName !== true) return
  if (value === '__proto__') throw refuse('"__proto__" is not allowed as a name')
  level.names ??= new Set()
  if (level.names.has(value)) throw refuse(`the name "${value.slice(0, 64)}" appears twice in one object`)
  if (level.names.size === NAMES_MAX) throw refuse(`an object has more than ${NAMES_MAX} names`)
  level.names.add(value)
}
