import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Connection, ConnectionConfiguration, Request } from 'tedious'
import { inverted } from '../../core/inverted.ts'
import { quoteIdentifier } from '../../editor/names.ts'
import { type Encoding, type SqlValue, shownValue } from '../../editor/values.ts'
import { AnswerLimiter } from './answerLimiter.ts'
import { resultColumn } from './columns.ts'
import type { QueryOptions, RawResult, SentValue, SessionMode, SqlDriver, SqlSession } from './driver.ts'
import { mssqlCatalogue } from './mssqlCatalogue.ts'
import { isSqlFault, type Login, SqlFault, type SqlFaultReason, type SqlTarget } from './port.ts'

type Tedious = typeof import('tedious')

/** Loaded on first use, because the driver imports large Azure libraries. */
let library: Promise<Tedious> | undefined

function loadDriver(): Promise<Tedious> {
  library ??= import('tedious')
  return library
}

const CONNECT_TIMEOUT_MS = 10_000

type Meta = { colName: string; type: { name: string } }
type Cell = { value: unknown; metadata: Meta }

const ENCODINGS = inverted<Encoding>({
  boolean: 'Bit BitN',
  integer: 'TinyInt SmallInt Int IntN',
  bigint: 'BigInt',
  float: 'Float Real FloatN',
  uuid: 'UniqueIdentifier',
  binary: 'Binary VarBinary Image',
  date: 'Date',
  dateTime: 'DateTime DateTime2 DateTimeN SmallDateTime',
  dateTimeOffset: 'DateTimeOffset',
  time: 'Time',
  decimal: 'Decimal DecimalN Numeric NumericN',
})

function toSqlValue(value: unknown, encoding: Encoding): SqlValue {
  if (value === null || value === undefined) return null
  if (value instanceof Uint8Array) return shownValue('binary', Buffer.from(value).toString('base64'))
  if (value instanceof Date) return formatTime(value, encoding)
  return shownValue(encoding, String(value))
}

/** Formats a time. The driver keeps the fraction below a millisecond in `nanosecondsDelta`. */
function formatTime(value: Date & { nanosecondsDelta?: number }, encoding: Encoding): string {
  const text = value.toISOString().slice(0, -1)
  const rest = Math.round((value.nanosecondsDelta ?? 0) * 1e7)
  const whole = rest > 0 ? `${text}${String(rest).padStart(4, '0')}` : text
  if (encoding === 'date') return whole.slice(0, 10)
  if (encoding === 'time') return whole.slice(11)
  return encoding === 'dateTimeOffset' ? `${whole}+00:00` : whole
}

class MssqlSession implements SqlSession {
  readonly #connection: Connection
  readonly #tedious: Tedious
  isUsable = true

  constructor(connection: Connection, tedious: Tedious) {
    this.#connection = connection
    this.#tedious = tedious
    connection.on('end', () => {
      this.isUsable = false
    })
    connection.on('error', () => {
      this.isUsable = false
    })
  }

