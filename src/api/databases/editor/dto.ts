import { z } from 'zod'
import { PlainText } from '../../../crds/fields.ts'
import { STATEMENT_KINDS } from '../../../editor/classification.ts'
import { OUTCOMES } from '../../../editor/history.ts'
import { ENCODINGS } from '../../../editor/values.ts'
import { namedRecord, strictRecord } from '../../http/namedRecord.ts'
import { DateTime, Uuid } from '../../resources/dto.ts'

/** Records of the SQL editor (records: SQL instances, Editor). */

export const SqlValueDto = z
  .union([z.null(), z.boolean(), z.number(), z.string(), z.object({ truncated: z.literal(true), sizeBytes: z.int() })])
  .meta({ id: 'SqlValue', description: 'By the encoding of the column; null is SQL NULL' })

const Values = z.record(z.string().max(128), z.unknown())

export const EditorQueryRequest = strictRecord('EditorQueryRequest', {
  sql: z.string().min(1).max(131072),
  database: PlainText.min(1).max(64).nullish().describe('Another database of the engine; its own by default'),
  execute: z.boolean().default(false),
  parameters: z
    .record(
      z
        .string()
        .regex(
          /^[A-Za-z_][A-Za-z0-9_]{0,63}$/,
          'must be 1 to 64 letters, digits and underscores that do not begin with a digit',
        ),
      z.union([z.null(), z.boolean(), z.number(), z.string()]).meta({ id: 'SqlParameter' }),
    )
    .nullish()
    .describe('Named @p in the statement'),
  maxRows: z.int().min(1).max(10000).default(1000),
  timeoutSeconds: z.int().min(1).max(300).default(30),
  confirmed: z.boolean().default(false).describe('Needed for a change of schema, a drop, and a write to every row'),
})

export const EditorColumnDto = namedRecord('EditorColumn', {
  name: z.string(),
  ordinal: z.int(),
  dataType: z.string(),
  encoding: z.enum(ENCODINGS),
  isNullable: z.boolean(),
  isPrimaryKey: z.boolean(),
  isIdentity: z.boolean(),
  isComputed: z.boolean(),
  maxLength: z.int().nullable(),
  precision: z.int().nullable(),
  scale: z.int().nullable(),
  defaultExpression: z.string().nullable(),
})

export const EditorClassificationDto = namedRecord('EditorClassification', {
  statements: z.array(
    namedRecord('EditorStatement', {
      index: z.int(),
      kind: z.enum(STATEMENT_KINDS),
      text: z.string(),
      tables: z.array(z.string()),
      isDestructive: z.boolean(),
    }),
  ),
  kind: z.enum(STATEMENT_KINDS).describe('The strongest of them'),
})

export const EditorQueryResultDto = namedRecord('EditorQueryResult', {
  classification: EditorClassificationDto,
  requiredAction: z.string(),
  authorized: z.boolean(),
  executed: z.boolean(),
  results: z.array(
    namedRecord('EditorResultSet', {
      statementIndex: z.int(),
      columns: z.array(EditorColumnDto),
      rows: z.array(z.array(SqlValueDto)),
      rowCount: z.int(),
      rowsAffected: z.int().nullable(),
      truncated: z.boolean(),
    }),
  ),
  messages: z.array(z.string()),
  durationMs: z.int(),
  historyId: Uuid.nullable(),
  error: namedRecord('EditorError', {
    code: z.string(),
    message: z.string(),
    statementIndex: z.int(),
    line: z.int().nullable(),
    position: z.int().nullable(),
    engineCode: z.string().nullable(),
  }).nullable(),
})
export type EditorQueryResult = z.input<typeof EditorQueryResultDto>

export const EditorHistoryEntryDto = namedRecord('EditorHistoryEntry', {
  id: Uuid,
  executedAt: DateTime,
  executedBy: z.string(),
  principalId: Uuid,
  database: z.string(),
  sql: z
    .string()
    .describe('Cut at 4 KiB. Without literals, except for callers who may read rows, if none may be a password'),
  kind: z.enum(STATEMENT_KINDS),
  outcome: z.enum(OUTCOMES),
  durationMs: z.int(),
  rowCount: z.int().nullable(),
  rowsAffected: z.int().nullable(),
  error: z.string().nullable(),
})

const EditorTableDto = namedRecord('EditorTable', {
  schema: z.string(),
  name: z.string(),
  type: z.enum(['Table', 'View']),
  rowEstimate: z.int().nullable(),
  columns: z.array(EditorColumnDto),
  primaryKey: z.array(z.string()),
  foreignKeys: z.array(
    namedRecord('EditorForeignKey', {
      name: z.string(),
      columns: z.array(z.string()),
      referencedSchema: z.string(),
      referencedTable: z.string(),
      referencedColumns: z.array(z.string()),
    }),
  ),
  isEditable: z.boolean(),
})

export const EditorSchemaDto = namedRecord('EditorSchemaDto', {
  database: z.string(),
  schemas: z.array(
    namedRecord('EditorSchema', { name: z.string(), tables: z.array(EditorTableDto), views: z.array(EditorTableDto) }),
  ),
})

export const EditorRowDto = namedRecord('EditorRow', {
  values: z.record(z.string(), SqlValueDto),
  version: z.string().describe('Another one when anything changed; empty for whoever may not read rows'),
})
export type EditorRow = z.input<typeof EditorRowDto>

export const EditorRowPageDto = namedRecord('EditorRowPage', {
  columns: z.array(EditorColumnDto),
  rows: z.array(EditorRowDto),
  primaryKey: z.array(z.string()),
  limit: z.int(),
  offset: z.int(),
  totalRows: z.int().nullable().describe('An estimate above 100000'),
  hasMore: z.boolean(),
})

const Version = z
  .string()
  .min(1)
  .max(64)
  .nullish()
  .describe(
    'Version that the row was read with: refused if it has changed since; not compared when absent; needs the permission to read rows',
  )
const ROWS_MAX = 1000

export const RowMutationRequest = strictRecord('RowMutationRequest', {
  values: Values.describe('Value of each column, by its name'),
  ifVersion: Version,
})
export const BulkInsertRowsRequest = strictRecord('BulkInsertRowsRequest', {
  rows: z.array(Values).min(1).max(ROWS_MAX),
})
export const BulkUpdateRowsRequest = strictRecord('BulkUpdateRowsRequest', {
  rows: z
    .array(strictRecord('BulkRowUpdate', { key: Values, values: Values, ifVersion: Version }))
    .min(1)
    .max(ROWS_MAX),
})
export const BulkDeleteRowsRequest = strictRecord('BulkDeleteRowsRequest', {
  keys: z
    .array(strictRecord('BulkRowKey', { key: Values, ifVersion: Version }))
    .min(1)
    .max(ROWS_MAX),
})
export const BulkRowsResultDto = namedRecord('BulkRowsResult', { affected: z.int(), rows: z.array(EditorRowDto) })
