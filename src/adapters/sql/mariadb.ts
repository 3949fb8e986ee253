import { connect, type Socket } from 'node:net'
import type * as Mariadb from 'mariadb'
import { inverted } from '../../core/inverted.ts'
import { quoteIdentifier } from '../../editor/names.ts'
import { type Encoding, type SqlValue, shownValue, VALUE_MAX_BYTES } from '../../editor/values.ts'
import { AnswerLimiter } from './answerLimiter.ts'
import { resultColumn } from './columns.ts'
import type { QueryOptions, RawResult, SentValue, SessionMode, SqlDriver, SqlSession } from './driver.ts'
import { mariadbCatalogue } from './mariadbCatalogue.ts'
import { isSqlFault, type Login, SqlFault, type SqlFaultReason } from './port.ts'

const CONNECT_TIMEOUT_MS = 10_000
/** ER_UNSUPPORTED_PS: a few SHOW commands cannot be prepared. */
const UNSUPPORTED_PS = 1295
/** Collation id of the character set `binary`. */
const BINARY_COLLATION = 63
/** Column length of BIT(1) in a result. */
const ONE_BIT = 1

type Column = Mariadb.FieldInfo & {
  collation: { index: number }
  isDataTypeFormatJson(): boolean
  dataTypeName?: string
}

const ENCODINGS = inverted<Encoding>({
  integer: 'TINY SHORT INT24 INT YEAR',
  bigint: 'BIGINT',
  decimal: 'DECIMAL NEWDECIMAL',
  float: 'FLOAT DOUBLE',
  date: 'DATE NEWDATE',
  time: 'TIME',
  dateTime: 'DATETIME TIMESTAMP',
  json: 'JSON',
  binary: 'GEOMETRY',
})

function encodingOf(column: Column): Encoding {
  if (column.type === ('BIT' as never)) return column.columnLength === ONE_BIT ? 'boolean' : 'bigint'
  const known = ENCODINGS[String(column.type)]
  if (known !== undefined) return known
  if (column.isDataTypeFormatJson()) return 'json'
  if (column.dataTypeName === 'uuid') return 'uuid'
  return column.collation.index === BINARY_COLLATION && column.dataTypeName === undefined ? 'binary' : 'text'
}

/** Reads each value as the text that the engine sends, so that nothing is rounded. */
function readValue(column: Column): SqlValue {
  // Called for every value, so the encoding is cached on the column.
  const known = column as Column & { encoding?: Encoding }
  known.encoding ??= encodingOf(column)
  const { encoding } = known
  if (column.type === ('BIT' as never)) {
    const bytes = column.buffer()
    if (bytes === null) return null
    const number = BigInt(`0x${bytes.toString('hex') || '0'}`)
    return encoding === 'boolean' ? number === 1n : String(number)
  }
  if (encoding === 'binary') return shownValue('binary', column.buffer()?.toString('base64') ?? null)
  const text = column.string()
  // Prepared statements send FLOAT as four bytes, whose decimal form has more digits than the value.
  if (column.type === ('FLOAT' as never) && text !== null && text.length > 9) return shortestFloat(Number(text))
  if (column.type === ('TIME' as never) && text !== null) return withFraction(text, column.scale)
  return shownValue(encoding, text)
}

/** The text protocol and the prepared protocol differ in whether they send a zero fraction. */
function withFraction(text: string, digits: number): string {
  if (digits === 0 || digits > 6) return text
  const [whole = '', fraction = ''] = text.split('.')
  return `${whole}.${fraction.padEnd(digits, '0').slice(0, digits)}`
}

function shortestFloat(value: number): number {
  for (let digits = 6; digits <= 9; digits += 1) {
    const rounded = Number(value.toPrecision(digits))
    if (Math.fround(rounded) === Math.fround(value)) return rounded
  }
  return value
}

