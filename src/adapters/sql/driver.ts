import type { Catalogue, Column } from '../../editor/catalogue.ts'
import type { Dialect } from '../../editor/dialect.ts'
import type { SqlValue } from '../../editor/values.ts'
import type { LoginNames, Preparation, ResultColumn, SqlFault, SqlTarget } from './port.ts'

/** What may be sent for a parameter. */
export type SentValue = null | string | number | boolean | Uint8Array

export type SessionMode = {
  /** Every transaction of the session is one that cannot write. */
  isReadOnly: boolean
  /** For each statement; the engine ends it by itself. */
  timeoutMilliseconds: number
}

export type QueryOptions = {
  /** Rows to keep; the rest is read over or not asked for. */
  maxRows?: number
  /** What each column is, if the driver cannot see it. */
  columns?: readonly Pick<Column, 'encoding' | 'dataType'>[]
}

export type RawResult = {
  columns: ResultColumn[]
  rows: SqlValue[][]
  affected: number | null
  truncated: boolean
}

/** One connection to an engine, speaking under one login. Throws what the driver throws; `faultOf` says what it means. */
export interface SqlSession {
  /** False once it must not be used again. */
  readonly isUsable: boolean
  /** What the engine has sent so far, whether anybody has read it or not. */
  readonly bytesRead: number
  /** One statement, never more: the protocol for prepared statements takes no second one. */
  query(text: string, values?: readonly SentValue[], options?: QueryOptions): Promise<RawResult>
  begin(): Promise<void>
  commit(): Promise<void>
  rollback(): Promise<void>
  /** Ends at the engine what runs, and the session. */
  cancel(): void
  /** The same, at once: what is still on its way is not taken in any more. */
  destroy(): void
  close(): void
}

/** What differs between engines, below what they share. */
export interface SqlDriver {
  readonly dialect: Dialect
  open(target: SqlTarget, mode: SessionMode): Promise<SqlSession>
  faultOf(error: unknown): SqlFault
  /** The engine's own sentence about a statement, with its code and place. */
  sentenceOf(error: unknown): { message: string; engineCode: string | null; position: number | null }
  describe(session: SqlSession): Promise<{ version: string; edition: string | null }>
  catalogue(session: SqlSession, database: string): Promise<Catalogue>
  /** Grants of the owner to the logins of the editor; idempotent. Only if others create the logins. */
  admit?(session: SqlSession, logins: LoginNames): Promise<void>
  /** Statements that make the database and its logins; idempotent. Whoever calls it closes what it opens. */
  prepare(session: SqlSession, wanted: Preparation, openDatabase: () => Promise<SqlSession>): Promise<void>
}
