import { constructFromEvents, EVENT_ID, type Event, getScalarValue, parseEvents, YAMLException } from 'js-yaml'
import { parseJsonPointer } from '../../core/jsonPointer.ts'
import { PROSE, PROSE_MESSAGE } from '../../core/prose.ts'
import { isShown, SHOWN_LINE } from '../../core/shownText.ts'
import { runUnsliced, type SlicedWork } from '../../core/slices.ts'

export const MAX_CONTENT_BYTES = 262_144
const ALIASES_MAX = 100
const DEPTH_MAX = 40
/** Maximum names and values, with aliases expanded; reading so many takes some milliseconds. */
export const NODES_MAX = 5_000
/** Maximum nodes that the parser begins: it begins some more than once before it knows what they are. */
const PARSED_NODES_MAX = NODES_MAX * 4
const NAME_MAX = 1_024
/** Approximate memory of a node, in characters. */
const NODE_WEIGHT = 100

const TOO_MANY = `has more than ${NODES_MAX.toLocaleString('en')} names and values, aliases included`

/** A place in the text; lines and columns count from 1. */
export type Position = { readonly line: number; readonly column: number }

/** Why a text is not the document of a template. */
export class DocumentError extends Error {
  override readonly name = 'DocumentError'
  readonly position: Position | undefined

  constructor(message: string, position?: Position) {
    super(message)
    this.position = position
  }
}

export type TemplateDocument = {
  /** A tree of JSON values without shared parts. */
  readonly value: unknown
  /** Approximate memory, in characters. */
  readonly weight: number
  /** Returns where the value of a JSON Pointer (RFC 6901) stands, or its nearest parent if it does not exist. */
  positionOf(pointer: string): Position
}

/**
 * Reads one document of YAML or JSON: at most 256 KiB, 40 levels, 100 aliases, and 5,000 names and values.
 *
 * @throws DocumentError and nothing else
 */
export const parseTemplateDocument = (content: string): TemplateDocument =>
  runUnsliced(parseTemplateDocumentSliced(content))

/** Like `parseTemplateDocument`, but in slices: the longest documents take longer than others should wait. */
export function* parseTemplateDocumentSliced(content: string): SlicedWork<TemplateDocument> {
  if (Buffer.byteLength(content, 'utf8') > MAX_CONTENT_BYTES)
    throw new DocumentError(`has more than ${MAX_CONTENT_BYTES / 1024} KiB`)
  if (!PROSE.test(content)) throw new DocumentError(PROSE_MESSAGE)
  const events = withYamlErrors(() => eventsOf(content))
  yield
  const documents = withYamlErrors(() => constructFromEvents(events, { source: content, maxAliases: ALIASES_MAX }))
  yield
  if (documents.length !== 1) throw new DocumentError(`must contain one document; it contains ${documents.length}`)
  const value = expandAliases(documents[0])
  yield
  const root = placesOf(events, content)
  const weight = content.length + events.length * NODE_WEIGHT
  // Most documents have no problem that needs a position.
  let lines: number[] | undefined
  const positionOf = (pointer: string) => {
    lines ??= lineStarts(content)
    return positionAt(lines, nearestOffset(root, pointer))
  }
  yield
  return { value, weight, positionOf }
}

function eventsOf(content: string): Event[] {
  const events = parseEvents(content, { maxDepth: countingMaxDepth() })
  if (events.filter(isNode).length > NODES_MAX) throw new DocumentError(TOO_MANY)
  return events
}

/** @throws DocumentError */
function withYamlErrors<Result>(read: () => Result): Result {
  try {
    return read()
  } catch (error) {
    if (error instanceof DocumentError) throw error
    if (!(error instanceof YAMLException)) throw new DocumentError('cannot be read as YAML')
    const { reason, mark } = error
    const position = mark === undefined || mark === null ? undefined : { line: mark.line + 1, column: mark.column + 1 }
    const own = PARSER_MESSAGES.find(([pattern]) => pattern.test(reason))?.[1]
    throw new DocumentError(own ?? reason.slice(0, 200), position)
  }
}

/** Replaces messages in which the parser mentions its own settings and types. */
const PARSER_MESSAGES: readonly (readonly [RegExp, string])[] = [
  [/maxDepth/, `is nested deeper than ${DEPTH_MAX} levels`],
  [/complex keys/, 'has a list or a map as a key'],
]

const isNode = ({ type }: Event) => type !== EVENT_ID.DOCUMENT && type !== EVENT_ID.POP

