import type { Catalogue, Column } from '../../editor/catalogue.ts'
import type { Dialect } from '../../editor/dialect.ts'
import type { SqlValue } from '../../editor/values.ts'
import type { LoginNames, Preparation, ResultColumn, SqlFault, SqlTarget } from './port.ts'

/** Types of parameters. */
export type SentValue = null | string | number | boolean | Uint8Array

export type SessionMode = {
  /** Whether all transactions of the session are read-only. */
  isReadOnly: boolean
  /** Limit per statement, enforced by the engine. */
  timeoutMilliseconds: number
}

export type QueryOptions = {
  /** Rows to return; further ones are discarded or not requested. */
  maxRows?: number
  /** Types of the columns, if the driver cannot determine them. */
  columns?: readonly Pick<Column, 'encoding' | 'dataType'>[]
}

export type RawResult = {
  columns: ResultColumn[]
  rows: SqlValue[][]
  affected: number | null
  truncated: boolean
}

/** A connection to an engine, under one login. Throws errors of the driver, which `faultOf` translates. */
export interface SqlSession {
  /** False once the session must not be reused. */
  readonly isUsable: boolean
  /** Bytes received from the engine so far, read or not. */
  readonly bytesRead: number
  /** Runs exactly one statement: the protocol for prepared statements accepts no second one. */
  query(text: string, values?: readonly SentValue[], options?: QueryOptions): Promise<RawResult>
  begin(): Promise<void>
  commit(): Promise<void>
  rollback(): Promise<void>
  /** Cancels the running statement at the engine, and closes the session. */
  cancel(): void
  /** Closes at once, and discards data that is in flight. */
  destroy(): void
  close(): void
}

/** What differs between engines. */
export interface SqlDriver {
  readonly dialect: Dialect
  open(target: SqlTarget, mode: SessionMode): Promise<SqlSession>
  faultOf(error: unknown): SqlFault
  /** Returns the engine's own message about a statement, with code and position. */
  sentenceOf(error: unknown): { message: string; engineCode: string | null; position: number | null }
  describe(session: SqlSession): Promise<{ version: string; edition: string | null }>
  catalogue(session: SqlSession, database: string): Promise<Catalogue>
  /** Grants the owner's rights to the editor's logins; idempotent. Only for engines whose operator creates logins. */
  admit?(session: SqlSession, logins: LoginNames): Promise<void>
  /** Creates the database and its logins; idempotent. The caller closes the sessions that it opens. */
  prepare(session: SqlSession, wanted: Preparation, openDatabase: () => Promise<SqlSession>): Promise<void>
}