  get bytesRead(): number {
    return (this.#connection as unknown as { socket?: { bytesRead: number } }).socket?.bytesRead ?? 0
  }

  query(
    text: string,
    values: readonly SentValue[] = [],
    { maxRows, columns: known }: QueryOptions = {},
  ): Promise<RawResult> {
    const { Request: Ask, TYPES } = this.#tedious
    return new Promise((resolve, reject) => {
      const result: RawResult = { columns: [], rows: [], affected: null, truncated: false }
      const request: Request = new Ask(text, (error, count) => {
        if (error) reject(error)
        else resolve({ ...result, affected: result.columns.length === 0 ? (count ?? null) : null })
      })
      for (const [index, value] of values.entries()) {
        const isBinary = value instanceof Uint8Array
        const sent = isBinary ? Buffer.from(value) : value === null ? null : String(value)
        request.addParameter(`p${index + 1}`, isBinary ? TYPES.VarBinary : TYPES.NVarChar, sent)
      }
      const encodingOf = (meta: Meta, index: number) => known?.[index]?.encoding ?? ENCODINGS[meta.type.name] ?? 'text'
      request.on('columnMetadata', (columns: unknown) => {
        result.columns = (columns as Meta[]).map((meta, index) =>
          resultColumn(meta.colName, index + 1, meta.type.name.toLowerCase(), encodingOf(meta, index)),
        )
      })
      request.on('row', (cells: unknown) => {
        if (maxRows !== undefined && result.rows.length >= maxRows) {
          result.truncated = true
          return
        }
        result.rows.push(
          (cells as Cell[]).map(({ value, metadata }, index) => toSqlValue(value, encodingOf(metadata, index))),
        )
      })
      // Runs through sp_executesql, so that values never become part of the text.
      this.#connection.execSql(request)
    })
  }

  async begin(): Promise<void> {
    await this.query('SET XACT_ABORT ON')
    await new Promise<void>((resolve, reject) =>
      this.#connection.beginTransaction((error) => (error ? reject(error) : resolve())),
    )
  }

  commit(): Promise<void> {
    return new Promise((resolve, reject) =>
      this.#connection.commitTransaction((error) => (error ? reject(error) : resolve())),
    )
  }

  rollback(): Promise<void> {
    return new Promise((resolve, reject) =>
      this.#connection.rollbackTransaction((error) => (error ? reject(error) : resolve())),
    )
  }

  cancel(): void {
    this.isUsable = false
    this.#connection.cancel()
  }

  destroy(): void {
    this.close()
  }

  close(): void {
    this.isUsable = false
    this.#connection.close()
  }
}

const REASONS = inverted<SqlFaultReason>({
  UnknownColumn: '207',
  TableNotFound: '208',
  InvalidValue: '241 242 245 2628 8114 8115 8152 8169',
  ColumnNotWritable: '271 544 8102',
  ConstraintViolation: '515 547',
  DatabaseNotFound: '911 916 4060',
  Deadlock: '1205 1222',
  DuplicateKey: '2601 2627',
  Unauthorized: '18456',
})
const CODES: Readonly<Record<string, SqlFaultReason>> = {
  ELOGIN: 'Unauthorized',
  ETIMEOUT: 'Timeout',
  ECANCEL: 'Timeout',
}

/** SQL Server 2019 and newer. */
export const mssqlDriver: SqlDriver = {
  dialect: 'mssql',

  async open(target, mode) {
    const tedious = await loadDriver()
    const limiter = new AnswerLimiter()
    const connection = new tedious.Connection(mssqlConfiguration(target, mode, limiter))
    const errorNumbers: number[] = []
    connection.on('errorMessage', ({ number }) => errorNumbers.push(number))
    await new Promise<void>((resolve, reject) =>
      // The first message is the cause; the driver's own error is only the last one, that the login failed.
      connection.connect((error) => (error ? reject(Object.assign(error, { number: errorNumbers[0] })) : resolve())),
    )
    limiter.loosen()
    return new MssqlSession(connection, tedious)
  },

  faultOf(error) {
    if (isSqlFault(error)) return error
    const { number, code = '', message = '' } = firstError(error)
    const lost = number === undefined ? 'Unreachable' : 'Failed'
    const reason = (number === undefined ? undefined : REASONS[number]) ?? CODES[code] ?? lost
    const constraint = /constraint ["']([^"']+)["']/i.exec(message)?.[1]
    return new SqlFault(reason, `The engine rejected it (${number ?? code}).`, {
      constraint,
      engineCode: String(number ?? code),
      cause: error,
    })
  },

  sentenceOf(error) {
    const { message, number } = firstError(error)
    const engineCode = number === undefined ? null : String(number)
    return { message: message ?? 'The engine rejected it.', engineCode, position: null }
  },

  async describe(session) {
    const { rows } = await session.query(
      "SELECT CONVERT(nvarchar(128), SERVERPROPERTY('ProductVersion')), CONVERT(nvarchar(128), SERVERPROPERTY('Edition'))",
    )
    return { version: String(rows[0]?.[0] ?? ''), edition: String(rows[0]?.[1] ?? '') }
  },

  catalogue: mssqlCatalogue,

  async prepare(session, { database, collation, logins }, openDatabase) {
    const name = quoteIdentifier('mssql', database)
    const collate = collation !== undefined && /^[A-Za-z0-9_]+$/.test(collation) ? ` COLLATE ${collation}` : ''
    await session.query(`IF DB_ID(${quoteText(database)}) IS NULL CREATE DATABASE ${name}${collate}`)
    for (const { user, password } of Object.values(logins)) {
      const login = quoteIdentifier('mssql', user)
      await session.query(
        `IF SUSER_ID(${quoteText(user)}) IS NULL CREATE LOGIN ${login} WITH PASSWORD = ${quoteText(password)} ELSE ALTER LOGIN ${login} WITH PASSWORD = ${quoteText(password)}`,
      )
    }
    const roles = { reader: ['db_datareader'], writer: ['db_datareader', 'db_datawriter'], owner: ['db_owner'] }
    const inside = await openDatabase()
    for (const [level, { user }] of Object.entries(logins) as [keyof typeof roles, Login][]) {
      const login = quoteIdentifier('mssql', user)
      const created = `IF USER_ID(${quoteText(user)}) IS NULL CREATE USER ${login} FOR LOGIN ${login}`
      const member = roles[level].map(
        (role) => `IF IS_ROLEMEMBER(${quoteText(role)}, ${quoteText(user)}) = 0 ALTER ROLE ${role} ADD MEMBER ${login}`,
      )
      // The tenant's DDL triggers run as the login that makes the change. As dbo they cannot reach beyond this
      // database, even with a REVERT of their own. One batch, because the impersonation ends with it.
      await inside.query(["EXECUTE AS USER = N'dbo'", created, ...member, 'REVERT'].join('; '))
    }
  },
}

/** The driver wraps several messages of one statement in an AggregateError. */
function firstError(error: unknown): { number?: number; code?: string; message?: string } {
  return (error instanceof AggregateError ? error.errors[0] : error) ?? {}
}

/** Quotes our own names and passwords, because these commands take no parameters. */
function quoteText(value: string): string {
  return `N'${value.replaceAll("'", "''")}'`
}

async function waitForConnect(socket: Socket): Promise<Socket> {
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) })
    return socket
  } catch (error) {
    socket.destroy()
    throw error
  }
}

