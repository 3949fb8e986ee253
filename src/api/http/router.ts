import { isUuid } from '../../core/names.ts'
import { percentDecoded } from '../../core/percentDecoded.ts'
import { changedByRouteReason } from '../../core/unknownFieldReasons.ts'
import { METHODS, type Method, type Route } from './route.ts'
import { templateSegments } from './template.ts'

type Node = {
  readonly literals: Map<string, Node>
  parameter: Node | undefined
  /** A parameter that may hold any text, percent-encoded. */
  opaque: Node | undefined
  /** A final parameter that takes the rest of the path. */
  rest: Node | undefined
  /** Two per method only if a uuid and a word mean different things in the same place. */
  readonly routes: Map<Method, Entry[]>
}
type Entry = { readonly route: Route; readonly names: readonly string[] }

export type Match = {
  readonly route: Route
  readonly parameters: Readonly<Record<string, string>>
  /** The segments of the path as they came, but a boundary's id in lower case. */
  readonly segments: readonly string[]
}

function node(): Node {
  return { literals: new Map(), parameter: undefined, opaque: undefined, rest: undefined, routes: new Map() }
}

/**
 * Keeps the cost of hostile input constant. The longest path names a row by the longest key that an engine can index:
 * 3,072 bytes in MariaDB, each percent-encoded as three characters.
 */
export const PATH_MAX_LENGTH = 12_288
const SEGMENT_MAX_LENGTH = 512
/** Paths of documentation files may be deep; all others are far shorter. */
const SEGMENTS_MAX = 24

/**
 * Finds the route of a request by walking a tree of segments, so that the last of four hundred routes is found as fast
 * as the first. A literal segment is preferred to a parameter. Each path has one spelling: doubled or trailing slashes,
 * dot segments, other letter case and needless percent encoding match nothing. Parameters that a route declares
 * `opaque` are the exception: they hold any text, percent-encoded.
 */
export class Router {
  readonly #root = node()

  constructor(routes: readonly Route[]) {
    for (const route of routes) this.#add(route)
  }

  #add(route: Route): void {
    let at = this.#root
    const names: string[] = []
    for (const segment of templateSegments(route.path)) {
      if (segment.kind === 'literal') {
        const next = at.literals.get(segment.text) ?? node()
        at.literals.set(segment.text, next)
        at = next
      } else {
        names.push(segment.text)
        if (segment.kind === 'rest') at = at.rest ??= node()
        else if (route.opaque.includes(segment.text)) at = at.opaque ??= node()
        else at = at.parameter ??= node()
      }
    }
    const entries = at.routes.get(route.method) ?? []
    const isTaken =
      entries.length > 0 && !isIdName(names.at(-1)) && entries.some((entry) => !isIdName(entry.names.at(-1)))
    if (entries.length > 1 || isTaken) throw new TypeError(`${route.method} ${route.path} is declared twice.`)
    at.routes.set(route.method, [...entries, { route, names }])
  }

  /**
   * @param path of the request as it came, without the query
   * @returns undefined if no route has this path and method
   */
  find(method: string, path: string): Match | undefined {
    // A HEAD is a GET whose response has no body (RFC 9110 section 9.3.2).
    const wanted = METHODS.find((known) => known === (method === 'HEAD' ? 'GET' : method))
    if (wanted === undefined || path.length > PATH_MAX_LENGTH || path[0] !== '/') return undefined
    const segments = path.slice(1).split('/')
    if (segments.length > SEGMENTS_MAX) return undefined
    const values: string[] = []
    const leaf = findEntry(this.#root, wanted, segments, 0, values)
    const entry = leaf === undefined ? undefined : choose(leaf.routes.get(wanted), values)
    if (entry === undefined) return undefined
    const parameters: Record<string, string> = {}
    entry.names.forEach((name, index) => {
      const value = values[index] ?? ''
      parameters[name] = isIdName(name) ? idOf(value) : value
    })
    if (entry.names[0] === 'boundaryId') segments[1] = parameters.boundaryId ?? ''
    return { route: entry.route, parameters, segments }
  }

  /** Returns the refusal of a field that has a PUT route of its own below the path. */
  replacing(segments: readonly string[], field: string): string | undefined {
    const path = `/${segments.join('/')}/${field}`
    return this.find('PUT', path)?.route.path.endsWith(`/${field}`) ? changedByRouteReason(path) : undefined
  }
}

function isIdName(name: string | undefined): boolean {
  return name?.endsWith('Id') === true
}

/** A uuid in upper case is the same uuid (RFC 9562 section 4). */
function idOf(text: string): string {
  const lowerCase = text.toLowerCase()
  return isUuid(lowerCase) ? lowerCase : text
}

