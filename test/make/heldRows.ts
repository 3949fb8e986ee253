import type { SqlSession } from '../../src/adapters/sql/driver.ts'
import type { SqlServer } from '../cluster/sqlServers.ts'
import { until } from './until.ts'

/**
 * Another session on the same database, as its administrator: locks rows that the editor needs, and ends its
 * statements.
 */
export class OtherSession {
  readonly #session: SqlSession
  readonly #watcher: SqlSession
  readonly #isPostgresql: boolean

  private constructor(isPostgresql: boolean, session: SqlSession, watcher: SqlSession) {
    this.#session = session
    this.#watcher = watcher
    this.#isPostgresql = isPostgresql
  }

  static async open(server: SqlServer, database: string): Promise<OtherSession> {
    const mode = { isReadOnly: false, timeoutMilliseconds: 30_000 }
    const open = () => server.driver.open({ ...server.target, database }, mode)
    return new OtherSession(server.target.dialect === 'postgresql', await open(), await open())
  }

  /**
   * Locks rows in a heavier transaction that does not detect deadlocks itself: of two waiting for each other, the
   * engine ends the lighter one (MariaDB), or the one that notices (PostgreSQL).
   */
  async hold(statement: string): Promise<void> {
    await this.#session.begin()
    if (this.#isPostgresql) await this.#session.query("SET LOCAL deadlock_timeout = '60s'")
    await this.#session.query(statement)
  }

  /** Another statement, which may block. */
  async also(statement: string): Promise<void> {
    await this.#session.query(statement)
  }

  async release(): Promise<void> {
    await this.#session.rollback()
  }

  /** Waits until the editor's login is blocked. @returns the number of its session */
  waiting(): Promise<number> {
    const sessions = this.#isPostgresql
      ? "SELECT pid FROM pg_stat_activity WHERE usename = 'app_writer' AND wait_event_type = 'Lock'"
      : // The table of transactions is a copy that is not renewed if it is asked for too often.
        "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'app_writer' AND COMMAND <> 'Sleep' AND TIME_MS > 100"
    return until('the editor waits for rows', async () => {
      const { rows } = await this.#watcher.query(sessions)
      return rows[0] === undefined ? false : Number(rows[0][0])
    })
  }

  /** Waits until a login of the editor runs a statement. @returns the number of its session */
  running(user: string): Promise<number> {
    const sessions = this.#isPostgresql
      ? `SELECT pid FROM pg_stat_activity WHERE usename = '${user}' AND state = 'active'`
      : `SELECT ID FROM information_schema.PROCESSLIST WHERE USER = '${user}' AND COMMAND <> 'Sleep'`
    return until(`${user} runs a statement`, async () => {
      const { rows } = await this.#watcher.query(sessions)
      return rows[0] === undefined ? false : Number(rows[0][0])
    })
  }

  /** Ends a session's statement but not the session, like an engine's own timeout. */
  async interrupt(session: number): Promise<void> {
    await this.#watcher.query(this.#isPostgresql ? `SELECT pg_cancel_backend(${session})` : `KILL QUERY ${session}`)
  }

  close(): void {
    this.#session.close()
    this.#watcher.close()
  }
}
