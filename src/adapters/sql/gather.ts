import type { Catalogue, Column, ForeignKey, Table } from '../../editor/catalogue.ts'

export type GatheredTable = { schema: string; name: string; isView: boolean; rowEstimate: number | null }

/** What a driver asked of its engine's catalogue. Each row names schema and table in its first two places. */
export type GatheredRows<Row extends readonly unknown[]> = {
  schemas: readonly string[]
  tables: readonly GatheredTable[]
  columns: readonly Row[]
  columnOf: (row: Row) => Omit<Column, 'isPrimaryKey'>
  /** Schema, table, column: one row for each column of a key, in the order of the key. */
  keys: readonly Row[]
  /** Schema, table, constraint, column, and the schema, table and column that it points to. */
  references: readonly Row[]
}
type Reference = {
  name: string
  column: string
  referencedSchema: string
  referencedTable: string
  referencedColumn: string
}

const word = (value: unknown) => (value === null || value === undefined ? '' : String(value))
const tableOf = ([schema, table]: readonly unknown[]) => keyOf(word(schema), word(table))

function referenceOf(row: readonly unknown[]): Reference {
  const [, , name = '', column = '', referencedSchema = '', referencedTable = '', referencedColumn = ''] = row.map(word)
  return { name, column, referencedSchema, referencedTable, referencedColumn }
}

const keyOf = (schema: string, table: string) => JSON.stringify([schema, table])

function grouped<Item>(items: readonly Item[], key: (item: Item) => string): Map<string, Item[]> {
  return Map.groupBy(items, key) as Map<string, Item[]>
}

/** Puts what an engine said about its tables together. */
export function gatherCatalogue<Row extends readonly unknown[]>(
  database: string,
  { schemas, tables, columns, columnOf, keys, references }: GatheredRows<Row>,
): Catalogue {
  const columnsOf = grouped(columns, tableOf)
  const keysOf = grouped(keys, tableOf)
  const referencesOf = grouped(references, tableOf)
  const made = tables.map(({ schema, name, isView, rowEstimate }): Table => {
    const key = keyOf(schema, name)
    const primaryKey = (keysOf.get(key) ?? []).map(([, , column]) => word(column))
    return {
      schema,
      name,
      type: isView ? 'View' : 'Table',
      rowEstimate,
      columns: (columnsOf.get(key) ?? []).map((row) => {
        const column = columnOf(row)
        return { ...column, isPrimaryKey: primaryKey.includes(column.name) }
      }),
      primaryKey,
      foreignKeys: foreignKeys((referencesOf.get(key) ?? []).map(referenceOf)),
      isEditable: !isView && primaryKey.length > 0,
    }
  })
  const inSchema = grouped(made, ({ schema }) => schema)
  return {
    database,
    schemas: schemas.map((name) => {
      const all = inSchema.get(name) ?? []
      return {
        name,
        tables: all.filter(({ type }) => type === 'Table'),
        views: all.filter(({ type }) => type === 'View'),
      }
    }),
  }
}

function foreignKeys(rows: readonly Reference[]): ForeignKey[] {
  return [...grouped(rows, ({ name }) => name)].map(([name, parts]) => ({
    name,
    columns: parts.map(({ column }) => column),
    referencedSchema: parts[0]?.referencedSchema ?? '',
    referencedTable: parts[0]?.referencedTable ?? '',
    referencedColumns: parts.map(({ referencedColumn }) => referencedColumn),
  }))
}
