import { createHash } from 'node:crypto'
import { type Catalogue, keyColumns, type Table } from '../../editor/catalogue.ts'
import { versionOf } from '../../editor/rows.ts'
import {
  countRows,
  deleteRow,
  insertRow,
  type SqlCommand,
  selectByKey,
  selectPage,
  updateRow,
} from '../../editor/statements.ts'
import type { SqlValue } from '../../editor/values.ts'
import { type CallSupervisor, cancelled, superviseCall } from './callSupervisor.ts'
import { CatalogueCache } from './catalogueCache.ts'
import type { SessionMode, SqlDriver, SqlSession } from './driver.ts'
import {
  type BatchFailure,
  type BatchOutcome,
  type BatchRequest,
  isSqlFault,
  type LoginNames,
  type Row,
  type RowChange,
  type RowsAnswer,
  type RowsRequest,
  type SqlCall,
  type SqlEngine,
  SqlFault,
  type SqlTarget,
} from './port.ts'

const IDLE_SESSIONS_MAX = 4
const IDLE_TIMEOUT_MS = 30_000
const STATEMENT_TIMEOUT_MS = 30_000
/** Deadline for a whole call: an engine whose node is gone, or a hostile one, does not enforce its own limits. */
const CALL_TIMEOUT_MS = 120_000
/** Deadline for opening a session. Drivers have shorter ones, but an engine may confuse them. */
const OPEN_TIMEOUT_MS = 15_000
/** Beyond this many rows, the engine's estimate is used instead of a count. */
const COUNTED_ROWS_MAX = 100_000

const READ_ONLY: SessionMode = { isReadOnly: true, timeoutMilliseconds: STATEMENT_TIMEOUT_MS }
const READ_WRITE: SessionMode = { isReadOnly: false, timeoutMilliseconds: STATEMENT_TIMEOUT_MS }

type IdleSession = { session: SqlSession; timer: NodeJS.Timeout }
type SessionUse = { isPooled?: boolean; timeout?: number }

/** Implements the port on top of a driver: sessions, transactions and everything that engines have in common. */
export class DriverEngine implements SqlEngine {
  readonly #driver: SqlDriver
  readonly #callTimeout: number
  readonly #idle = new Map<string, IdleSession[]>()
  readonly #catalogues = new CatalogueCache()

  constructor(driver: SqlDriver, { timeout = CALL_TIMEOUT_MS } = {}) {
    this.#driver = driver
    this.#callTimeout = timeout
  }

  describe(target: SqlTarget, call: SqlCall = {}) {
    return this.#withSession(target, READ_ONLY, call, (session) => this.#driver.describe(session))
  }

