import { type Row, type RowChange, SqlFault } from '../../../adapters/sql/port.ts'
import { PlatformError } from '../../../core/errors.ts'
import { type Column, findColumn, findTable, keyColumns, singleKey, type Table } from '../../../editor/catalogue.ts'
import type { SqlLevel } from '../../../editor/classification.ts'
import { type BoundValue, bindKeyText, bindValue } from '../../../editor/values.ts'
import type { Context } from '../../http/context.ts'
import type { EditorRow } from './dto.ts'
import { type EditorDatabase, type EditorEngine, hasSqlLevel, rowDto, translateSqlError } from './editorDatabase.ts'
import { filterOf, sortOf } from './filters.ts'

type Values = Record<string, unknown>

/** Returns the table of the path, as the login of that level sees it. */
export async function tableOf(context: Context, editorEngine: EditorEngine, level: SqlLevel): Promise<Table> {
  const { schema = '', table = '' } = context.parameters
  try {
    return findTable(await editorEngine.engine.catalogue(editorEngine.target(level)), schema, table)
  } catch (error) {
    throw translateSqlError(error)
  }
}

export function columnDto({ fullType: _fullType, ...column }: Column) {
  return column
}

/** Returns one page of rows in key order (interface section 4.5). */
export async function rowPage(
  context: Context,
  place: EditorEngine,
  query: { limit: number; offset: number; filter: readonly string[]; sort?: string | undefined },
) {
  const table = await tableOf(context, place, 'reader')
  const { limit, offset } = query
  const filters = query.filter.map((text) => filterOf(table, text))
  const sort = query.sort === undefined ? undefined : sortOf(table, query.sort)
  try {
    const request = { table, limit, offset, filters, sort }
    const { rows, hasMore, totalRows } = await place.engine.rows(place.target('reader'), request, {
      signal: context.whilePermitted,
      onBytes: (bytes) => context.owe(bytes),
    })
    return {
      columns: table.columns.map(columnDto),
      rows: rows.map((row) => rowDto(table, row)),
      primaryKey: [...table.primaryKey],
      limit,
      offset,
      totalRows,
      hasMore,
    }
  } catch (error) {
    throw translateSqlError(error, table)
  }
}

/**
 * Changes rows in the table of the path, all or none. Callers who may write but not read get back only the values they
 * sent and the key, without a version, which would confirm guesses of the other values.
 */
export async function changeRows(
  context: Context,
  database: EditorDatabase,
  changesOf: (table: Table) => RowChange[],
): Promise<(EditorRow | undefined)[]> {
  const place = await database.open()
  const isReader = hasSqlLevel(context, database, 'reader')
  const table = await tableOf(context, place, 'writer')
  try {
    const changes = changesOf(table)
    if (!isReader && changes.some((change) => change.kind !== 'insert' && change.ifVersion !== undefined)) {
      const needed = database.actionOf('reader')
      throw new PlatformError('FORBIDDEN', `To compare versions of rows needs the permission ${needed}.`, {
        action: needed,
      })
    }
    const rows = await place.engine.change(place.target('writer'), table, changes, {
      signal: context.whilePermitted,
      onBytes: (bytes) => context.owe(bytes),
    })
    return rows.map((row, index) => {
      if (row === undefined) return undefined
      return isReader ? rowDto(table, row) : changedRow(table, row, changes[index])
    })
  } catch (error) {
    throw translateSqlError(error, table)
  }
}

function changedRow(table: Table, row: Row, change: RowChange | undefined): EditorRow {
  const sent = change === undefined || change.kind === 'delete' ? [] : [...change.values.keys()]
  const shown = new Set([...table.primaryKey, ...sent.map(({ name }) => name)])
  const values = Object.entries(rowDto(table, row).values).filter(([name]) => shown.has(name))
  return { values: Object.fromEntries(values), version: '' }
}

/** @throws SqlFault UnknownColumn, ColumnNotWritable, InvalidValue */
export function writtenValues(table: Table, values: Values): Map<Column, BoundValue> {
  const boundValues = new Map<Column, BoundValue>()
  for (const [name, value] of Object.entries(values)) {
    const column = findColumn(table, name)
    if (column.isComputed)
      throw new SqlFault('ColumnNotWritable', `The engine generates the value of "${name}".`, { column: name })
    boundValues.set(column, bindValue(column, value))
  }
  if (table.type === 'View')
    throw new SqlFault('NoPrimaryKey', `"${table.name}" is a view, so its rows cannot be addressed.`)
  return boundValues
}

/** Returns the key: all its columns and no others. @throws SqlFault NoPrimaryKey, UnknownColumn, InvalidValue */
export function parseRowKey(table: Table, values: Values): Map<Column, BoundValue> {
  const columns = keyColumns(table)
  for (const name of Object.keys(values)) findColumn(table, name)
  const unknownColumn = Object.keys(values).find((name) => !columns.some((column) => column.name === name))
  const missing = columns.find(({ name }) => !Object.hasOwn(values, name) || values[name] === null)
  const invalidColumn = unknownColumn ?? missing?.name
  if (invalidColumn !== undefined)
    throw new SqlFault('InvalidValue', `The key of "${table.name}" is ${table.primaryKey.join(', ')}.`, {
      column: invalidColumn,
    })
  return new Map(columns.map((column) => [column, bindValue(column, values[column.name])]))
}

/** Returns the key from its text in the path. */
export function parseRowKeyText(table: Table, text: string): Map<Column, BoundValue> {
  const column = singleKey(table)
  return new Map([[column, bindKeyText(column, text)]])
}

/** Maps the items and adds the index of the failing one to a fault. */
export function mapWithFaultIndex<Item, Made>(items: readonly Item[], make: (item: Item) => Made): Made[] {
  return items.map((item, index) => {
    try {
      return make(item)
    } catch (error) {
      throw error instanceof SqlFault ? error.at(index) : error
    }
  })
}
