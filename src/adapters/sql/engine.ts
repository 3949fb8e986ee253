import { createHash } from 'node:crypto'
import { type Catalogue, keyColumns, type Table } from '../../editor/catalogue.ts'
import { versionOf } from '../../editor/rows.ts'
import {
  type Command,
  countRows,
  deleteRow,
  insertRow,
  selectByKey,
  selectPage,
  updateRow,
} from '../../editor/statements.ts'
import type { SqlValue } from '../../editor/values.ts'
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
const IDLE_MILLISECONDS = 30_000
/** A change of schema by others is seen that much later. Our own is seen at once. */
const CATALOGUE_MILLISECONDS = 5_000
const STATEMENT_MILLISECONDS = 30_000
/** Beyond so many rows the engine's estimate must do. */
const COUNTED_ROWS_MAX = 100_000

/**
 * A page, or what a batch answers, is held in memory whole, and several times while it becomes JSON: whoever has a
 * database can make it answer anything, and others live in the same process.
 */
const ANSWER_MAX_BYTES = 32 * 1024 * 1024
/** Milliseconds between looks at how long an answer is; what comes in meanwhile is little beside the bound. */
const LOOK_AT_LENGTH = 20

const READING: SessionMode = { isReadOnly: true, timeoutMilliseconds: STATEMENT_MILLISECONDS }
const WRITING: SessionMode = { isReadOnly: false, timeoutMilliseconds: STATEMENT_MILLISECONDS }

type Idle = { session: SqlSession; timer: NodeJS.Timeout }

/** The port over a driver: sessions, transactions and what all engines have in common. */
export class DriverEngine implements SqlEngine {
  readonly #driver: SqlDriver
  readonly #idle = new Map<string, Idle[]>()
  readonly #catalogues = new Map<string, { at: number; found: Promise<Catalogue> }>()

  constructor(driver: SqlDriver) {
    this.#driver = driver
  }

  describe(target: SqlTarget, call: SqlCall = {}) {
    return this.#with(target, READING, call, (session) => this.#driver.describe(session))
  }

  async catalogue(target: SqlTarget, call: SqlCall = {}): Promise<Catalogue> {
    const key = keyOf(target, READING)
    const known = this.#catalogues.get(key)
    const now = performance.now()
    if (known !== undefined && now - known.at < CATALOGUE_MILLISECONDS) return known.found
    const found = this.#with(target, READING, call, (session) => this.#driver.catalogue(session, target.database))
    this.#catalogues.set(key, { at: now, found })
    // What failed, or was given up by one caller, is asked anew by the next.
    found.catch(() => this.#catalogues.delete(key))
    if (this.#catalogues.size > 500) this.#catalogues.clear()
    return found
  }

  async run(target: SqlTarget, request: BatchRequest, call: SqlCall = {}): Promise<BatchOutcome> {
    const { isReadOnly, timeoutMilliseconds } = request
    // A session of its own: a batch may leave temporary tables or locks behind, which end with it.
    const mode = { isReadOnly, timeoutMilliseconds }
    const deadline = AbortSignal.timeout(timeoutMilliseconds + 1_000)
    const signal = call.signal === undefined ? deadline : AbortSignal.any([call.signal, deadline])
    try {
      return await this.#with(
        target,
        mode,
        { signal },
        (session, length) => this.#runBatch(session, request, length),
        'single',
      )
    } catch (error) {
      if (isSqlFault(error, 'TooLarge')) return { results: [], messages: [], failure: tooLargeFailure(error) }
      if (!isSqlFault(error, 'Cancelled') || call.signal?.aborted === true) throw error
      return { results: [], messages: [], failure: timeoutFailure(0) }
    } finally {
      if (!isReadOnly) this.#catalogues.clear()
    }
  }

  async #runBatch(session: SqlSession, request: BatchRequest, length: Length): Promise<BatchOutcome> {
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
    length.refuse()
    try {
      await (request.isReadOnly ? session.rollback() : session.commit())
    } catch (error) {
      return { ...outcome, failure: this.#failureOf(error, { index: request.statements.length - 1, text: '' }) }
    }
    return outcome
  }

  #failureOf(error: unknown, statement: { index: number; text: string }): BatchFailure {
    const fault = this.#driver.faultOf(error)
    if (fault.reason === 'Unreachable' || fault.reason === 'Cancelled') throw fault
    if (fault.reason === 'Timeout') return timeoutFailure(statement.index)
    const { message, engineCode, position } = this.#driver.sentenceOf(error)
    const line = position === null ? null : statement.text.slice(0, position).split('\n').length
    return { statementIndex: statement.index, code: codeOf(fault), message, engineCode, line, position }
  }

