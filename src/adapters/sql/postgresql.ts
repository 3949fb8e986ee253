import type { EventEmitter } from 'node:events'
import { connect, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import pg from 'pg'
import { inverted } from '../../core/inverted.ts'
import { quoteIdentifier } from '../../editor/names.ts'
import { type SqlValue, shownValue } from '../../editor/values.ts'
import { AnswerLimiter } from './answerLimiter.ts'
import { resultColumn } from './columns.ts'
import type { QueryOptions, RawResult, SentValue, SessionMode, SqlDriver, SqlSession } from './driver.ts'
import { isSqlFault, SqlFault, type SqlFaultReason, type SqlTarget } from './port.ts'
import { postgresqlCatalogue } from './postgresqlCatalogue.ts'
import { buildGrantStatement } from './postgresqlGrants.ts'
import { TYPES } from './postgresqlTypes.ts'

/** Cached by type, because a parser is requested for every value. */
const PARSERS = new Map<number, (text: string) => SqlValue>()

function parserOf(oid: number): (text: string) => SqlValue {
  const known = PARSERS.get(oid)
  if (known !== undefined) return known
  const encoding = TYPES[oid]?.[1] ?? 'text'
  const parser =
    encoding === 'binary'
      ? (text: string) => shownValue('binary', Buffer.from(text.slice(2), 'hex').toString('base64'))
      : (text: string) => shownValue(encoding, text)
  if (PARSERS.size < 10_000) PARSERS.set(oid, parser)
  return parser
}

const CONNECT_TIMEOUT_MS = 10_000

/** Session settings that make the format of values independent of the engine's configuration. */
function sessionSettings({ isReadOnly, timeoutMilliseconds }: SessionMode): string {
  const values = {
    DateStyle: 'ISO',
    IntervalStyle: 'postgres',
    TimeZone: 'UTC',
    bytea_output: 'hex',
    extra_float_digits: '1',
    standard_conforming_strings: 'on',
    statement_timeout: String(timeoutMilliseconds),
    // Shorter than the statement timeout, so that a caller who waits for another's lock gets the right error.
    lock_timeout: '10000',
    idle_in_transaction_session_timeout: '60000',
    default_transaction_read_only: isReadOnly ? 'on' : 'off',
  }
  return Object.entries(values)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ')
}

/** Stops fetching after `maxRows` rows: the library itself would fetch all of them. */
class CappedQuery extends pg.Query {
  isCut = false
  maxRows = Number.POSITIVE_INFINITY

  handleDataRow(message: unknown): void {
    const { _result: result } = this as unknown as { _result: { rows: unknown[] } }
    this.isCut = result.rows.length >= this.maxRows
    if (!this.isCut)
      (pg.Query.prototype as unknown as { handleDataRow(this: unknown, message: unknown): void }).handleDataRow.call(
        this,
        message,
      )
  }

  /** After an error the engine waits for a sync message, which the library omits if rows are limited. */
  handleError(error: Error, connection: { sync(): void; stream: { writable: boolean } } | undefined): void {
    const { rows } = this as unknown as { rows: number | undefined }
    if (rows !== undefined && connection?.stream.writable === true) connection.sync()
    ;(
      pg.Query.prototype as unknown as { handleError(this: unknown, error: Error, connection: unknown): void }
    ).handleError.call(this, error, connection)
  }

  handlePortalSuspended(connection: { sync(): void }): void {
    connection.sync()
  }
}

/** Private parts of the library. */
type ClientInternals = EventEmitter & { stream: Duplex & { bytesRead: number } }

class PostgresqlSession implements SqlSession {
  readonly #client: pg.Client
  readonly #target: SqlTarget
  readonly #isReadOnly: boolean
  isUsable = true

  constructor(client: pg.Client, target: SqlTarget, { isReadOnly }: SessionMode) {
    this.#client = client
    this.#target = target
    this.#isReadOnly = isReadOnly
    client.on('error', () => {
      this.isUsable = false
    })
    client.on('end', () => {
      this.isUsable = false
    })
  }

  get #stream(): ClientInternals['stream'] {
    return (this.#client as unknown as { connection: ClientInternals }).connection.stream
  }

  get bytesRead(): number {
    return this.#stream.bytesRead
  }

  async query(text: string, values: readonly SentValue[] = [], options: QueryOptions = {}): Promise<RawResult> {
    const { result, isCut } = await this.#send(text, values, options.maxRows)
    const rows = result.rows as SqlValue[][]
    const columns = result.fields.map(({ name, dataTypeID }, index) => {
      const [dataType, encoding] = TYPES[dataTypeID] ?? ['text', 'text']
      return resultColumn(name, index + 1, dataType, encoding)
    })
    const isChange = result.command !== 'SELECT' && result.rowCount !== null
    return { columns, rows, affected: isChange ? result.rowCount : null, truncated: isCut }
  }

  #send(
    text: string,
    values: readonly SentValue[],
    maxRows: number | undefined,
  ): Promise<{ result: pg.QueryArrayResult; isCut: boolean }> {
    return new Promise((resolve, reject) => {
      const sent = values.map((value) => (value instanceof Uint8Array ? Buffer.from(value) : value))
      // Only if read-only: a statement with side effects must run for all of its rows.
      const rows = maxRows !== undefined && this.#isReadOnly ? { rows: maxRows + 1 } : {}
      const config = { text, values: sent, rowMode: 'array', queryMode: 'extended', ...rows }
      const query = new CappedQuery(config as never, undefined, (error: Error | undefined, result: unknown) => {
        if (error) reject(error)
        else resolve({ result: result as pg.QueryArrayResult, isCut: query.isCut })
      })
      if (maxRows !== undefined) query.maxRows = maxRows
      this.#client.query(query as never)
    })
  }

  async begin(): Promise<void> {
    await this.query('BEGIN')
  }

  async commit(): Promise<void> {
    await this.query('COMMIT')
  }

  async rollback(): Promise<void> {
    await this.query('ROLLBACK')
  }

  /** Cancels over a separate connection (PostgreSQL, message flow: canceling requests in progress). */
  cancel(): void {
    this.isUsable = false
    type Key = { processID: number | null; secretKey: number | Buffer | null }
    const { processID, secretKey } = this.#client as unknown as Key
    // A server that only speaks the protocol may not give a key.
    if (processID === null || secretKey === null) {
      this.close()
      return
    }
    const { host, port } = this.#target
    const key = typeof secretKey === 'number' ? int32(secretKey) : secretKey
    const socket = connect({ host, port }, () => {
      const body = Buffer.concat([int32(80877102), int32(processID), key])
      socket.write(Buffer.concat([int32(body.length + 4), body]))
      socket.destroySoon()
    })
    socket.setTimeout(CONNECT_TIMEOUT_MS, () => socket.destroy())
    socket.on('error', () => undefined)
    socket.on('close', () => this.close())
  }

  destroy(): void {
    this.cancel()
    this.#stream.destroy()
  }

  close(): void {
    this.isUsable = false
    this.#client.end().catch(() => undefined)
  }
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value | 0)
  return bytes
}