/** Of two routes in one place, the one whose parameter is an id gets the uuids. */
function choose(entries: readonly Entry[] | undefined, values: readonly string[]): Entry | undefined {
  if (entries === undefined || entries.length === 1) return entries?.[0]
  const wantsId = isUuid(idOf(values.at(-1) ?? ''))
  return entries.find((entry) => isIdName(entry.names.at(-1)) === wantsId)
}

/**
 * A literal segment without this method does not hide the parameter beside it, so that `POST …/config` is refused as
 * the bad name that it is.
 */
function findEntry(
  at: Node,
  method: Method,
  segments: readonly string[],
  index: number,
  values: string[],
): Node | undefined {
  const segment = segments[index]
  if (segment === undefined) return at.routes.has(method) ? at : undefined
  const literal = at.literals.get(segment)
  if (literal !== undefined) {
    const depth = values.length
    const found = findEntry(literal, method, segments, index + 1, values)
    if (found !== undefined) return found
    values.length = depth
  }
  const found =
    findEntryIn(at.parameter, decodeSegment, method, segments, index, values) ??
    findEntryIn(at.opaque, decodeOpaque, method, segments, index, values)
  if (found !== undefined) return found
  if (at.rest === undefined) return undefined
  const rest = segments.slice(index).map(decodeSegment)
  if (rest.includes(undefined)) return undefined
  values.push(rest.join('/'))
  return at.rest
}

function findEntryIn(
  next: Node | undefined,
  decode: (raw: string) => string | undefined,
  method: Method,
  segments: readonly string[],
  index: number,
  values: string[],
): Node | undefined {
  const value = next === undefined ? undefined : decode(segments[index] ?? '')
  if (next === undefined || value === undefined) return undefined
  const depth = values.length
  values.push(value)
  const found = findEntry(next, method, segments, index + 1, values)
  if (found === undefined) values.length = depth
  return found
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not pass.
const PLAIN_SEGMENT = /^[^%/\\\u0000-\u0020\u007f-\uffff]+$/
const FORBIDDEN_CHARACTERS = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}/\\]/u
/** Percent-encoded letters, digits, `-`, `.`, `_` and `~`: a second spelling (RFC 3986 section 6.2.2.2). */
const NEEDLESS_ENCODING = /%(4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9ae]|3[0-9]|2[de])/i

/**
 * Decodes one path segment, exactly once. Undefined if it is not canonical: empty, dots, a slash or backslash in any
 * spelling, control characters, broken UTF-8, needless encoding.
 */
export function decodeSegment(raw: string): string | undefined {
  if (raw === '' || raw === '.' || raw === '..' || raw.length > SEGMENT_MAX_LENGTH) return undefined
  if (PLAIN_SEGMENT.test(raw)) return raw
  if (NEEDLESS_ENCODING.test(raw)) return undefined
  const value = percentDecoded(raw)
  return value === undefined || FORBIDDEN_CHARACTERS.test(value) || value.normalize('NFC') !== value ? undefined : value
}

/** The output of `encodeURIComponent` and stricter encoders: URI characters, and all else as percent-encoded UTF-8. */
const ENCODED_SEGMENT = /^(?:[!$&'()*+,;=:@\w.~-]|%[0-9a-f]{2})*$/i

/**
 * Decodes a segment that may hold any text: empty, dots, slashes, control characters, decomposed letters, in any
 * encoding. Undefined if it does not encode text.
 */
function decodeOpaque(raw: string): string | undefined {
  return ENCODED_SEGMENT.test(raw) ? percentDecoded(raw) : undefined
}

/** Whether people choose the value. The platform makes ids, tokens and numbers, which never equal a literal. */
function isNamePlace(parameter: string): boolean {
  return !isIdName(parameter) && !['token', 'version', 'number', 'resourceUid'].includes(parameter)
}

/**
 * Returns the names that no resource may have: every literal segment beside a parameter, because such a name would be
 * read as the literal, and every resource segment, which shares its place with `{resourceName}`.
 */
export function reservedNamesOf(routes: readonly Route[]): string[] {
  const literals = new Map<string, Set<string>>()
  const places = new Set<string>()
  for (const { path } of routes) {
    let prefix = ''
    for (const segment of templateSegments(path)) {
      if (segment.kind === 'literal') literals.set(prefix, (literals.get(prefix) ?? new Set()).add(segment.text))
      else if (isNamePlace(segment.text)) places.add(prefix)
      prefix += segment.kind === 'literal' ? `/${segment.text}` : '/{}'
    }
  }
  const names = [...places].flatMap((place) => [...(literals.get(place) ?? [])])
  return [...new Set([...names, 'validate'])].filter((name) => /^[a-z0-9-]{1,52}$/.test(name)).sort()
}
