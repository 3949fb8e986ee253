import { SqlFault } from './fault.ts'
import type { Encoding } from './values.ts'

export type Column = {
  name: string
  /** Starts at 1. */
  ordinal: number
  /** The engine's type name: `varchar`, `int8`. */
  dataType: string
  /** The engine's full type, as a cast needs it: `decimal(30,4)`, `bigint unsigned`. */
  fullType: string
  encoding: Encoding
  isNullable: boolean
  isPrimaryKey: boolean
  isIdentity: boolean
  isComputed: boolean
  maxLength: number | null
  precision: number | null
  scale: number | null
  defaultExpression: string | null
}

export type ForeignKey = {
  name: string
  columns: string[]
  referencedSchema: string
  referencedTable: string
  referencedColumns: string[]
}

export type Table = {
  schema: string
  name: string
  type: 'Table' | 'View'
  rowEstimate: number | null
  columns: readonly Column[]
  /** Column names in the order of the key. */
  primaryKey: readonly string[]
  foreignKeys: readonly ForeignKey[]
  isEditable: boolean
}

export type Catalogue = { database: string; schemas: readonly { name: string; tables: Table[]; views: Table[] }[] }

/**
 * Returns the table with exactly this name. All identifiers in statements are taken from its result, never from
 * callers.
 * @throws SqlFault TableNotFound
 */
export function findTable(catalogue: Catalogue, schema: string, name: string): Table {
  const found = catalogue.schemas.find((each) => each.name === schema)
  const table = [...(found?.tables ?? []), ...(found?.views ?? [])].find((each) => each.name === name)
  if (table === undefined)
    throw new SqlFault('TableNotFound', `There is no table "${schema.slice(0, 128)}"."${name.slice(0, 128)}".`)
  return table
}

/** @throws SqlFault UnknownColumn */
export function findColumn(table: Table, name: string): Column {
  const column = table.columns.find((each) => each.name === name)
  if (column === undefined)
    throw new SqlFault('UnknownColumn', `Table "${table.name}" has no column "${name.slice(0, 128)}".`, {
      column: name,
    })
  return column
}

/** @throws SqlFault NoPrimaryKey */
export function keyColumns(table: Table): Column[] {
  if (table.primaryKey.length === 0)
    throw new SqlFault('NoPrimaryKey', `"${table.name}" has no primary key, so its rows cannot be addressed.`)
  return table.primaryKey.map((name) => findColumn(table, name))
}

/** Returns the key of a table with a single key column. @throws SqlFault NoPrimaryKey, CompositeKey */
export function singleKey(table: Table): Column {
  const [column, ...more] = keyColumns(table)
  if (column === undefined || more.length > 0)
    throw new SqlFault(
      'CompositeKey',
      `The key of "${table.name}" has ${more.length + 1} columns, so one value cannot identify a row; use the bulk routes.`,
    )
  return column
}
