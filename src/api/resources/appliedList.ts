import { compareQuantities } from '../../core/quantity.ts'
import { compareSortableTexts, compareTexts, type SortableText, sortableText } from '../../core/textOrder.ts'
import type { PaginationMeta } from './dto.ts'
import {
  type FieldType,
  type FieldValue,
  type Filter,
  foldedWord,
  type ListField,
  type ListRequest,
  type ListShape,
  ownValue,
  parseDateTime,
  sortField,
  TAGS_PREFIX,
} from './paging.ts'

/** Filters, searches, sorts and pages rows. The order is total: sort field, name, id; null comes last. */
export function applyListRequest<Row>(
  rows: readonly Row[],
  request: ListRequest,
  shape: ListShape<Row>,
): { rows: Row[]; pagination: PaginationMeta } {
  const tests = request.filters.map((filter) => compileFilter(filter, shape))
  if (request.search !== undefined) tests.push(compileSearch(request.search, shape))
  const kept = tests.length === 0 ? rows : rows.filter((row) => tests.every((test) => test(row)))
  const { start, end, pagination } = cutPage(kept.length, request)
  const sorted = start < kept.length ? sortRows(kept, request.sort, shape) : []
  return { rows: sorted.slice(start, end), pagination }
}

/** Returns which rows of a list of this length are on the page. */
export function cutPage(
  totalItems: number,
  { page, pageSize }: Pick<ListRequest, 'page' | 'pageSize'>,
): { start: number; end: number; pagination: PaginationMeta } {
  const start = (page - 1) * pageSize
  const totalPages = Math.ceil(totalItems / pageSize)
  const [hasNextPage, hasPreviousPage] = [page < totalPages, page > 1 && totalPages > 0]
  const pagination = { hasNextPage, hasPreviousPage, page, pageSize, totalItems, totalPages }
  return { start, end: start + pageSize, pagination }
}

function readField<Row>(row: Row, name: string, field: ListField<Row> | undefined): FieldValue {
  if (field === undefined) return undefined
  return field.of === undefined ? (row as Record<string, FieldValue>)[name] : field.of(row)
}

type Test<Row> = (row: Row) => boolean

function compileFilter<Row>(filter: Filter, shape: ListShape<Row>): Test<Row> {
  const tag =
    filter.field.startsWith(TAGS_PREFIX) && shape.tagsOf !== undefined
      ? filter.field.slice(TAGS_PREFIX.length)
      : undefined
  const field = ownValue(shape.fields, filter.field)
  const read = (row: Row): FieldValue =>
    tag === undefined ? readField(row, filter.field, field) : ownValue(shape.tagsOf?.(row) ?? {}, tag)
  const type = tag === undefined ? (field?.type ?? 'text') : 'text'
  const test = compileTest(filter, type)
  return (row) => test(read(row) ?? null)
}

function compileTest(
  { operator, values }: Filter,
  type: FieldType,
): (value: Exclude<FieldValue, undefined>) => boolean {
  const [first = ''] = values
  const wanted = first.toLowerCase()
  const equals = (text: string) => (value: Exclude<FieldValue, undefined>) =>
    value !== null && compare(type, value, text) === 0
  switch (operator) {
    case 'exists':
      return (value) => (value !== null) === (first === 'true')
    case 'eq':
      return equals(first)
    case 'ne':
      return (value) => !equals(first)(value)
    case 'in':
      return (value) => values.some((text) => equals(text)(value))
    case 'contains':
      return (value) => typeof value === 'string' && value.toLowerCase().includes(wanted)
    case 'startsWith':
      return (value) => typeof value === 'string' && value.toLowerCase().startsWith(wanted)
    case 'gt':
      return (value) => value !== null && compare(type, value, first) > 0
    case 'ge':
      return (value) => value !== null && compare(type, value, first) >= 0
    case 'lt':
      return (value) => value !== null && compare(type, value, first) < 0
    case 'le':
      return (value) => value !== null && compare(type, value, first) <= 0
  }
}

/** Compares a value with the text of a checked filter value, or of another value. */
function compare(type: FieldType, value: string | number | boolean, text: string | number | boolean): number {
  switch (type) {
    case 'number':
      return Number(value) - Number(text)
    case 'dateTime':
      return (parseDateTime(String(value)) ?? 0) - (parseDateTime(String(text)) ?? 0)
    case 'quantity':
      return compareQuantities(String(value), String(text))
    case 'enumeration':
      return compareTexts(foldedWord(String(value)), foldedWord(String(text)))
    default:
      return compareTexts(String(value), String(text))
  }
}

function compileSearch<Row>(search: string, shape: ListShape<Row>): Test<Row> {
  const fields = Object.entries(shape.fields).filter(([, field]) => field.isSearched === true)
  const holds = (value: FieldValue) => typeof value === 'string' && value.toLowerCase().includes(search)
  return (row) =>
    fields.some(([name, field]) => holds(readField(row, name, field))) ||
    Object.values(shape.tagsOf?.(row) ?? {}).some((value) => holds(value))
}

type KeyedRow<Row> = {
  readonly row: Row
  readonly key: Exclude<FieldValue, undefined> | SortableText
  readonly name: SortableText
}

export function sortRows<Row>(rows: readonly Row[], sort: string, shape: ListShape<Row>): Row[] {
  const sign = sort.startsWith('-') ? -1 : 1
  const name = sort.replace(/^-/, '')
  const field = sortField(sort, shape)
  const type = field?.type ?? 'text'
  const keyOf = (row: Row): KeyedRow<Row>['key'] => {
    const value = readField(row, name, field) ?? null
    return type === 'text' && value !== null ? sortableText(String(value)) : value
  }
  const keyed = rows.map((row): KeyedRow<Row> => ({ row, key: keyOf(row), name: sortableText(shape.nameOf(row)) }))
  keyed.sort((a, b) => {
    const nulls = Number(a.key === null) - Number(b.key === null)
    if (nulls !== 0) return nulls
    const difference = a.key === null ? 0 : sign * compareKeys(type, a.key, b.key)
    return difference || compareSortableTexts(a.name, b.name) || compareTexts(shape.idOf(a.row), shape.idOf(b.row))
  })
  return keyed.map(({ row }) => row)
}

function compareKeys(type: FieldType, one: KeyedRow<never>['key'], other: KeyedRow<never>['key']): number {
  if (typeof one === 'object') return compareSortableTexts(one as SortableText, other as SortableText)
  return compare(type, one, other as string)
}