const IDENTITY = (value: unknown) => value as SqlValue
/** Turns off conversions of the driver: values of SET, large numbers, times and JSON stay as the engine writes them. */
const DRIVER_OPTIONS = { typeCast: undefined, dateStrings: true, autoJsonMap: false, jsonStrings: true } as const
/** Conversion of values that the driver reads by itself. Columns of other encodings go through `readValue`. */
const VALUE_READERS: Readonly<Partial<Record<Encoding, (value: unknown) => SqlValue>>> = {
  integer: IDENTITY,
  float: IDENTITY,
  decimal: String,
  bigint: String,
  date: IDENTITY,
  dateTime: (value) => String(value).replace(' ', 'T'),
  text: (value) => {
    const text = Array.isArray(value) ? value.join(',') : (value as string)
    return text.length > VALUE_MAX_BYTES / 4 ? shownValue('text', text) : text
  },
}

type OpenConnection = {
  connection: Mariadb.Connection
  socket: Socket
  /** Opens another connection with the same login. */
  openAnother: () => Promise<Mariadb.Connection>
}

class MariadbSession implements SqlSession {
  readonly #connection: Mariadb.Connection
  readonly #socket: Socket
  readonly #isReadOnly: boolean
  readonly #openAnother: () => Promise<Mariadb.Connection>
  isUsable = true

  constructor({ connection, socket, openAnother }: OpenConnection, { isReadOnly }: SessionMode) {
    this.#isReadOnly = isReadOnly
    this.#openAnother = openAnother
    this.#connection = connection
    this.#socket = socket.on('error', () => undefined)
    connection.on('error', () => {
      this.isUsable = false
    })
    connection.on('end', () => {
      this.isUsable = false
    })
  }

  get bytesRead(): number {
    return this.#socket.bytesRead
  }

  async query(text: string, values: readonly SentValue[] = [], options: QueryOptions = {}): Promise<RawResult> {
    const { maxRows, columns } = options
    const sent = values.map((value) => (value instanceof Uint8Array ? Buffer.from(value) : value))
    if (maxRows !== undefined) return this.#queryCapped(text, sent, maxRows)
    // Values are always sent apart from the text. Without values, a plain query saves a round trip, unless there are
    // FLOAT columns, which the text protocol rounds to six digits.
    const isPlain = sent.length === 0 && columns?.some(({ dataType }) => dataType === 'float') !== true
    if (isPlain && columns?.every(({ encoding }) => VALUE_READERS[encoding] !== undefined) === true)
      return this.#queryPage(text, columns)
    const answer = await (isPlain ? this.#connection.query(text) : this.#connection.execute(text, sent))
    const [rows, meta] = answer as [SqlValue[][] | Mariadb.UpsertResult, Column[]]
    if (!Array.isArray(rows)) return resultWithoutRows(rows)
    return { columns: columnsOf(meta), rows, affected: null, truncated: false }
  }

  /** Reads a page of simple types with the driver's own readers, which are faster than a callback per value. */
  async #queryPage(text: string, columns: NonNullable<QueryOptions['columns']>): Promise<RawResult> {
    const [rows, meta] = (await this.#connection.query({ sql: text, ...DRIVER_OPTIONS } as never)) as [
      unknown[][],
      Column[],
    ]
    for (const [index, { encoding }] of columns.entries()) {
      const show = VALUE_READERS[encoding]
      if (show === IDENTITY || show === undefined) continue
      for (const row of rows) row[index] = row[index] === null ? null : show(row[index])
    }
    return { columns: columnsOf(meta), rows: rows as SqlValue[][], affected: null, truncated: false }
  }

