import type { BlobOwner, BlobStore } from '../../../adapters/blobs/port.ts'
import type { Row } from '../../../adapters/sql/port.ts'
import {
  isSqlFault,
  type SqlEngine,
  type SqlFault,
  type SqlFaultReason,
  type SqlTarget,
} from '../../../adapters/sql/port.ts'
import { ownerSelector } from '../../../contracts/workloads.ts'
import type { ActionName } from '../../../core/actions.ts'
import { type ErrorCode, PlatformError } from '../../../core/errors.ts'
import type { KubeObject } from '../../../core/object.ts'
import type { AnyKind } from '../../../crds/define.ts'
import type { Table } from '../../../editor/catalogue.ts'
import type { SqlLevel } from '../../../editor/classification.ts'
import type { Dialect } from '../../../editor/dialect.ts'
import { type HistoryEntry, packHistory, unexpiredEntries, unpackHistory, withEntry } from '../../../editor/history.ts'
import { versionOf } from '../../../editor/rows.ts'
import type { Context } from '../../http/context.ts'
import type { EditorRow } from './dto.ts'

/** A database as the editor needs it before connecting. Its area decides about permissions. */
export type EditorDatabase = {
  dialect: Dialect
  database: string
  /** Returns the action that a batch of that level needs. */
  actionOf(level: SqlLevel): ActionName
  history: { blobs: BlobStore; namespace: string; name: string; owner: BlobOwner }
  /** @throws PlatformError INSTANCE_STOPPED, INVALID_STATE while there is no login yet */
  open(): Promise<EditorEngine>
}

/** Returns whether the caller has the right of that level; the levels are independent permissions. */
export function hasSqlLevel({ services, caller, scope }: Context, database: EditorDatabase, level: SqlLevel): boolean {
  return services.access.isAllowed(caller.principalId, database.actionOf(level), scope ?? '/')
}

/** Where the engine of a database is. */
export type EditorEngine = {
  engine: SqlEngine
  /** Returns the target with the login of that level. */
  target(level: SqlLevel): SqlTarget
}

/** Returns where the history of a database is stored: owned by its object, and so deleted with it. */
export function historyAt(
  { apiVersion, kind }: Pick<AnyKind, 'apiVersion' | 'kind'>,
  { metadata: { namespace = '', name, uid = '' } }: Pick<KubeObject, 'metadata'>,
  { blobs, name: blob }: { blobs: BlobStore; name: string },
): EditorDatabase['history'] {
  return { blobs, namespace, name: blob, owner: { apiVersion, kind, name, uid, labels: ownerSelector(kind, name) } }
}

const FAULT_CODES: Readonly<Partial<Record<SqlFaultReason, ErrorCode>>> = {
  Unreachable: 'DATABASE_UNREACHABLE',
  Unauthorized: 'DATABASE_UNREACHABLE',
  DatabaseNotFound: 'DATABASE_UNREACHABLE',
  Cancelled: 'DATABASE_UNREACHABLE',
  TableNotFound: 'TABLE_NOT_FOUND',
  RowNotFound: 'ROW_NOT_FOUND',
  InvalidValue: 'INVALID_VALUE',
  UnknownColumn: 'UNKNOWN_COLUMN',
  ColumnNotWritable: 'COLUMN_NOT_WRITABLE',
  CompositeKey: 'COMPOSITE_KEY',
  NoPrimaryKey: 'NO_PRIMARY_KEY',
  RowChanged: 'ROW_CHANGED',
  DuplicateKey: 'DUPLICATE_KEY',
  ConstraintViolation: 'CONSTRAINT_VIOLATION',
  TooLarge: 'BAD_REQUEST',
  Timeout: 'QUERY_TIMEOUT',
  Deadlock: 'DEADLOCK',
  Failed: 'UPSTREAM_FAILED',
}

const FAULT_MESSAGES: Readonly<Partial<Record<SqlFaultReason, string>>> = {
  Unreachable: 'The database does not answer.',
  Unauthorized: 'The database does not accept the login of the editor.',
  DatabaseNotFound: 'The engine has no such database yet, or none that the login of the editor may open.',
  InvalidValue: 'The engine does not accept a value for the type of its column.',
  UnknownColumn: 'A column no longer exists.',
  ColumnNotWritable: 'The engine generates the value of a column.',
  DuplicateKey: 'Another row has this key.',
  ConstraintViolation: 'A constraint of the table refuses it.',
  Timeout: 'The engine did not finish in time.',
  Deadlock: 'Another transaction holds the rows; try again.',
}

/** Translates a fault of the engine or of a request into an error response. */
export function translateSqlError(error: unknown, table?: Table): unknown {
  if (!isSqlFault(error)) return error
  const { reason, details } = error
  const { column, constraint, index, current } = details
  const extras = {
    ...(column === undefined ? {} : { column }),
    ...(constraint === undefined ? {} : { constraint }),
    ...(index === undefined ? {} : { index }),
    ...(current === undefined || table === undefined ? {} : { current: rowDto(table, current as Row) }),
  }
  const fromEngine = details.engineCode !== undefined
  const message = fromEngine ? (FAULT_MESSAGES[reason] ?? error.message) : error.message
  return new PlatformError(FAULT_CODES[reason] ?? 'UPSTREAM_FAILED', message, extras, { cause: error as SqlFault })
}

export function rowDto(table: Table, row: Row): EditorRow {
  const values = Object.fromEntries(table.columns.map(({ name }, index) => [name, row[index] ?? null]))
  return { values, version: versionOf(row) }
}

const WRITE_ATTEMPTS = 8

/** Adds an entry at the front, with optimistic concurrency: retries if another writer was faster. */
export async function addHistoryEntry(
  { history }: Pick<EditorDatabase, 'history'>,
  entry: HistoryEntry,
): Promise<void> {
  const { blobs, namespace, name, owner } = history
  for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt += 1) {
    const stored = await blobs.read({ namespace, name })
    const entries = withEntry(stored === undefined ? [] : await unpackHistory(stored.bytes), entry)
    const bytes = await packHistory(entries, blobs.maxBytes)
    if (await blobs.write({ namespace, name }, bytes, { version: stored?.version, owner })) return
  }
  throw new PlatformError('SERVICE_UNAVAILABLE', 'The history of the editor could not be written; nothing else failed.')
}

/** @param now milliseconds since the epoch */
export async function readHistory({ history }: Pick<EditorDatabase, 'history'>, now: number): Promise<HistoryEntry[]> {
  const { blobs, namespace, name } = history
  const stored = await blobs.read({ namespace, name })
  return stored === undefined ? [] : unexpiredEntries(await unpackHistory(stored.bytes), now)
}
