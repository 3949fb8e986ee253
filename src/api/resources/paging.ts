import { isQuantity } from '../../core/quantity.ts'
import { isTagKey } from '../../crds/tags.ts'
import type { EntryNames } from '../http/streams/listState.ts'
import { badParameter, type QueryFaults } from './queryFaults.ts'

/** How a field of a list compares, and which operators it takes. */
export type FieldType = 'text' | 'enumeration' | 'number' | 'boolean' | 'dateTime' | 'quantity'
export type FieldValue = string | number | boolean | null | undefined

export type ListField<Row> = {
  readonly title: string
  readonly type: FieldType
  /** The row's own field of that name if absent. */
  readonly of?: (row: Row) => FieldValue
  /** The values of an enumeration; absent if others choose them. */
  readonly values?: readonly string[]
  /** This one and the next three are true by default, except `isSearched`. */
  readonly isFiltered?: boolean
  readonly isSorted?: boolean
  readonly isSearched?: boolean
  readonly isShown?: boolean
  /** False for a filter or order that is no field of the record under this name. */
  readonly isColumn?: boolean
  /** False by default. The value follows from the object alone, so an order by it holds until an object changes. */
  readonly isOfObject?: boolean
}

/** The sort and filter options of a list; the parser, the list and its `config` route all use them. */
export type ListShape<Row> = {
  readonly fields: Readonly<Record<string, ListField<Row>>>
  /** A field, with a leading `-` for descending. */
  readonly defaultSort: string
  /** The last two keys of the total order. */
  readonly nameOf: (row: Row) => string
  readonly idOf: (row: Row) => string
  /** Id and name as the record shows them, if the order uses other texts, and further names if there are any. */
  readonly namesOf?: (row: Row) => EntryNames
  /** Makes `tags.<key>` a filter, and tag values part of the search. */
  readonly tagsOf?: (row: Row) => Readonly<Record<string, string>>
  /** Another query parameter for the page size of the first page. */
  readonly limitName?: 'limit' | 'take' | 'max'
  /** The largest value of `limitName`; the largest page size if absent. */
  readonly limitMax?: number
  readonly pageSizeDefault?: number
}

type Options<Row> = Omit<ListField<Row>, 'title' | 'type' | 'values'>
const field =
  (type: FieldType) =>
  <Row>(title: string, options: Options<Row> = {}): ListField<Row> => ({ title, type, ...options })
export const text = field('text')
export const number = field('number')
/** A boolean field: it can be filtered, but not sorted by. */
export const flag = <Row>(title: string, options: Options<Row> = {}): ListField<Row> =>
  field('boolean')(title, { isSorted: false, ...options })
export const dateTime = field('dateTime')
export const quantity = field('quantity')
export const enumeration = <Row>(
  title: string,
  values?: readonly string[],
  options: Options<Row> = {},
): ListField<Row> => ({ title, type: 'enumeration', ...(values && { values }), ...options })

export const OPERATORS = ['eq', 'ne', 'in', 'contains', 'startsWith', 'gt', 'ge', 'lt', 'le', 'exists'] as const
export type Operator = (typeof OPERATORS)[number]

export type Filter = { readonly field: string; readonly operator: Operator; readonly values: readonly string[] }
export type ListRequest = {
  readonly page: number
  readonly pageSize: number
  readonly search: string | undefined
  readonly sort: string
  readonly filters: readonly Filter[]
}

export const PAGE_SIZE_DEFAULT = 50
export const PAGE_SIZE_MAX = 500
export const PAGE_MAX = 1_000_000_000
/** A followed list has all its records on one page. */
export const WHOLE_PAGE = { page: 1, pageSize: Number.MAX_SAFE_INTEGER }
export const SEARCH_MAX_LENGTH = 128
export const FILTERS_MAX = 20
export const FILTER_MAX_LENGTH = 2048
const IN_MAX = 100

/** Query names that every list takes; `filter` may repeat. */
export const LIST_QUERY_NAMES = ['page', 'pageSize', 'search', 'sort', 'filter'] as const

