import type { Catalogue, Column, Table } from '../../editor/catalogue.ts'
import type { Statement } from '../../editor/classification.ts'
import type { Dialect } from '../../editor/dialect.ts'
import type { BoundValue, SqlValue } from '../../editor/values.ts'

export { isSqlFault, SqlFault, type SqlFaultReason } from '../../editor/fault.ts'

/** Address of an engine, and the login to use. The rights of the login limit what any statement can do. */
export type SqlTarget = {
  dialect: Dialect
  host: string
  port: number
  database: string
  user: string
  password: string
  /**
   * PEM bundle to verify the engine's certificate; absent for no TLS. Empty if it is required but missing: then no
   * connection is made, because the engine cannot be verified.
   */
  certificateAuthority?: string | undefined
  /** Name in the engine's certificate; defaults to `host`. */
  serverName?: string | undefined
  /** For an engine in another cluster, where `host` does not resolve: the pod to reach through its API server. */
  through?: { clusterId: string; namespace: string; pod: string } | undefined
}

export type SqlCall = {
  signal?: AbortSignal | undefined
  /** Called with the number of bytes received, even if the call fails. */
  onBytes?: ((bytes: number) => void) | undefined
}

/** A column of a result. */
export type ResultColumn = Omit<Column, 'fullType'>

export type ResultSet = {
  statementIndex: number
  columns: ResultColumn[]
  rows: SqlValue[][]
  rowsAffected: number | null
  /** Whether more rows were found than returned. */
  truncated: boolean
}

/** A batch in one transaction. Statements are sent one at a time, as they were classified. */
export type BatchRequest = {
  statements: readonly Pick<Statement, 'index' | 'text' | 'parameters'>[]
  parameters: Readonly<Record<string, null | boolean | number | string>>
  /** Runs in a read-only transaction, which is always rolled back. */
  isReadOnly: boolean
  maxRows: number
  timeoutMilliseconds: number
}

export type BatchFailure = {
  statementIndex: number
  /** Our own code, or the engine's if it has one. */
  code: string
  /** The engine's own message, which the caller may read. */
  message: string
  engineCode: string | null
  /** Within the statement, from 1. */
  line: number | null
  position: number | null
}

export type BatchOutcome = { results: ResultSet[]; messages: string[]; failure: BatchFailure | undefined }

export type RowFilter = { column: Column; operator: FilterOperator; values: readonly BoundValue[] }
export const FILTER_OPERATORS = [
  'eq',
  'ne',
  'in',
  'contains',
  'startsWith',
  'gt',
  'ge',
  'lt',
  'le',
  'exists',
  'missing',
] as const
export type FilterOperator = (typeof FILTER_OPERATORS)[number]

export type RowsRequest = {
  table: Table
  limit: number
  offset: number
  filters: readonly RowFilter[]
  /** Primary sort column; the key always follows, for a stable order. */
  sort: { column: Column; isDescending: boolean } | undefined
}

/** Values in the order of the table's columns. */
export type Row = readonly SqlValue[]
export type RowsAnswer = { rows: Row[]; hasMore: boolean; totalRows: number | null }

export type BoundColumns = ReadonlyMap<Column, BoundValue>
export type RowChange =
  | { kind: 'insert'; values: BoundColumns }
  | { kind: 'update'; key: BoundColumns; values: BoundColumns; ifVersion: string | undefined }
  | { kind: 'delete'; key: BoundColumns; ifVersion: string | undefined }

/**
 * A SQL engine. Every call but `prepare` runs under the login of its target. Sessions are pooled by target; aborting a
 * call also stops the statement at the engine.
 *
 * @throws SqlFault from all methods; messages contain no credentials
 */
export interface SqlEngine {
  /** Returns version and edition as the engine reports them. */
  describe(target: SqlTarget, call?: SqlCall): Promise<{ version: string; edition: string | null }>
  /** Returns the tables and views that the login may see. Cached for seconds and shared, so it takes no signal. */
  catalogue(target: SqlTarget): Promise<Catalogue>
  /** Runs a batch. A failing statement is reported in the outcome, and the batch is rolled back. */
  run(target: SqlTarget, request: BatchRequest, call?: SqlCall): Promise<BatchOutcome>
  /** Reads one page in a stable order. */
  rows(target: SqlTarget, request: RowsRequest, call?: SqlCall): Promise<RowsAnswer>
  /**
   * Changes rows in one transaction. Returns the resulting rows, undefined for deleted ones. A fault names the failing
   * change by `index`.
   */
  change(target: SqlTarget, table: Table, changes: readonly RowChange[], call?: SqlCall): Promise<(Row | undefined)[]>
  /** Creates the database and logins of an instance, or resets their passwords and rights. Needs an administrator. */
  prepare(target: SqlTarget, wanted: Preparation, call?: SqlCall): Promise<void>
  /**
   * Grants the editor's logins access to everything that the owner has and will create. Runs as that owner, for engines
   * whose operator creates the logins; idempotent.
   */
  admit(target: SqlTarget, logins: LoginNames, call?: SqlCall): Promise<void>
  /** Closes all sessions. */
  close(): Promise<void>
}

export type Login = { user: string; password: string }
export type LoginNames = { reader: string; writer: string }
export type Preparation = {
  database: string
  collation?: string | undefined
  logins: { reader: Login; writer: Login; owner: Login }
}
