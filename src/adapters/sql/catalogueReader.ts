import type { Catalogue, Column, ForeignKey, Table } from '../../editor/catalogue.ts'
import type { SqlSession } from './driver.ts'

/** The queries for an engine's catalogue. The first two columns of each row are schema and table. */
export type CatalogueQueries = {
  /** Query for all schemas, including empty ones, or a function that derives them. */
  readonly schemas: string | ((database: string, tables: readonly unknown[][]) => readonly unknown[])
  /** Schema, table, type, and the number of rows, null or negative if unknown. */
  readonly tables: string
  readonly isView: (what: unknown) => boolean
  readonly columns: string
  readonly columnOf: (row: unknown[]) => Omit<Column, 'isPrimaryKey'>
  /** Schema, table, column: one row per key column, in the order of the key. */
  readonly keys: string
  /** Schema, table, constraint, column, and the referenced schema, table and column. */
  readonly references: string
}
type Reference = {
  name: string
  column: string
  referencedSchema: string
  referencedTable: string
  referencedColumn: string
}

const asText = (value: unknown) => (value === null || value === undefined ? '' : String(value))
const tableOf = ([schema, table]: readonly unknown[]) => keyOf(asText(schema), asText(table))

function referenceOf(row: readonly unknown[]): Reference {
  const [, , name = '', column = '', referencedSchema = '', referencedTable = '', referencedColumn = ''] =
    row.map(asText)
  return { name, column, referencedSchema, referencedTable, referencedColumn }
}

const keyOf = (schema: string, table: string) => JSON.stringify([schema, table])

function grouped<Item>(items: readonly Item[], key: (item: Item) => string): Map<string, Item[]> {
  return Map.groupBy(items, key) as Map<string, Item[]>
}

/** Runs the queries in turn, and assembles the catalogue. */
export const createCatalogueReader =
  ({ isView, columnOf, ...queries }: CatalogueQueries) =>
  async (session: SqlSession, database: string): Promise<Catalogue> => {
    const ask = async (text: string): Promise<unknown[][]> => (await session.query(text)).rows
    const tables = await ask(queries.tables)
    const schemas =
      typeof queries.schemas === 'string'
        ? (await ask(queries.schemas)).map(([name]) => name)
        : queries.schemas(database, tables)
    const columnsOf = grouped(await ask(queries.columns), tableOf)
    const keysOf = grouped(await ask(queries.keys), tableOf)
    const referencesOf = grouped(await ask(queries.references), tableOf)
    const made = tables.map((row): Table => {
      const [, , what, rows] = row
      const [schema, name] = [asText(row[0]), asText(row[1])]
      const key = keyOf(schema, name)
      const primaryKey = (keysOf.get(key) ?? []).map(([, , column]) => asText(column))
      return {
        schema,
        name,
        type: isView(what) ? 'View' : 'Table',
        rowEstimate: rows === null || Number(rows) < 0 ? null : Number(rows),
        columns: (columnsOf.get(key) ?? []).map((row) => {
          const column = columnOf(row)
          return { ...column, isPrimaryKey: primaryKey.includes(column.name) }
        }),
        primaryKey,
        foreignKeys: foreignKeys((referencesOf.get(key) ?? []).map(referenceOf)),
        isEditable: !isView(what) && primaryKey.length > 0,
      }
    })
    const inSchema = grouped(made, ({ schema }) => schema)
    return {
      database,
      schemas: schemas.map(asText).map((name) => {
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