/**
 * The parser has no limit for nodes, and takes 100 ms for 256 KiB of small ones. It compares its depth with `maxDepth`
 * at each node that it begins, so a number that counts how often it is read stops it early. If a later parser reads it
 * only once, the count of events is the limit.
 */
function countingMaxDepth(): number {
  let left = PARSED_NODES_MAX
  const depth = () => {
    left -= 1
    if (left < 0) throw new DocumentError(TOO_MANY)
    return DEPTH_MAX
  }
  return { valueOf: depth, toString: () => String(DEPTH_MAX) } as unknown as number
}

/** Copies the tree with each alias expanded, within NODES_MAX, so that a walk over the copy always ends. */
function expandAliases(root: unknown): unknown {
  let left = NODES_MAX
  const copy = (value: unknown, depth: number): unknown => {
    left -= 1
    if (left < 0) throw new DocumentError(TOO_MANY)
    if (depth > DEPTH_MAX * 2) throw new DocumentError('refers to itself')
    if (Array.isArray(value)) return value.map((item) => copy(item, depth + 1))
    if (typeof value !== 'object' || value === null) return requireJsonScalar(value)
    const entries = Object.entries(value).map(([key, item]) => {
      if (key === '__proto__') throw new DocumentError('must not have the name __proto__')
      if (key.length > NAME_MAX) throw new DocumentError(`has a name of more than ${NAME_MAX} characters`)
      if (!isShown(SHOWN_LINE, requireWellFormed(key))) throw new DocumentError('has a name with invisible characters')
      left -= 1
      return [key, copy(item, depth + 1)]
    })
    return Object.fromEntries(entries)
  }
  return copy(root, 0)
}

function requireJsonScalar(value: unknown): unknown {
  if (typeof value === 'string') return requireWellFormed(value)
  if (value === null || typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  throw new DocumentError('contains a value that JSON cannot express')
}

/** An escape can express what neither UTF-8 nor the API server can: the stored text would be another one. */
function requireWellFormed(text: string): string {
  if (!text.isWellFormed()) throw new DocumentError('contains half a surrogate pair')
  return text
}

/** Where a value begins, and its parts by name or index. A flat map would need whole JSON Pointers as keys. */
type Place = { readonly start: number; readonly parts: Map<string, Place> }

function placesOf(events: readonly Event[], source: string): Place {
  let at = 1
  const isOpen = () => at < events.length && events[at]?.type !== EVENT_ID.POP
  const text = (event: Event | undefined) => (event?.type === EVENT_ID.SCALAR ? getScalarValue(source, event) : '')
  const walk = (): Place => {
    const event = events[at]
    at += 1
    const parts = new Map<string, Place>()
    if (event === undefined || !isNode(event)) return { start: -1, parts }
    if (event.type === EVENT_ID.SEQUENCE) for (let index = 0; isOpen(); index += 1) parts.set(String(index), walk())
    if (event.type === EVENT_ID.MAPPING)
      while (isOpen()) {
        const key = text(events[at])
        walk()
        parts.set(key, walk())
      }
    if (event.type === EVENT_ID.SEQUENCE || event.type === EVENT_ID.MAPPING) at += 1
    return { start: startOf(event), parts }
  }
  return walk()
}

function startOf(event: Event): number {
  if (event.type === EVENT_ID.SCALAR) return event.valueStart
  if (event.type === EVENT_ID.ALIAS) return event.anchorStart
  return event.type === EVENT_ID.SEQUENCE || event.type === EVENT_ID.MAPPING ? event.start : 0
}

function nearestOffset(root: Place, pointer: string): number {
  let start = Math.max(root.start, 0)
  let place: Place | undefined = root
  for (const part of parseJsonPointer(pointer)) {
    place = place.parts.get(part)
    if (place === undefined) break
    if (place.start >= 0) start = place.start
  }
  return start
}

/** Offsets at which lines begin. */
function lineStarts(content: string): number[] {
  const starts = [0]
  for (let at = content.indexOf('\n'); at !== -1; at = content.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}

/** Binary search, because a document has many lines and many problems. */
function positionAt(lines: readonly number[], offset: number): Position {
  let [low, high] = [0, lines.length - 1]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((lines[middle] ?? 0) <= offset) low = middle
    else high = middle - 1
  }
  return { line: low + 1, column: offset - (lines[low] ?? 0) + 1 }
}