  /** If read-only, limits the rows at the engine. Otherwise reads all rows to complete the change, and keeps some. */
  async #queryCapped(text: string, values: SentValue[], maxRows: number): Promise<RawResult> {
    if (this.#isReadOnly) await this.#connection.query(`SET SESSION sql_select_limit = ${maxRows + 1}`)
    const prepared = await this.#connection.prepare(text).catch((error: Mariadb.SqlError) => {
      if (error.errno === UNSUPPORTED_PS && values.length === 0) return undefined
      throw error
    })
    const stream = prepared === undefined ? this.#connection.queryStream(text) : prepared.executeStream(values)
    try {
      return await new Promise((resolve, reject) => {
        const result: RawResult = { columns: [], rows: [], affected: null, truncated: false }
        stream.on('error', reject)
        stream.on('fields', (meta: Column[]) => {
          result.columns = columnsOf(meta)
        })
        stream.on('data', (row: SqlValue[] | Mariadb.UpsertResult) => {
          if (!Array.isArray(row)) result.affected = Number(row.affectedRows)
          else if (result.rows.length < maxRows) result.rows.push(row)
          else result.truncated = true
        })
        stream.on('end', () => resolve(result))
      })
    } finally {
      prepared?.close()
    }
  }

  async begin(): Promise<void> {
    await this.#connection.query('START TRANSACTION')
  }

  async commit(): Promise<void> {
    await this.#connection.query('COMMIT')
  }

  async rollback(): Promise<void> {
    await this.#connection.query('ROLLBACK')
  }

  /** Like the driver's own cancel, but handles errors, for example if the session has already ended. */
  cancel(): void {
    this.isUsable = false
    void this.#kill()
      .catch(() => undefined)
      .finally(() => this.#destroySocket())
  }

  async #kill(): Promise<void> {
    const { threadId } = this.#connection
    if (threadId === null) return
    const other = await this.#openAnother()
    other.on('error', () => undefined)
    try {
      await other.query(`KILL ${threadId}`)
    } finally {
      other.end().catch(() => undefined)
    }
  }

  destroy(): void {
    this.cancel()
    this.close()
  }

  close(): void {
    const wasUsable = this.isUsable
    this.isUsable = false
    if (wasUsable) this.#connection.end().catch(() => undefined)
    // Otherwise data in flight would be received until the engine is reached again, if ever.
    else this.#destroySocket()
  }

  /** The driver rejects pending requests only if the socket reports an error. */
  #destroySocket(): void {
    this.#socket.destroy(new Error('The session was ended.'))
  }
}

function resultWithoutRows({ affectedRows }: Mariadb.UpsertResult): RawResult {
  return { columns: [], rows: [], affected: Number(affectedRows), truncated: false }
}

function columnsOf(meta: readonly Column[] | undefined) {
  return (meta ?? []).map((column, index) =>
    resultColumn(
      column.name(),
      index + 1,
      column.dataTypeName ?? String(column.type).toLowerCase(),
      encodingOf(column),
    ),
  )
}

const REASONS = inverted<SqlFaultReason>({
  DatabaseNotFound: '1044 1049 1102',
  Unauthorized: '1045',
  ConstraintViolation: '1048 1216 1217 1364 1451 1452 4025',
  Unreachable: '1040 1053',
  UnknownColumn: '1054',
  DuplicateKey: '1062 1169',
  TableNotFound: '1146',
  Deadlock: '1205 1213',
  InvalidValue: '1264 1265 1292 1366 1367 1406 1416',
  Timeout: '1317 1969 3024',
  ColumnNotWritable: '1906',
})

/** Names that no database can have: too long, or with invalid characters. In statements the codes differ in meaning. */
const INVALID_NAME_CODES = [1059, 1300]

function openingFault(error: unknown): unknown {
  const { errno = 0 } = error as Mariadb.SqlError
  if (!INVALID_NAME_CODES.includes(errno)) return error
  return new SqlFault('DatabaseNotFound', `The engine rejected it (${errno}).`, {
    engineCode: String(errno),
    cause: error,
  })
}

