import { type Column, keyColumns, type Table } from './catalogue.ts'
import type { Dialect } from './dialect.ts'
import {
  comparedExpression,
  parameterPlaceholder,
  sentValue,
  shownExpression,
  storedExpression,
} from './expressions.ts'
import { quoteIdentifier, quoteTable } from './names.ts'
import type { BoundValue } from './values.ts'

/** A statement and its parameters. Identifiers are quoted catalogue names; other input is in parameters. */
export type SqlCommand = { text: string; values: BoundValue[] }
export type BoundValues = ReadonlyMap<Column, BoundValue>
export type Filter = { column: Column; operator: string; values: readonly BoundValue[] }
export type Page = {
  limit: number
  offset: number
  filters: readonly Filter[]
  sort: { column: Column; isDescending: boolean } | undefined
}

const COMPARISONS: Readonly<Record<string, string>> = { eq: '=', ne: '<>', gt: '>', ge: '>=', lt: '<', le: '<=' }

/** Collects values while expressions are written, so that placeholders and values always match. */
class Writer {
  readonly values: BoundValue[] = []
  readonly dialect: Dialect

  constructor(dialect: Dialect) {
    this.dialect = dialect
  }

  stored(column: Column, value: BoundValue): string {
    this.values.push(sentValue(this.dialect, column, value))
    return storedExpression(this.dialect, column, value, this.values.length)
  }

  compared(column: Column, value: BoundValue): string {
    this.values.push(sentValue(this.dialect, column, value))
    return comparedExpression(this.dialect, column, value, this.values.length)
  }

  raw(value: string): string {
    this.values.push(value)
    return parameterPlaceholder(this.dialect, this.values.length)
  }

  command(text: string): SqlCommand {
    return { text, values: this.values }
  }
}

function shownList(dialect: Dialect, table: Table): string {
  return table.columns.map((column) => shownExpression(dialect, column)).join(', ')
}

/** Selects one row more than the page, which tells whether there is a next page. */
export function selectPage(dialect: Dialect, table: Table, page: Page): SqlCommand {
  const writer = new Writer(dialect)
  const where = whereFilters(writer, page.filters)
  const order = orderOf(dialect, table, page.sort)
  const [limit, offset] = [page.limit + 1, page.offset].map((number) => String(Math.trunc(number)))
  const window =
    dialect === 'mssql' ? `OFFSET ${offset} ROWS FETCH NEXT ${limit} ROWS ONLY` : `LIMIT ${limit} OFFSET ${offset}`
  return writer.command(
    `SELECT ${shownList(dialect, table)} FROM ${quoteTable(dialect, table)}${where} ORDER BY ${order} ${window}`,
  )
}

export function countRows(dialect: Dialect, table: Table, filters: readonly Filter[]): SqlCommand {
  const writer = new Writer(dialect)
  return writer.command(`SELECT COUNT(*) FROM ${quoteTable(dialect, table)}${whereFilters(writer, filters)}`)
}

/** Every order ends with the key, or else with all columns, so that pages neither overlap nor have gaps. */
function orderOf(dialect: Dialect, table: Table, sort: Page['sort']): string {
  const remaining =
    table.primaryKey.length > 0 ? keyColumns(table) : table.columns.filter(({ encoding }) => encoding !== 'wkt')
  const sortTerms = sort === undefined ? [] : [`${ordered(dialect, sort.column)}${sort.isDescending ? ' DESC' : ''}`]
  const order = [
    ...sortTerms,
    ...remaining.filter((column) => column !== sort?.column).map((column) => ordered(dialect, column)),
  ]
  return order.length > 0 ? order.join(', ') : '1'
}

/** Types without an ordering are ordered by their text. */
function ordered(dialect: Dialect, column: Column): string {
  const { encoding, dataType, name } = column
  const isOrderless = encoding === 'json' || (encoding === 'text' && !/char|text$/.test(dataType))
  return isOrderless || (dialect === 'mssql' && /^(n?text|image)$/.test(dataType))
    ? textOf(dialect, column)
    : quoteIdentifier(dialect, name)
}

/** MariaDB converts to text implicitly. */
function textOf(dialect: Dialect, column: Column): string {
  const name = quoteIdentifier(dialect, column.name)
  if (dialect === 'postgresql') return `${name}::text`
  return dialect === 'mssql' ? `CONVERT(nvarchar(max), ${name})` : name
}