const TEXT_OPERATORS: readonly Operator[] = ['eq', 'ne', 'in', 'contains', 'startsWith', 'exists']
const ORDER_OPERATORS: readonly Operator[] = ['eq', 'ne', 'in', 'gt', 'ge', 'lt', 'le', 'exists']
const OPERATORS_OF: Record<FieldType, readonly Operator[]> = {
  text: TEXT_OPERATORS,
  enumeration: ['eq', 'ne', 'in', 'exists'],
  number: ORDER_OPERATORS,
  boolean: ['eq', 'ne', 'exists'],
  dateTime: ORDER_OPERATORS,
  quantity: ORDER_OPERATORS,
}

export function operatorsOf(type: FieldType): readonly Operator[] {
  return OPERATORS_OF[type]
}

type Query = Readonly<Record<string, readonly string[]>>

/** Reads the list part of a query (records: lists). Ignores names that the route declares itself. Adds to `faults`. */
export function parseListRequest<Row>(query: Query, shape: ListShape<Row>, faults: QueryFaults): ListRequest {
  const { limitName, limitMax = PAGE_SIZE_MAX, pageSizeDefault: sizeDefault = PAGE_SIZE_DEFAULT } = shape
  const whole = (name: string, fallback: number, max: number) =>
    faults.read(() => integer(name, single(query, name), fallback, max), fallback)
  const isLimited = limitName !== undefined && query[limitName] !== undefined
  return {
    pageSize: isLimited ? whole(limitName, sizeDefault, limitMax) : whole('pageSize', sizeDefault, PAGE_SIZE_MAX),
    page: isLimited ? 1 : whole('page', 1, PAGE_MAX),
    search: faults.read(() => parseSearch(single(query, 'search')), undefined),
    sort: faults.read(() => parseSort(single(query, 'sort'), shape), shape.defaultSort),
    filters: parseFilters(query.filter ?? [], shape, faults),
  }
}

function single(query: Query, name: string): string | undefined {
  const values = query[name]
  if (values !== undefined && values.length > 1)
    throw badParameter(name, `The query parameter ${name} may be given only once.`)
  return values?.[0]
}

function integer(name: string, text: string | undefined, fallback: number, max: number): number {
  if (text === undefined) return fallback
  const value = /^[0-9]{1,10}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= 1 && value <= max)) throw badParameter(name, `${name} must be a whole number from 1 to ${max}.`)
  return value
}

function parseSearch(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  if (text === '' || isLongerThan(SEARCH_MAX_LENGTH, text)) {
    throw badParameter('search', `search must have 1 to ${SEARCH_MAX_LENGTH} characters.`)
  }
  return text.toLowerCase()
}

/** In code points, as schemas count: an emoji has two code units. */
const isLongerThan = (length: number, text: string) => text.length > length && [...text].length > length

function parseSort<Row>(text: string | undefined, shape: ListShape<Row>): string {
  if (text === undefined) return shape.defaultSort
  const field = sortField(text, shape)
  if (field === undefined || field.isSorted === false) {
    const known = sortsOf(shape)
    const wrong = `This list cannot be sorted by "${text.slice(0, SHOWN_CHARACTERS_MAX)}"`
    throw badParameter('sort', `${wrong}; use one of ${known.join(', ')}, with a leading - to reverse the order.`)
  }
  return text
}

export function ownValue<Value>(record: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined
}

export function sortField<Row>(sort: string, shape: ListShape<Row>): ListField<Row> | undefined {
  return ownValue(shape.fields, sort.replace(/^-/, ''))
}

export function sortsOf<Row>(shape: ListShape<Row>): string[] {
  return Object.entries(shape.fields).flatMap(([name, field]) => (field.isSorted === false ? [] : [name]))
}

export function filtersOf<Row>(shape: ListShape<Row>): string[] {
  const names = Object.entries(shape.fields).flatMap(([name, field]) => (field.isFiltered === false ? [] : [name]))
  return shape.tagsOf === undefined ? names : [...names, 'tags.*']
}

function parseFilters<Row>(texts: readonly string[], shape: ListShape<Row>, faults: QueryFaults): Filter[] {
  if (texts.length > FILTERS_MAX) faults.add('filter', `At most ${FILTERS_MAX} filters may be given.`)
  return texts.slice(0, FILTERS_MAX).flatMap((text) => faults.read(() => [parseFilter(text, shape)], []))
}

/** How many characters of the input a refusal repeats. */
const SHOWN_CHARACTERS_MAX = 64

