import { z } from 'zod'
import type { ActionName } from '../../../core/actions.ts'
import { STATEMENT_KINDS } from '../../../editor/classification.ts'
import { OUTCOMES } from '../../../editor/history.ts'
import { created, noContent, ok } from '../../http/answer.ts'
import type { Context } from '../../http/context.ts'
import { WholeNumber } from '../../http/query.ts'
import { action, type RouteDraft, route } from '../../http/route.ts'
import { listRoute } from '../../resources/collection/columns.ts'
import { dateTime, enumeration, text } from '../../resources/paging.ts'
import {
  BulkDeleteRowsRequest,
  BulkInsertRowsRequest,
  BulkRowsResultDto,
  BulkUpdateRowsRequest,
  EditorHistoryEntryDto,
  EditorQueryRequest,
  EditorQueryResultDto,
  EditorRowDto,
  EditorRowPageDto,
  EditorSchemaDto,
  RowMutationRequest,
} from './dto.ts'
import { type EditorDatabase, readHistory, translateSqlError } from './editorDatabase.ts'
import { queryEditor } from './query.ts'
import {
  changeRows,
  columnDto,
  mapWithFaultIndex,
  parseRowKey,
  parseRowKeyText,
  rowPage,
  writtenValues,
} from './rows.ts'

export type EditorRoutes = {
  /** The path of one database: `{RG}/sqlclusters/{name}`. */
  base: string
  actions: { read: ActionName; schemaRead: ActionName; dataRead: ActionName; dataWrite: ActionName }
  /** @throws PlatformError NOT_FOUND */
  find(context: Context): Promise<EditorDatabase>
}

export type HistoryRoute = {
  base: string
  read: ActionName
  /** What shows the literals of its statements. */
  dataRead: ActionName
  /** The history alone, which exists while the database does not. */
  history(context: Context): Promise<Pick<EditorDatabase, 'history'>>
}

const Integer = (low: number, high: number, standard: number) => WholeNumber(low, high).default(standard)

const RowQuery = z.strictObject({
  limit: Integer(1, 1000, 100).describe('Most rows; 100 when absent'),
  offset: Integer(0, 1_000_000, 0).describe('Rows to leave out at the beginning'),
  filter: z
    .array(z.string().min(1).max(1024))
    .max(20)
    .default([])
    .describe('column:operator:value; may be given several times, all must hold'),
  sort: z.string().min(1).max(129).optional().describe('A column, with a minus in front for descending'),
})

/** Names in a database and keys of rows may contain any characters. */
const OPAQUE = { opaque: ['schema', 'table', 'pkValue'] } as const

/**
 * Returns the routes of the editor (interface section 4.5) except the history, for any area with a database. The areas
 * differ in where the database is, in the permissions and in the dialect.
 */
export function editorRoutes(editor: EditorRoutes): RouteDraft[] {
  return [...queryRoutes(editor), ...rowRoutes(editor), ...bulkRoutes(editor)]
}

export function historyRoute({ base, read, dataRead, history }: HistoryRoute): RouteDraft {
  return listRoute(`${base}/editor/history`, {
    auth: action(read),
    further: `\`${dataRead}\` to see the literals of statements`,
    summary: 'Who ran what in the editor, newest first',
    dto: EditorHistoryEntryDto,
    columns: {
      executedAt: dateTime('When', { isFiltered: false }),
      kind: enumeration('Kind', STATEMENT_KINDS, { isSorted: false }),
      outcome: enumeration('Outcome', OUTCOMES, { isSorted: false }),
      executedBy: text('By', { isSorted: false }),
      sql: text('Statement', { isFiltered: false, isSorted: false, isSearched: true }),
    },
    sort: '-executedAt',
    limitName: 'limit',
    unfollowed: 'the history of the editor',
    rows: async (context) => {
      const { services, caller, scope = '/' } = context
      const entries = await readHistory(await history(context as Context), services.clock.now())
      const showsLiterals = services.access.isAllowed(caller.principalId, dataRead, scope)
      return entries.map(({ shown, sql, ...entry }) => ({ ...entry, sql: (showsLiterals ? shown : undefined) ?? sql }))
    },
  })
}

function queryRoutes(editor: EditorRoutes): RouteDraft[] {
  const { base, actions, find } = editor
  return [
    route('POST', `${base}/editor/query` as string, {
      auth: action(actions.read),
      further: `\`${actions.dataRead}\`, \`${actions.dataWrite}\` or what else the statements do`,
      summary: 'Show what a batch of SQL does, and run it if asked to',
      body: EditorQueryRequest,
      reply: EditorQueryResultDto,
      handler: async (context) => queryEditor(context, await find(context), context.body),
    }),
    route('GET', `${base}/editor/schemas` as string, {
      auth: action(actions.schemaRead),
      summary: 'Schemas, tables, views, columns and keys',
      reply: EditorSchemaDto,
      handler: async (context) => {
        const editorEngine = await (await find(context)).open()
        try {
          const found = await editorEngine.engine.catalogue(editorEngine.target('reader'))
          const shown = (tables: (typeof found.schemas)[number]['tables']) =>
            tables.map((table) => ({
              ...table,
              columns: table.columns.map(columnDto),
              primaryKey: [...table.primaryKey],
              foreignKeys: [...table.foreignKeys],
            }))
          const schemas = found.schemas.map(({ name, tables, views }) => ({
            name,
            tables: shown(tables),
            views: shown(views),
          }))
          return ok({ database: found.database, schemas })
        } catch (error) {
          throw translateSqlError(error)
        }
      },
    }),
  ]
}