  catalogue(target: SqlTarget): Promise<Catalogue> {
    return this.#catalogues.take(keyOf(target, READ_ONLY), () =>
      this.#withSession(target, READ_ONLY, {}, (session) => this.#driver.catalogue(session, target.database)),
    )
  }

  async run(target: SqlTarget, request: BatchRequest, call: SqlCall = {}): Promise<BatchOutcome> {
    const { isReadOnly, timeoutMilliseconds } = request
    try {
      return await this.#withSession(
        target,
        { isReadOnly, timeoutMilliseconds },
        call,
        (session, watch) => this.#runBatch(session, request, watch),
        // Not pooled: a batch may leave temporary tables or locks behind, which end with its session.
        { isPooled: false, timeout: timeoutMilliseconds + 1_000 },
      )
    } catch (error) {
      if (isSqlFault(error, 'TooLarge')) return { results: [], messages: [], failure: tooLargeFailure(error) }
      if (!isSqlFault(error, 'Timeout')) throw error
      return { results: [], messages: [], failure: timeoutFailure(0) }
    } finally {
      if (!isReadOnly) this.#catalogues.clear()
    }
  }

  async #runBatch(session: SqlSession, request: BatchRequest, watch: CallSupervisor): Promise<BatchOutcome> {
    const outcome: BatchOutcome = { results: [], messages: [], failure: undefined }
    await session.begin()
    let kept = request.maxRows
    for (const statement of request.statements) {
      try {
        const values = statement.parameters.map((name) => request.parameters[name] ?? null)
        const { columns, rows, affected, truncated } = await session.query(statement.text, values, { maxRows: kept })
        kept = Math.max(0, kept - rows.length)
        outcome.results.push({ statementIndex: statement.index, columns, rows, rowsAffected: affected, truncated })
      } catch (error) {
        const failure = this.#failureOf(error, statement)
        await session.rollback().catch(() => undefined)
        return { ...outcome, failure }
      }
    }
    watch.refuse()
    try {
      await (request.isReadOnly ? session.rollback() : session.commit())
    } catch (error) {
      return { ...outcome, failure: this.#failureOf(error, { index: request.statements.length - 1, text: '' }) }
    }
    return outcome
  }

  #failureOf(error: unknown, statement: { index: number; text: string }): BatchFailure {
    const fault = this.#driver.faultOf(error)
    if (SESSION_FAULTS.includes(fault.reason)) throw fault
    if (fault.reason === 'Timeout') return timeoutFailure(statement.index)
    const { message, engineCode, position } = this.#driver.sentenceOf(error)
    const line = position === null ? null : statement.text.slice(0, position).split('\n').length
    return { statementIndex: statement.index, code: codeOf(fault), message, engineCode, line, position }
  }

  async rows(target: SqlTarget, request: RowsRequest, call: SqlCall = {}): Promise<RowsAnswer> {
    const { dialect } = this.#driver
    const { table, limit, offset, filters } = request
    return this.#withSession(target, READ_ONLY, call, async (session) => {
      const page = selectPage(dialect, table, request)
      const { rows } = await session.query(page.text, page.values, { columns: table.columns })
      const hasMore = rows.length > limit
      if (hasMore) rows.pop()
      const ends = !hasMore && (rows.length > 0 || offset === 0)
      const isLarge = (table.rowEstimate ?? 0) > COUNTED_ROWS_MAX
      if (ends) return { rows, hasMore, totalRows: offset + rows.length }
      if (isLarge) return { rows, hasMore, totalRows: filters.length === 0 ? table.rowEstimate : null }
      const count = countRows(dialect, table, filters)
      const counted = await session.query(count.text, count.values)
      return { rows, hasMore, totalRows: Number(counted.rows[0]?.[0] ?? 0) }
    })
  }

  change(target: SqlTarget, table: Table, changes: readonly RowChange[], call: SqlCall = {}) {
    return this.#withSession(target, READ_WRITE, call, async (session, watch) => {
      await session.begin()
      const found: (Row | undefined)[] = []
      try {
        for (const [index, change] of changes.entries()) {
          found.push(await this.#changeRow(session, table, change).catch((error) => this.#refuse(error, index)))
        }
        watch.refuse()
        await session.commit()
        return found
      } catch (error) {
        await session.rollback().catch(() => undefined)
        throw error
      }
    })
  }

  #refuse(error: unknown, index: number): never {
    throw this.#driver.faultOf(error).at(index)
  }

  async #changeRow(session: SqlSession, table: Table, change: RowChange): Promise<Row | undefined> {
    const { dialect } = this.#driver
    if (change.kind === 'insert') return this.#queryRow(session, table, insertRow(dialect, table, change.values))
    if (change.ifVersion !== undefined) await this.#checkVersion(session, table, change)
    const isDelete = change.kind === 'delete'
    if (!isDelete && change.values.size === 0) {
      const same = await this.#queryRow(session, table, selectByKey(dialect, table, change.key, false))
      if (same === undefined) throw rowNotFound(table)
      return same
    }
    const command = isDelete
      ? deleteRow(dialect, table, change.key)
      : updateRow(dialect, table, change.key, change.values)
    const { affected } = await session.query(command.text, command.values)
    if (affected === 0) throw rowNotFound(table)
    if (affected !== 1) throw new SqlFault('Failed', `The key matches ${affected} rows of "${table.name}", not one.`)
    if (isDelete) return undefined
    const key = new Map(
      keyColumns(table).map((column) => [column, change.values.get(column) ?? change.key.get(column) ?? null]),
    )
    return this.#queryRow(session, table, selectByKey(dialect, table, key, false))
  }

  async #checkVersion(
    session: SqlSession,
    table: Table,
    change: Exclude<RowChange, { kind: 'insert' }>,
  ): Promise<void> {
    const stored = await this.#queryRow(session, table, selectByKey(this.#driver.dialect, table, change.key, true))
    if (stored === undefined) throw rowNotFound(table)
    if (versionOf(stored) !== change.ifVersion)
      throw new SqlFault('RowChanged', `The row of "${table.name}" has changed since it was read.`, { current: stored })
  }

  async #queryRow(session: SqlSession, table: Table, { text, values }: SqlCommand): Promise<SqlValue[] | undefined> {
    return (await session.query(text, values, { columns: table.columns })).rows[0]
  }

  async prepare(target: SqlTarget, wanted: Parameters<SqlEngine['prepare']>[1], call: SqlCall = {}): Promise<void> {
    const inside: SqlSession[] = []
    const openDatabase = async () => {
      const session = await this.#openSession({ ...target, database: wanted.database }, READ_WRITE)
      inside.push(session)
      return session
    }
    const work = (session: SqlSession) => this.#driver.prepare(session, wanted, openDatabase)
    try {
      await this.#withSession(target, READ_WRITE, call, work, { isPooled: false })
    } finally {
      for (const session of inside) session.close()
    }
  }

  async admit(target: SqlTarget, logins: LoginNames, call: SqlCall = {}): Promise<void> {
    const { admit, dialect } = this.#driver
    if (admit === undefined)
      throw new SqlFault('Failed', `Logins of ${dialect} get their access when they are created.`)
    await this.#withSession(target, READ_WRITE, call, (session) => admit(session, logins), { isPooled: false })
  }

  async close(): Promise<void> {
    for (const { session, timer } of [...this.#idle.values()].flat()) {
      clearTimeout(timer)
      session.close()
    }
    this.#idle.clear()
  }

  /** Runs `work` with a session, which is pooled again if still usable. The signal aborts the work and the session. */
  async #withSession<T>(
    target: SqlTarget,
    mode: SessionMode,
    { signal, onBytes }: SqlCall,
    work: (session: SqlSession, watch: CallSupervisor) => Promise<T>,
    { isPooled = true, timeout = this.#callTimeout }: SessionUse = {},
  ): Promise<T> {
    const isGone = () => signal?.aborted === true
    if (isGone()) throw cancelled()
    const key = keyOf(target, mode)
    const session = (isPooled ? this.#takeIdle(key) : undefined) ?? (await this.#openSession(target, mode))
    const watch = superviseCall(session, { signal, timeout })
    const before = session.bytesRead
    try {
      if (isGone()) throw cancelled()
      // Drivers do not settle all pending requests when a session ends.
      const result = await Promise.race([watch.ended, work(session, watch)])
      if (isPooled && session.isUsable) this.#keepIdle(key, session)
      else session.close()
      return result
    } catch (error) {
      session.close()
      const fault = this.#driver.faultOf(error)
      // The cached catalogue is outdated.
      if (fault.reason === 'TableNotFound' || fault.reason === 'UnknownColumn') this.#catalogues.clear()
      throw fault
    } finally {
      watch.stop()
      onBytes?.(session.bytesRead - before)
    }
  }

  async #openSession(target: SqlTarget, mode: SessionMode): Promise<SqlSession> {
    const opening = this.#driver.open(target, mode)
    const expired = Promise.withResolvers<never>()
    const expire = () => expired.reject(new SqlFault('Unreachable', 'The engine lets nobody in.'))
    const timer = setTimeout(expire, Math.min(OPEN_TIMEOUT_MS, this.#callTimeout))
    try {
      return await Promise.race([opening, expired.promise])
    } catch (error) {
      opening.then(
        (session) => session.close(),
        () => undefined,
      )
      throw this.#driver.faultOf(error)
    } finally {
      clearTimeout(timer)
    }
  }

  #takeIdle(key: string): SqlSession | undefined {
    const idle = this.#idle.get(key)
    for (let found = idle?.pop(); found !== undefined; found = idle?.pop()) {
      clearTimeout(found.timer)
      if (found.session.isUsable) return found.session
      found.session.close()
    }
    return undefined
  }

  #keepIdle(key: string, session: SqlSession): void {
    const idle = this.#idle.get(key) ?? []
    this.#idle.set(key, idle)
    if (idle.length >= IDLE_SESSIONS_MAX) {
      session.close()
      return
    }
    const entry: IdleSession = {
      session,
      timer: setTimeout(() => {
        const left = idle.filter((each) => each !== entry)
        idle.splice(0, idle.length, ...left)
        if (left.length === 0) this.#idle.delete(key)
        session.close()
      }, IDLE_TIMEOUT_MS),
    }
    entry.timer.unref()
    idle.push(entry)
  }
}