function whereFilters(writer: Writer, filters: readonly Filter[]): string {
  const conditions = filters.map((filter) => filterTerm(writer, filter))
  return conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`
}

/** Types whose values the engine cannot compare, so their texts are compared. */
const INCOMPARABLE: Readonly<Partial<Record<Dialect, RegExp>>> = {
  postgresql: /^(json|xml|point|line|path|polygon|box)$/,
  mssql: /^(xml|n?text)$/,
}

function filterTerm(writer: Writer, { column, operator, values }: Filter): string {
  const { dialect } = writer
  const name = quoteIdentifier(dialect, column.name)
  const [value = null] = values
  if (operator === 'exists') return `${name} IS NOT NULL`
  if (operator === 'missing') return `${name} IS NULL`
  const isText = INCOMPARABLE[dialect]?.test(column.dataType) === true
  if (operator === 'contains' || operator === 'startsWith') {
    const text = isText || dialect === 'postgresql' ? textOf(dialect, column) : name
    const pattern = String(value).replace(/[!%_[]/g, '!$&')
    const at = writer.raw(operator === 'contains' ? `%${pattern}%` : `${pattern}%`)
    return `LOWER(${text}) LIKE LOWER(${at}) ESCAPE '!'`
  }
  const operand = (each: BoundValue) => (isText ? writer.raw(String(each)) : writer.compared(column, each))
  const expression = isText ? textOf(dialect, column) : name
  if (operator === 'in') return `${expression} IN (${values.map(operand).join(', ')})`
  return `${expression} ${COMPARISONS[operator] ?? '='} ${operand(value)}`
}

function whereKey(writer: Writer, key: BoundValues): string {
  const conditions = [...key].map(
    ([column, value]) => `${quoteIdentifier(writer.dialect, column.name)} = ${writer.compared(column, value)}`,
  )
  return conditions.join(' AND ')
}

export function selectByKey(dialect: Dialect, table: Table, key: BoundValues, isLocking: boolean): SqlCommand {
  const writer = new Writer(dialect)
  const hint = dialect === 'mssql' && isLocking ? ' WITH (UPDLOCK, ROWLOCK)' : ''
  const lock = dialect !== 'mssql' && isLocking ? ' FOR UPDATE' : ''
  return writer.command(
    `SELECT ${shownList(dialect, table)} FROM ${quoteTable(dialect, table)}${hint} WHERE ${whereKey(writer, key)}${lock}`,
  )
}

/** Returns the stored row, including values that the engine filled in. */
export function insertRow(dialect: Dialect, table: Table, values: BoundValues): SqlCommand {
  const writer = new Writer(dialect)
  const names = [...values.keys()].map(({ name }) => quoteIdentifier(dialect, name)).join(', ')
  const placeholders = [...values].map(([column, value]) => writer.stored(column, value)).join(', ')
  const isEmpty = values.size === 0
  const head = `INSERT INTO ${quoteTable(dialect, table)}`
  const columns = shownList(dialect, table)
  if (dialect === 'mssql') {
    const output = ` OUTPUT ${table.columns.map((column) => insertedExpression(column)).join(', ')}`
    return writer.command(
      `${head}${isEmpty ? '' : ` (${names})`}${output} ${isEmpty ? 'DEFAULT VALUES' : `VALUES (${placeholders})`}`,
    )
  }
  const body = isEmpty && dialect === 'postgresql' ? 'DEFAULT VALUES' : `(${names}) VALUES (${placeholders})`
  return writer.command(`${head} ${body} RETURNING ${columns}`)
}

function insertedExpression(column: Column): string {
  const name = quoteIdentifier('mssql', column.name)
  return shownExpression('mssql', column)
    .replaceAll(name, () => `INSERTED.${name}`)
    .replace(/ AS INSERTED\.(?=\[[^\]]*(?:\]\][^\]]*)*\]$)/, ' AS ')
}

export function updateRow(dialect: Dialect, table: Table, key: BoundValues, values: BoundValues): SqlCommand {
  const writer = new Writer(dialect)
  const sets = [...values].map(
    ([column, value]) => `${quoteIdentifier(dialect, column.name)} = ${writer.stored(column, value)}`,
  )
  return writer.command(`UPDATE ${quoteTable(dialect, table)} SET ${sets.join(', ')} WHERE ${whereKey(writer, key)}`)
}

export function deleteRow(dialect: Dialect, table: Table, key: BoundValues): SqlCommand {
  const writer = new Writer(dialect)
  return writer.command(`DELETE FROM ${quoteTable(dialect, table)} WHERE ${whereKey(writer, key)}`)
}
