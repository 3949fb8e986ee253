import type { Catalogue, Column, ForeignKey, Table } from '../../editor/catalogue.ts'

/** Rows of the three questions that every driver puts to its engine's catalogue. */
export type GatheredTable = { schema: string; name: string; isView: boolean; rowEstimate: number | null }
export type GatheredColumn = { schema: string; table: string; column: Omit<Column, 'isPrimaryKey'> }
/** One row for each column of a key, in the order of the key. */
export type GatheredKey = { schema: string; table: string; column: string }
export type GatheredReference = {
  schema: string
  table: string
  name: string
  column: string
  referencedSchema: string
  referencedTable: string
  referencedColumn: string
}

const keyOf = (schema: string, table: string) => JSON.stringify([schema, table])

function grouped<Item>(items: readonly Item[], key: (item: Item) => string): Map<string, Item[]> {
  return Map.groupBy(items, key) as Map<string, Item[]>
}

/** Puts what an engine said about its tables together. */
export function gatherCatalogue(
  database: string,
  schemas: readonly string[],
  tables: readonly GatheredTable[],
  columns: readonly GatheredColumn[],
  keys: readonly GatheredKey[],
  references: readonly GatheredReference[],
): Catalogue {
  const columnsOf = grouped(columns, ({ schema, table }) => keyOf(schema, table))
  const keysOf = grouped(keys, ({ schema, table }) => keyOf(schema, table))
  const referencesOf = grouped(references, ({ schema, table }) => keyOf(schema, table))
  const made = tables.map(({ schema, name, isView, rowEstimate }): Table => {
    const key = keyOf(schema, name)
    const primaryKey = (keysOf.get(key) ?? []).map(({ column }) => column)
    return {
      schema,
      name,
      type: isView ? 'View' : 'Table',
      rowEstimate,
      columns: (columnsOf.get(key) ?? []).map(({ column }) => ({
        ...column,
        isPrimaryKey: primaryKey.includes(column.name),
      })),
      primaryKey,
      foreignKeys: foreignKeys(referencesOf.get(key) ?? []),
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

function foreignKeys(rows: readonly GatheredReference[]): ForeignKey[] {
  return [...grouped(rows, ({ name }) => name)].map(([name, parts]) => ({
    name,
    columns: parts.map(({ column }) => column),
    referencedSchema: parts[0]?.referencedSchema ?? '',
    referencedTable: parts[0]?.referencedTable ?? '',
    referencedColumns: parts.map(({ referencedColumn }) => referencedColumn),
  }))
}