  async rows(target: SqlTarget, request: RowsRequest, call: SqlCall = {}): Promise<RowsAnswer> {
    const { dialect } = this.#driver
    const { table, limit, offset, filters } = request
    return this.#with(target, READING, call, async (session) => {
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
    return this.#with(target, WRITING, call, async (session, length) => {
      await session.begin()
      const found: (Row | undefined)[] = []
      try {
        for (const [index, change] of changes.entries()) {
          found.push(await this.#changeRow(session, table, change).catch((error) => this.#refuse(error, index)))
        }
        length.refuse()
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
    if (change.kind === 'insert') return this.#one(session, table, insertRow(dialect, table, change.values))
    if (change.ifVersion !== undefined) await this.#checkVersion(session, table, change)
    const isDelete = change.kind === 'delete'
    if (!isDelete && change.values.size === 0) {
      const same = await this.#one(session, table, selectByKey(dialect, table, change.key, false))
      if (same === undefined) throw rowNotFound(table)
      return same
    }
    const command = isDelete
      ? deleteRow(dialect, table, change.key)
      : updateRow(dialect, table, change.key, change.values)
    const { affected } = await session.query(command.text, command.values)
    if (affected === 0) throw rowNotFound(table)
    if (affected !== 1) throw new SqlFault('Failed', `The key names ${affected} rows of "${table.name}", not one.`)
    if (isDelete) return undefined
    const key = new Map(
      keyColumns(table).map((column) => [column, change.values.get(column) ?? change.key.get(column) ?? null]),
    )
    return this.#one(session, table, selectByKey(dialect, table, key, false))
  }

  async #checkVersion(
    session: SqlSession,
    table: Table,
    change: Exclude<RowChange, { kind: 'insert' }>,
  ): Promise<void> {
    const stored = await this.#one(session, table, selectByKey(this.#driver.dialect, table, change.key, true))
    if (stored === undefined) throw rowNotFound(table)
    if (versionOf(stored) !== change.ifVersion)
      throw new SqlFault('RowChanged', `The row of "${table.name}" has changed since it was read.`, { current: stored })
  }

  async #one(session: SqlSession, table: Table, { text, values }: Command): Promise<SqlValue[] | undefined> {
    return (await session.query(text, values, { columns: table.columns })).rows[0]
  }