export const mariadbDriver: SqlDriver = {
  dialect: 'mariadb',

  async open(target, mode) {
    // Loaded on first use: most platforms start without such an instance.
    const { createConnection } = await import('mariadb')
    const limiter = new AnswerLimiter()
    const dial = (held: AnswerLimiter) => held.hold(connect(target.port, target.host).setNoDelay(true))
    let own: Socket | undefined
    const signIn = {
      host: target.host,
      port: target.port,
      user: target.user,
      password: target.password,
      ...(target.certificateAuthority === undefined ? {} : { ssl: { ca: target.certificateAuthority } }),
      connectTimeout: CONNECT_TIMEOUT_MS,
      connectAttributes: { program_name: 'freehold-editor' },
      permitLocalInfile: false,
      permitRedirect: false,
    }
    const openAnother = () =>
      createConnection({ ...signIn, stream: () => dial(new AnswerLimiter()) } as unknown as Mariadb.ConnectionConfig)
    const connection = await createConnection({
      ...signIn,
      stream: () => (own = dial(limiter)),
      database: target.database === '' ? undefined : target.database,
      charset: 'utf8mb4',
      multipleStatements: false,
      // Rows as arrays, with column metadata. No cache of prepared statements, which would pile up at the engine.
      rowsAsArray: true,
      metaAsArray: true,
      prepareCacheLength: 0,
      insertIdAsNumber: false,
      typeCast: readValue as never,
      initSql: sessionSettings(mode),
    } as Mariadb.ConnectionConfig).catch((error: unknown) => {
      throw openingFault(error)
    })
    limiter.loosen()
    return new MariadbSession({ connection, socket: own as unknown as Socket, openAnother }, mode)
  },

  faultOf(error) {
    if (isSqlFault(error)) return error
    const { errno = 0, sqlState = '', sqlMessage } = error as Mariadb.SqlError
    // From 45000 on, the driver numbers errors of its own connection.
    const isLost = errno >= 45_000 || errno < 1000 || sqlState?.startsWith('08') === true
    const reason = REASONS[errno] ?? (isLost ? 'Unreachable' : 'Failed')
    const constraint = /CONSTRAINT [`"]([^`"]+)[`"]|for key '([^']+)'/.exec(sqlMessage ?? '')
    const column =
      reason === 'InvalidValue' ? /column (?:[`'][^.]*[`']\.)*[`']([^`']+)[`']/.exec(sqlMessage ?? '')?.[1] : undefined
    return new SqlFault(reason, `The engine rejected it (${errno || 'no answer'}).`, {
      constraint: constraint?.[1] ?? constraint?.[2],
      column,
      engineCode: String(errno),
      cause: error,
    })
  },

  sentenceOf(error) {
    const { sqlMessage, errno } = error as Mariadb.SqlError
    const engineCode = errno === undefined ? null : String(errno)
    return { message: sqlMessage ?? 'The engine rejected it.', engineCode, position: null }
  },

  async describe(session) {
    const { rows } = await session.query('SELECT VERSION()')
    return { version: String(rows[0]?.[0] ?? '').replace(/-MariaDB.*$/i, ''), edition: 'Community' }
  },

  catalogue: mariadbCatalogue,

  async prepare(session, { database, collation, logins }) {
    const name = quoteIdentifier('mariadb', database)
    await session.query(`CREATE DATABASE IF NOT EXISTS ${name} CHARACTER SET utf8mb4${collationClause(collation)}`)
    const rights = { reader: 'SELECT, SHOW VIEW', writer: 'SELECT, SHOW VIEW, INSERT, UPDATE, DELETE', owner: 'ALL' }
    for (const [level, login] of Object.entries(logins) as [keyof typeof rights, Login][]) {
      const account = `${quoteText(login.user)}@'%'`
      await session.query(`CREATE USER IF NOT EXISTS ${account} IDENTIFIED BY ${quoteText(login.password)}`)
      await session.query(`ALTER USER ${account} IDENTIFIED BY ${quoteText(login.password)}`)
      // In the database name of a GRANT, `_` and `%` are wildcards.
      const pattern = quoteIdentifier('mariadb', database.replace(/[_%\\]/g, '\\$&'))
      await session.query(`GRANT ${rights[level]} ON ${pattern}.* TO ${account}`)
    }
  },
}

/** Quotes our own names and passwords, because these commands take no parameters. */
function quoteText(value: string): string {
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}

function collationClause(collation: string | undefined): string {
  return collation !== undefined && /^utf8mb4_[a-z0-9_]+$/.test(collation) ? ` COLLATE ${collation}` : ''
}

function sessionSettings({ isReadOnly, timeoutMilliseconds }: SessionMode): string[] {
  return [
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', lock_wait_timeout = 10, innodb_lock_wait_timeout = 10, sql_select_limit = DEFAULT",
    `SET SESSION max_statement_time = ${(timeoutMilliseconds / 1000).toFixed(3)}`,
    `SET SESSION TRANSACTION READ ${isReadOnly ? 'ONLY' : 'WRITE'}`,
  ]
}
