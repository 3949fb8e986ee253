import type { Catalogue, Column, Table } from '../../editor/catalogue.ts'
import type { Statement } from '../../editor/classification.ts'
import type { Dialect } from '../../editor/dialect.ts'
import type { BoundValue, SqlValue } from '../../editor/values.ts'

export { isSqlFault, SqlFault, type SqlFaultReason } from '../../editor/fault.ts'

/** Where an engine answers, and the login for it. A login of the engine limits what any statement can do. */
export type SqlTarget = {
  dialect: Dialect
  host: string
  port: number
  database: string
  user: string
  password: string
  /**
   * PEM bundle that the engine's certificate is verified with; without TLS if it is absent. Empty if it should be
   * there and is not: nothing is said to an engine that nobody vouches for.
   */
  certificateAuthority?: string | undefined
  /** The name in the engine's certificate; `host` if undefined. */
  serverName?: string | undefined
  /** Of an engine in another cluster, whose hosts mean nothing here: the pod that is spoken to through its API server. */
  through?: { clusterId: string; namespace: string; pod: string } | undefined
}

export type SqlCall = {
  signal?: AbortSignal | undefined
  /** Hears how many bytes the engine said, also of what is not answered: to read them takes time. */
  heard?: ((bytes: number) => void) | undefined
}

/** One column of what a statement found. */
export type ResultColumn = Omit<Column, 'fullType'>

export type ResultSet = {
  statementIndex: number
  columns: ResultColumn[]
  rows: SqlValue[][]
  rowsAffected: number | null
  /** More was found than was kept. */
  truncated: boolean
}

/** A batch in one transaction. Statements are sent one at a time, as they were classified. */
export type BatchRequest = {
  statements: readonly Pick<Statement, 'index' | 'text' | 'parameters'>[]
  parameters: Readonly<Record<string, null | boolean | number | string>>
  /** In a transaction that cannot write, which is rolled back in any case. */
  isReadOnly: boolean
  maxRows: number
  timeoutMilliseconds: number
}

export type BatchFailure = {
  statementIndex: number
  /** A word of ours, or of the engine where it has one. */
  code: string
  /** The engine's own sentence. Whoever runs the statement may read what it is about. */
  message: string
  engineCode: string | null
  /** In the statement, from 1. */
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
  /** Before the key, which always ends the order. */
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
 * What the platform asks of a SQL engine. Every call but `prepare` runs under the login of its target. Sessions are
 * pooled by target; the signal of a call ends what runs at the engine, not only the waiting for it.
 *
 * @throws SqlFault of all of them; messages hold no credentials
 */
export interface SqlEngine {
  /** Version and edition as the engine says them. */
  describe(target: SqlTarget, call?: SqlCall): Promise<{ version: string; edition: string | null }>
  /** Tables and views of the database that the login may see. Who asks within seconds gets the same, so nobody ends it alone. */
  catalogue(target: SqlTarget): Promise<Catalogue>
  /** Runs a batch. What fails at run time is in the answer, and nothing of the batch stays. */
  run(target: SqlTarget, request: BatchRequest, call?: SqlCall): Promise<BatchOutcome>
  /** One page in a stable order. */
  rows(target: SqlTarget, request: RowsRequest, call?: SqlCall): Promise<RowsAnswer>
  /**
   * Changes rows in one transaction: all or none. Answers the rows as they are then, undefined for deleted ones. A fault
   * names the change by `index`.
   */
  change(target: SqlTarget, table: Table, changes: readonly RowChange[], call?: SqlCall): Promise<(Row | undefined)[]>
  /** Makes the database and the logins of an instance, or sets their passwords and rights anew. As administrator. */
  prepare(target: SqlTarget, wanted: Preparation, call?: SqlCall): Promise<void>
  /**
   * Lets the logins of the editor at what the owner has, and will have. As that owner, for engines whose logins others
   * make; it can be asked for again.
   */
  admit(target: SqlTarget, logins: LoginNames, call?: SqlCall): Promise<void>
  /** Closes every session. */
  close(): Promise<void>
}

export type Login = { user: string; password: string }
export type LoginNames = { reader: string; writer: string }
export type Preparation = {
  database: string
  collation?: string | undefined
  logins: { reader: Login; writer: Login; owner: Login }
}