function tooLargeFailure({ message }: SqlFault): BatchFailure {
  return { statementIndex: 0, code: 'RESULT_TOO_LARGE', message, engineCode: null, line: null, position: null }
}

function rowNotFound(table: Table): SqlFault {
  return new SqlFault('RowNotFound', `"${table.name}" has no row with this key.`)
}

function timeoutFailure(statementIndex: number): BatchFailure {
  const message = 'The batch timed out.'
  return { statementIndex, code: 'QUERY_TIMEOUT', message, engineCode: null, line: null, position: null }
}

/** Faults that concern the session, not a statement of the batch. */
const SESSION_FAULTS: readonly SqlFault['reason'][] = ['Unreachable', 'Cancelled', 'TooLarge']

const CODES: Readonly<Partial<Record<SqlFault['reason'], string>>> = {
  DuplicateKey: 'DUPLICATE_KEY',
  ConstraintViolation: 'CONSTRAINT_VIOLATION',
  Deadlock: 'DEADLOCK',
  InvalidValue: 'INVALID_VALUE',
  TableNotFound: 'TABLE_NOT_FOUND',
  UnknownColumn: 'UNKNOWN_COLUMN',
}

function codeOf({ reason }: SqlFault): string {
  return CODES[reason] ?? 'STATEMENT_FAILED'
}

/** Pool key: sessions are shared within a login and mode. Hashed, to keep the password out. */
function keyOf(target: SqlTarget, mode: SessionMode): string {
  return createHash('sha256')
    .update(JSON.stringify([target, mode]))
    .digest('base64')
}
