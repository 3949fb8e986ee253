import { constructFromEvents, EVENT_ID, type Event, getScalarValue, parseEvents, YAMLException } from 'js-yaml'

export const CONTENT_MAX_BYTES = 262_144
const ALIASES_MAX = 100
const DEPTH_MAX = 40
/** What aliases make of a text may be far larger than the text. */
const NODES_MAX = 20_000

/** A place in the text, both from 1. */
export type Position = { readonly line: number; readonly column: number }

/** Why a text is no document of a template. */
export class DocumentError extends Error {
  override readonly name = 'DocumentError'
  readonly position: Position | undefined

  constructor(message: string, position?: Position) {
    super(message)
    this.position = position
  }
}

export type TemplateDocument = {
  /** A tree of JSON values in which nothing is shared. */
  readonly value: unknown
  /** Where the value of a JSON Pointer (RFC 6901) stands; of what is not there, where its parent does. */
  positionOf(pointer: string): Position
}

/**
 * Reads one document of YAML or JSON: at most 256 KiB, 40 levels, 100 aliases and 20,000 values.
 *
 * @throws DocumentError and nothing else
 */
export function readDocument(content: string): TemplateDocument {
  if (Buffer.byteLength(content, 'utf8') > CONTENT_MAX_BYTES)
    throw new DocumentError(`has more than ${CONTENT_MAX_BYTES / 1024} KiB`)
  const { events, documents } = parsed(content)
  if (documents.length !== 1) throw new DocumentError(`must hold one document; it holds ${documents.length}`)
  const value = expanded(documents[0])
  const starts = startsOf(events, content)
  const lines = lineStarts(content)
  return { value, positionOf: (pointer) => positionAt(lines, nearest(starts, pointer)) }
}

function parsed(content: string): { events: Event[]; documents: unknown[] } {
  try {
    const events = parseEvents(content, { maxDepth: DEPTH_MAX })
    return { events, documents: constructFromEvents(events, { source: content, maxAliases: ALIASES_MAX }) }
  } catch (error) {
    if (!(error instanceof YAMLException)) throw new DocumentError('cannot be read as YAML')
    const { reason, mark } = error
    const position = mark === undefined || mark === null ? undefined : { line: mark.line + 1, column: mark.column + 1 }
    throw new DocumentError(String(reason).slice(0, 200), position)
  }
}

/** A copy in which each alias has values of its own, so that whoever walks over it cannot be made to walk for ever. */
function expanded(root: unknown): unknown {
  let left = NODES_MAX
  const copy = (value: unknown, depth: number): unknown => {
    left -= 1
    if (left < 0 || depth > DEPTH_MAX * 2)
      throw new DocumentError('becomes too large by its aliases, or refers to itself')
    if (Array.isArray(value)) return value.map((item) => copy(item, depth + 1))
    if (typeof value !== 'object' || value === null) return plain(value)
    const entries = Object.entries(value).map(([key, item]) => {
      if (key === '__proto__') throw new DocumentError('must not have the name __proto__')
      return [key, copy(item, depth + 1)]
    })
    return Object.fromEntries(entries)
  }
  return copy(root, 0)
}

function plain(value: unknown): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  throw new DocumentError('holds a value that JSON has none for')
}

/** Where each value begins, by its JSON Pointer. */
function startsOf(events: readonly Event[], source: string): Map<string, number> {
  const starts = new Map<string, number>()
  let at = 0
  const text = (event: Event | undefined) => (event?.type === EVENT_ID.SCALAR ? getScalarValue(source, event) : '')
  const walk = (pointer: string): void => {
    const event = events[at]
    at += 1
    if (event === undefined || event.type === EVENT_ID.POP || event.type === EVENT_ID.DOCUMENT) return
    const start = startOf(event)
    starts.set(pointer, start)
    if (event.type === EVENT_ID.SEQUENCE) for (let index = 0; isOpen(); index += 1) walk(`${pointer}/${index}`)
    if (event.type === EVENT_ID.MAPPING)
      while (isOpen()) {
        const key = text(events[at])
        walk(`${pointer}/`)
        walk(`${pointer}/${escaped(key)}`)
      }
    if (event.type === EVENT_ID.SEQUENCE || event.type === EVENT_ID.MAPPING) at += 1
  }
  const isOpen = () => at < events.length && events[at]?.type !== EVENT_ID.POP
  at = 1
  walk('')
  return starts
}

function startOf(event: Event): number {
  if (event.type === EVENT_ID.SCALAR) return event.valueStart
  if (event.type === EVENT_ID.ALIAS) return event.anchorStart
  return event.type === EVENT_ID.SEQUENCE || event.type === EVENT_ID.MAPPING ? event.start : 0
}

/** A part of a JSON Pointer (RFC 6901). */
export function escaped(part: string): string {
  return part.replaceAll('~', '~0').replaceAll('/', '~1')
}

function nearest(starts: ReadonlyMap<string, number>, pointer: string): number {
  for (let path = pointer; ; path = path.slice(0, path.lastIndexOf('/'))) {
    const start = starts.get(path)
    if (start !== undefined && start >= 0) return start
    if (path === '') return 0
  }
}

/** Offsets at which lines begin. */
function lineStarts(content: string): number[] {
  const starts = [0]
  for (let at = content.indexOf('\n'); at !== -1; at = content.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}

/** By halves: a document has many lines, and many problems. */
function positionAt(lines: readonly number[], offset: number): Position {
  let [low, high] = [0, lines.length - 1]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((lines[middle] ?? 0) <= offset) low = middle
    else high = middle - 1
  }
  return { line: low + 1, column: offset - (lines[low] ?? 0) + 1 }
}