  async prepare(target: SqlTarget, wanted: Parameters<SqlEngine['prepare']>[1], call: SqlCall = {}): Promise<void> {
    await this.#with(
      target,
      WRITING,
      call,
      (session) =>
        this.#driver.prepare(session, wanted, () =>
          this.#driver.open({ ...target, database: wanted.database }, WRITING),
        ),
      'single',
    )
  }

  async admit(target: SqlTarget, logins: LoginNames, call: SqlCall = {}): Promise<void> {
    const { admit, dialect } = this.#driver
    if (admit === undefined)
      throw new SqlFault('Failed', `Logins of ${dialect} get their access when they are created.`)
    await this.#with(target, WRITING, call, (session) => admit(session, logins), 'single')
  }

  async close(): Promise<void> {
    for (const { session, timer } of [...this.#idle.values()].flat()) {
      clearTimeout(timer)
      session.close()
    }
    this.#idle.clear()
  }

  /** Hands a session out and takes it back, if it is still good. The signal ends both the work and the session. */
  async #with<T>(
    target: SqlTarget,
    mode: SessionMode,
    { signal }: SqlCall,
    work: (session: SqlSession, length: Length) => Promise<T>,
    use: 'pooled' | 'single' = 'pooled',
  ): Promise<T> {
    const isGone = () => signal?.aborted === true
    if (isGone()) throw cancelled()
    const key = keyOf(target, mode)
    const session = (use === 'pooled' ? this.#take(key) : undefined) ?? (await this.#open(target, mode))
    const onAbort = () => session.cancel()
    signal?.addEventListener('abort', onAbort, { once: true })
    const length = boundAnswer(session)
    try {
      if (isGone()) throw cancelled()
      const result = await work(session, length)
      // What was ended at the engine looks like a statement that failed.
      if (isGone()) throw cancelled()
      if (length.hasEnded()) throw tooLarge()
      if (use === 'pooled' && session.isUsable) this.#give(key, session)
      else session.close()
      return result
    } catch (error) {
      session.close()
      if (isGone()) throw cancelled()
      if (length.hasEnded()) throw tooLarge()
      const fault = this.#driver.faultOf(error)
      // The schema is another one than the catalogue says.
      if (fault.reason === 'TableNotFound' || fault.reason === 'UnknownColumn') this.#catalogues.clear()
      throw fault
    } finally {
      length.stop()
      signal?.removeEventListener('abort', onAbort)
    }
  }

  async #open(target: SqlTarget, mode: SessionMode): Promise<SqlSession> {
    try {
      return await this.#driver.open(target, mode)
    } catch (error) {
      throw this.#driver.faultOf(error)
    }
  }

  #take(key: string): SqlSession | undefined {
    const idle = this.#idle.get(key)
    for (let found = idle?.pop(); found !== undefined; found = idle?.pop()) {
      clearTimeout(found.timer)
      if (found.session.isUsable) return found.session
      found.session.close()
    }
    return undefined
  }

  #give(key: string, session: SqlSession): void {
    const idle = this.#idle.get(key) ?? []
    this.#idle.set(key, idle)
    if (idle.length >= IDLE_SESSIONS_MAX) {
      session.close()
      return
    }
    const entry: Idle = {
      session,
      timer: setTimeout(() => {
        const left = idle.filter((each) => each !== entry)
        idle.splice(0, idle.length, ...left)
        if (left.length === 0) this.#idle.delete(key)
        session.close()
      }, IDLE_MILLISECONDS),
    }
    entry.timer.unref()
    idle.push(entry)
  }
}

/** How long an answer is. */
type Length = {
  /** Before what was asked for is committed: nothing stays of what is not answered. @throws SqlFault TooLarge */
  refuse(): void
  /** Whether the session was ended for it. */
  hasEnded(): boolean
  stop(): void
}

/** Ends a session whose engine sends more than is kept of one answer. */
function boundAnswer(session: SqlSession): Length {
  const before = session.bytesRead
  const isOver = () => session.bytesRead - before > ANSWER_MAX_BYTES
  let hasEnded = false
  const timer = setInterval(() => {
    if (!isOver()) return
    clearInterval(timer)
    hasEnded = true
    session.destroy()
  }, LOOK_AT_LENGTH)
  return {
    refuse: () => {
      if (isOver()) throw tooLarge()
    },
    hasEnded: () => hasEnded,
    stop: () => clearInterval(timer),
  }
}

function tooLarge(): SqlFault {
  const bound = `${ANSWER_MAX_BYTES / 1024 / 1024} MiB`
  return new SqlFault('TooLarge', `The answer has more than ${bound}: ask for fewer rows, or for less of long values.`)
}

function tooLargeFailure({ message }: SqlFault): BatchFailure {
  return { statementIndex: 0, code: 'RESULT_TOO_LARGE', message, engineCode: null, line: null, position: null }
}

function cancelled(): SqlFault {
  return new SqlFault('Cancelled', 'The client disconnected.')
}

function rowNotFound(table: Table): SqlFault {
  return new SqlFault('RowNotFound', `"${table.name}" has no row of this key.`)
}

function timeoutFailure(statementIndex: number): BatchFailure {
  const message = 'The batch timed out.'
  return { statementIndex, code: 'QUERY_TIMEOUT', message, engineCode: null, line: null, position: null }
}

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

/** Sessions are shared by those who speak under the same login in the same way. The hash keeps the password out. */
function keyOf(target: SqlTarget, mode: SessionMode): string {
  return createHash('sha256')
    .update(JSON.stringify([target, mode]))
    .digest('base64')
}