const REASONS = inverted<SqlFaultReason>({
  DuplicateKey: '23505',
  ConstraintViolation: '23503 23502 23514 23P01',
  Deadlock: '40P01 40001 55P03',
  Timeout: '57014',
  TableNotFound: '42P01',
  UnknownColumn: '42703',
  Unauthorized: '28P01 28000',
  DatabaseNotFound: '3D000',
  Unreachable: '57P01 57P02 57P03 53300',
  ColumnNotWritable: '428C9',
})

/** The login may not open the database, or nobody may, as with `template0`. In statements these mean other things. */
const CLOSED_DATABASE_CODES: readonly unknown[] = ['42501', '55000']

function openingFault(error: unknown): unknown {
  const { code } = error as { code?: string }
  if (!CLOSED_DATABASE_CODES.includes(code)) return error
  return new SqlFault('DatabaseNotFound', rejection(code), { engineCode: code, cause: error })
}

const rejection = (code = '') => `The engine rejected it (${code || 'no answer'}).`

/** PostgreSQL 13 and newer. */
export const postgresqlDriver: SqlDriver = {
  dialect: 'postgresql',

  async open(target, mode) {
    if (target.certificateAuthority === '')
      throw new SqlFault('Unreachable', 'The CA for the certificate of the engine does not exist yet.')
    const limiter = new AnswerLimiter()
    const client = new pg.Client({
      stream: () => limiter.hold(new Socket()),
      host: target.host,
      port: target.port,
      database: target.database,
      user: target.user,
      password: target.password,
      ...(target.certificateAuthority === undefined
        ? {}
        : { ssl: { ca: target.certificateAuthority, servername: target.serverName ?? target.host } }),
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      application_name: 'freehold-editor',
      options: sessionSettings(mode),
      types: { getTypeParser: (oid: number) => parserOf(oid) } as never,
    })
    const session = new PostgresqlSession(client, target, mode)
    const { connection } = client as unknown as { connection: ClientInternals }
    connection.once('sslconnect', () => limiter.hold(connection.stream))
    await client.connect().catch((error: unknown) => {
      throw openingFault(error)
    })
    limiter.loosen()
    return session
  },

  faultOf(error) {
    if (isSqlFault(error)) return error
    const { code = '', constraint, column } = error as { code?: string; constraint?: string; column?: string }
    const reason = reasonOf(code)
    return new SqlFault(reason, rejection(code), { constraint: constraint ?? column, engineCode: code, cause: error })
  },

  sentenceOf(error) {
    const { message, code, position } = error as { message?: string; code?: string; position?: string }
    return {
      message: message ?? 'The engine rejected it.',
      engineCode: code ?? null,
      position: position === undefined ? null : Number(position),
    }
  },

  async describe(session) {
    const { rows } = await session.query('SHOW server_version')
    return { version: String(rows[0]?.[0] ?? ''), edition: null }
  },

  catalogue: postgresqlCatalogue,

  async admit(session, logins) {
    await session.query(buildGrantStatement(logins))
  },

  async prepare(session, { database, logins }, openDatabase) {
    const { reader, writer, owner } = logins
    for (const { user, password } of [reader, writer, owner]) {
      const known = await session.query('SELECT 1 FROM pg_roles WHERE rolname = $1', [user])
      const verb = known.rows.length === 0 ? 'CREATE' : 'ALTER'
      // The command takes no parameters. The password is our own, but quoted all the same.
      await session.query(
        `${verb} ROLE ${quoteIdentifier('postgresql', user)} LOGIN PASSWORD '${password.replaceAll("'", "''")}'`,
      )
    }
    const name = quoteIdentifier('postgresql', database)
    const known = await session.query('SELECT 1 FROM pg_database WHERE datname = $1', [database])
    if (known.rows.length === 0)
      await session.query(`CREATE DATABASE ${name} OWNER ${quoteIdentifier('postgresql', owner.user)}`)
    await session.query(`REVOKE ALL ON DATABASE ${name} FROM PUBLIC`)
    await session.query(
      `GRANT CONNECT ON DATABASE ${name} TO ${[reader, writer].map(({ user }) => quoteIdentifier('postgresql', user)).join(', ')}`,
    )
    const inside = await openDatabase()
    // The owner of the database controls its search path, and so which functions an administrator would call.
    await inside.query('SET search_path TO pg_catalog, pg_temp')
    await inside.query(`ALTER SCHEMA public OWNER TO ${quoteIdentifier('postgresql', owner.user)}`)
    await inside.query(`SET ROLE ${quoteIdentifier('postgresql', owner.user)}`)
    await inside.query(buildGrantStatement({ reader: reader.user, writer: writer.user }))
  },
}

function reasonOf(code: string): SqlFaultReason {
  const known = REASONS[code]
  if (known !== undefined) return known
  // Classes 22 (data exception) and 08 (connection exception). A code that is no SQLSTATE comes from the socket.
  if (code.startsWith('22')) return 'InvalidValue'
  return code.startsWith('08') || !/^[0-9A-Z]{5}$/.test(code) ? 'Unreachable' : 'Failed'
}