/** The key of a tag may contain colons: it ends where an operator follows. */
const TAG_FILTER = new RegExp(`^(tags\\..{1,128}?):(${OPERATORS.join('|')}):([\\s\\S]*)$`)

function parseFilter<Row>(text: string, shape: ListShape<Row>): Filter {
  if (isLongerThan(FILTER_MAX_LENGTH, text))
    throw badParameter('filter', `A filter has at most ${FILTER_MAX_LENGTH} characters.`)
  const match = TAG_FILTER.exec(text) ?? /^([^:]+):([^:]*):([\s\S]*)$/.exec(text)
  const [, field = '', word = '', value = ''] = match ?? []
  if (match === null) throw badParameter('filter', `A filter has the form field:operator:value.`)
  const operator = OPERATORS.find((name) => name === word)
  if (operator === undefined)
    throw badParameter('filter', `"${word}" is not an operator; use one of ${OPERATORS.join(', ')}.`)
  const type = typeOfField(field, shape)
  if (type === undefined) {
    const wrong = `This list cannot be filtered by "${field.slice(0, SHOWN_CHARACTERS_MAX)}"`
    throw badParameter('filter', `${wrong}; use one of ${filtersOf(shape).join(', ')}.`)
  }
  if (!OPERATORS_OF[type].includes(operator)) {
    throw badParameter('filter', `${field} takes the operators ${OPERATORS_OF[type].join(', ')}.`)
  }
  const values = operator === 'in' ? splitList(value) : [value]
  if (values.length > IN_MAX) throw badParameter('filter', `in takes at most ${IN_MAX} values.`)
  for (const item of values) checkValue(field, type, operator, item, ownValue(shape.fields, field)?.values)
  return { field, operator, values }
}

export const TAGS_PREFIX = 'tags.'

function typeOfField<Row>(name: string, shape: ListShape<Row>): FieldType | undefined {
  if (name.startsWith(TAGS_PREFIX) && shape.tagsOf !== undefined)
    return isTagKey(name.slice(TAGS_PREFIX.length)) ? 'text' : undefined
  const field = ownValue(shape.fields, name)
  return field === undefined || field.isFiltered === false ? undefined : field.type
}

/** Folds a word of an enumeration: neither case nor spaces count, as the interface shows "Awaiting login". */
export function foldedWord(text: string): string {
  return text.replaceAll(' ', '').toLowerCase()
}

/** Splits at commas; `\,` is a comma. */
export function splitList(text: string): string[] {
  const items: string[] = ['']
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index] ?? ''
    if (character === '\\' && text[index + 1] === ',') {
      items[items.length - 1] += ','
      index += 1
    } else if (character === ',') items.push('')
    else items[items.length - 1] += character
  }
  return items
}

const RFC_3339 = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$/

/** Milliseconds of an RFC 3339 date and time; undefined for anything else, the 30th of February included. */
export function parseDateTime(text: string): number | undefined {
  if (!RFC_3339.test(text)) return undefined
  const time = Date.parse(text)
  if (Number.isNaN(time)) return undefined
  // Date.parse rolls over days that the month does not have.
  const [year = 0, month = 0, day = 0] = text.slice(0, 10).split('-').map(Number)
  return day <= new Date(Date.UTC(year, month, 0)).getUTCDate() ? time : undefined
}

function checkValue(
  field: string,
  type: FieldType,
  operator: Operator,
  value: string,
  values: readonly string[] | undefined,
): void {
  const bad = (what: string) => badParameter('filter', `The value for ${field} must be ${what}.`)
  if (operator === 'exists' || type === 'boolean') {
    if (value !== 'true' && value !== 'false') throw bad('true or false')
  } else if (type === 'number') {
    if (!/^-?[0-9]{1,15}(\.[0-9]{1,9})?$/.test(value)) throw bad('a number')
  } else if (type === 'dateTime') {
    if (parseDateTime(value) === undefined) throw bad('a date and time of RFC 3339')
  } else if (type === 'quantity') {
    if (!isQuantity(value)) throw bad('a Kubernetes quantity')
  } else if (type === 'enumeration' && values !== undefined) {
    if (!values.some((known) => foldedWord(known) === foldedWord(value))) throw bad(`one of ${values.join(', ')}`)
  }
}
