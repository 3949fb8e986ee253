import { z } from 'zod'
import { describeIssue, withoutWiderBounds } from '../../core/schemaIssues.ts'
import { LIST_QUERY_NAMES, type ListRequest, parseListRequest, WHOLE_PAGE } from '../resources/paging.ts'
import { badParameter, QueryFaults } from '../resources/queryFaults.ts'
import { safeParseModel } from './model.ts'
import type { Route } from './route.ts'

const QUERY_MAX_LENGTH = 8192
/** As many as the longest list of a parameter may have, and the other parameters of its route. */
const PARAMETERS_MAX = 128
const EMPTY_LIST: ListRequest = { page: 1, pageSize: 1, search: undefined, sort: '', filters: [] }

/** A boolean query parameter. */
export const Flag = z.enum(['true', 'false']).transform((value) => value === 'true')

/** A whole number as a query parameter, in decimal digits: `1e3`, `0x10` and the empty text are refused. */
export const WholeNumber = (min: number, max = Number.MAX_SAFE_INTEGER) =>
  z.preprocess(
    (value) => (typeof value === 'string' && /^-?\d{1,16}$/.test(value) ? Number(value) : value),
    z.int().min(min).max(max),
  )

type RawQuery = Record<string, string[]>

/** Parses a query string strictly: broken percent encoding is refused, not guessed. */
function readQuery(text: string): RawQuery {
  const raw: RawQuery = Object.create(null) as RawQuery
  if (text === '') return raw
  if (text.length > QUERY_MAX_LENGTH) throw badParameter('', `The query is longer than ${QUERY_MAX_LENGTH} characters.`)
  const pairs = text.split('&')
  if (pairs.length > PARAMETERS_MAX) throw badParameter('', `The query has more than ${PARAMETERS_MAX} parameters.`)
  for (const pair of pairs) {
    if (pair === '') continue
    const [name, ...value] = pair.split('=')
    const key = decode(name ?? '', name ?? '')
    const values = raw[key] ?? []
    values.push(decode(value.join('='), key))
    raw[key] = values
  }
  return raw
}

function decode(text: string, parameter: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw badParameter(parameter.slice(0, 64), 'The query is not correctly encoded.')
  }
}

/**
 * Reads the query of a request as its route declares it.
 *
 * @throws PlatformError BAD_REQUEST with `parameter`, for unknown names too, and with every fault in `errors`
 */
export function parseQuery(route: Route, text: string, isFollowed = false): { query: unknown; list: ListRequest } {
  if (text === '' && route.query === undefined && route.list === undefined)
    return { query: undefined, list: EMPTY_LIST }
  const raw = readQuery(text)
  const faults = new QueryFaults()
  const list = route.list === undefined ? EMPTY_LIST : parseListRequest(raw, route.list, faults)
  const own: Record<string, unknown> = {}
  for (const [name, values] of Object.entries(raw)) {
    const isDeclared = route.query !== undefined && Object.hasOwn(route.query.shape, name)
    if (isDeclared) {
      const isRepeatable = acceptsList(route.query?.shape[name])
      if (values.length > 1 && !isRepeatable) faults.add(name, `The query parameter ${name} may be given only once.`)
      own[name] = isRepeatable ? values : values[0]
    } else if (!isListName(route, name) && !route.ignoresUnknownQuery) {
      faults.add(name.slice(0, 64), `This route has no query parameter "${name.slice(0, 64)}".`)
    }
  }
  const query = readOwn(route, own, faults)
  if (isFollowed) refusePages(route, raw, faults)
  faults.refuse()
  return { query, list: isFollowed ? { ...list, ...WHOLE_PAGE } : list }
}

function refusePages({ list }: Route, raw: RawQuery, faults: QueryFaults): void {
  for (const name of ['page', 'pageSize', list?.limitName]) {
    if (name === undefined || raw[name] === undefined) continue
    faults.add(name, `A list that is followed has no pages: leave ${name} out.`)
  }
}

const ACCEPTS_LIST = new WeakMap<object, boolean>()

/** Cached for each parameter: a schema that accepts a list accepts an empty one. */
function acceptsList(schema: z.core.$ZodType | undefined): boolean {
  if (schema === undefined) return false
  const known = ACCEPTS_LIST.get(schema)
  if (known !== undefined) return known
  const takes = z.safeParse(schema, []).success
  ACCEPTS_LIST.set(schema, takes)
  return takes
}

function isListName(route: Route, name: string): boolean {
  if (route.list === undefined) return false
  return LIST_QUERY_NAMES.some((known) => known === name) || route.list.limitName === name
}

function readOwn(route: Route, own: Record<string, unknown>, faults: QueryFaults): unknown {
  if (route.query === undefined) return undefined
  const result = safeParseModel(route.query, own)
  if (result.success) return result.data
  for (const issue of withoutWiderBounds(result.error.issues)) {
    const parameter = String(issue.path[0] ?? '')
    if (!faults.has(parameter))
      faults.add(parameter, `The query parameter ${parameter} is not valid: ${describeIssue(issue)}.`)
  }
  return undefined
}