/** @internal Tested for the address that it connects to. */
export function mssqlConfiguration(
  target: SqlTarget,
  { isReadOnly, timeoutMilliseconds }: SessionMode,
  limiter: AnswerLimiter,
): ConnectionConfiguration {
  let isFirst = true
  const { host, port, database, user, password, certificateAuthority } = target
  return {
    server: host,
    authentication: { type: 'default', options: { userName: user, password } },
    options: {
      port,
      // Connects only once: an engine may redirect its client to any address, which nobody has vetted.
      connector: async () => {
        if (!isFirst) throw new Error('The engine sends its client elsewhere.')
        isFirst = false
        return waitForConnect(limiter.hold(connect(port, host)))
      },
      ...(database === '' ? {} : { database }),
      // Longer than our own deadline, because tedious reports this timeout like that of a statement.
      connectTimeout: 2 * CONNECT_TIMEOUT_MS,
      requestTimeout: timeoutMilliseconds,
      cancelTimeout: CONNECT_TIMEOUT_MS,
      // Without a certificate from the platform, the engine uses a self-signed one.
      encrypt: true,
      trustServerCertificate: certificateAuthority === undefined,
      ...(certificateAuthority === undefined ? {} : { cryptoCredentialsDetails: { ca: certificateAuthority } }),
      useUTC: true,
      appName: 'freehold-editor',
      readOnlyIntent: isReadOnly,
      rowCollectionOnRequestCompletion: false,
    },
  }
}