function rowRoutes({ base, actions, find }: EditorRoutes): RouteDraft[] {
  const rows = `${base}/editor/tables/{schema}/{table}/rows` as string
  return [
    route('GET', rows, {
      ...OPAQUE,
      auth: action(actions.dataRead),
      summary: 'Rows in the order of the primary key',
      query: RowQuery,
      reply: EditorRowPageDto,
      handler: async (context) => ok(await rowPage(context, await (await find(context)).open(), context.query)),
    }),
    route('POST', rows, {
      ...OPAQUE,
      auth: action(actions.dataWrite),
      summary: 'Insert a row',
      body: RowMutationRequest,
      reply: EditorRowDto,
      answers: [201],
      handler: async (context) => {
        const { values } = context.body
        const [row] = await changeRows(context, await find(context), (table) => [
          { kind: 'insert', values: writtenValues(table, values) },
        ])
        return created(row ?? { values: {}, version: '' })
      },
    }),
    route('PATCH', `${rows}/{pkValue}` as string, {
      ...OPAQUE,
      auth: action(actions.dataWrite),
      further: compareRights(actions),
      summary: 'Change the row of a key',
      body: RowMutationRequest,
      reply: EditorRowDto,
      handler: async (context) => {
        const { values, ifVersion } = context.body
        const { pkValue = '' } = context.parameters as Record<string, string>
        const [row] = await changeRows(context, await find(context), (table) => [
          {
            kind: 'update',
            key: parseRowKeyText(table, pkValue),
            values: writtenValues(table, values),
            ifVersion: ifVersion ?? undefined,
          },
        ])
        return ok(row ?? { values: {}, version: '' })
      },
    }),
    route('DELETE', `${rows}/{pkValue}` as string, {
      ...OPAQUE,
      auth: action(actions.dataWrite),
      summary: 'Delete the row of a key',
      answers: [204],
      handler: async (context) => {
        const { pkValue = '' } = context.parameters as Record<string, string>
        await changeRows(context, await find(context), (table) => [
          { kind: 'delete', key: parseRowKeyText(table, pkValue), ifVersion: undefined },
        ])
        return noContent()
      },
    }),
  ]
}

const compareRights = ({ dataRead }: EditorRoutes['actions']) => `\`${dataRead}\` to compare versions of rows`

function bulkRoutes({ base, actions, find }: EditorRoutes): RouteDraft[] {
  const rows = `${base}/editor/tables/{schema}/{table}/rows` as string
  const bulk = { ...OPAQUE, auth: action(actions.dataWrite), further: compareRights(actions) }
  const reply = BulkRowsResultDto
  const withoutMissing = <Row>(found: readonly (Row | undefined)[]) => found.filter((row) => row !== undefined)
  return [
    route('POST', `${rows}:bulk` as string, {
      ...bulk,
      summary: 'Change many rows, all or none',
      body: BulkUpdateRowsRequest,
      reply,
      handler: async (context) => {
        const { rows: requested } = context.body
        const found = await changeRows(context, await find(context), (table) =>
          mapWithFaultIndex(requested, ({ key, values, ifVersion }) => ({
            kind: 'update' as const,
            key: parseRowKey(table, key),
            values: writtenValues(table, values),
            ifVersion: ifVersion ?? undefined,
          })),
        )
        return ok({ affected: found.length, rows: withoutMissing(found) })
      },
    }),
    route('POST', `${rows}:bulk-delete` as string, {
      ...bulk,
      summary: 'Delete many rows, all or none',
      body: BulkDeleteRowsRequest,
      reply,
      handler: async (context) => {
        const { keys } = context.body
        const found = await changeRows(context, await find(context), (table) =>
          mapWithFaultIndex(keys, ({ key, ifVersion }) => ({
            kind: 'delete' as const,
            key: parseRowKey(table, key),
            ifVersion: ifVersion ?? undefined,
          })),
        )
        return ok({ affected: found.length, rows: [] })
      },
    }),
    route('POST', `${rows}:bulk-insert` as string, {
      ...bulk,
      summary: 'Insert many rows, all or none',
      body: BulkInsertRowsRequest,
      reply,
      answers: [201],
      handler: async (context) => {
        const { rows: requested } = context.body
        const found = await changeRows(context, await find(context), (table) =>
          mapWithFaultIndex(requested, (values) => ({ kind: 'insert' as const, values: writtenValues(table, values) })),
        )
        return created({ affected: found.length, rows: withoutMissing(found) })
      },
    }),
  ]
}
