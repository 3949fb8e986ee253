import { expect } from 'chai'
import type { SqlDriver, SqlSession } from './driver.ts'
import { DriverEngine } from './engine.ts'
import { isSqlFault, type SqlCall, SqlFault, type SqlTarget } from './port.ts'

const TARGET: SqlTarget = {
  dialect: 'mariadb',
  host: 'db.invalid',
  port: 3306,
  database: 'orders',
  user: 'app',
  password: 'secret',
}
const TABLE = {
  schema: 'app',
  name: 'posts',
  type: 'Table' as const,
  rowEstimate: 1,
  columns: [],
  primaryKey: [],
  foreignKeys: [],
  isEditable: false,
}
const login = { user: 'app', password: 'secret' }
let pendingCalls = 0
const never = () => {
  pendingCalls += 1
  return new Promise<never>(() => undefined)
}

/** Accepts a login and answers nothing: its node is down, or it is malicious. */
class SilentSession implements SqlSession {
  isUsable = true
  bytesRead = 0
  ended = new Set<string>()
  query = never
  begin = never
  commit = never
  rollback = never
  cancel = () => void this.ended.add('cancel')
  destroy = () => void this.ended.add('destroy')
  close = () => void this.ended.add('close')
}

describe('DriverEngine, connected to a server that does not answer', () => {
  let sessions: SilentSession[]
  const open = async () => {
    const session = new SilentSession()
    sessions.push(session)
    return session
  }
  const driver: SqlDriver = {
    dialect: 'mariadb',
    open,
    faultOf: (error) => (isSqlFault(error) ? error : new SqlFault('Failed', 'It failed.')),
    sentenceOf: () => ({ message: '', engineCode: null, position: null }),
    describe: never,
    catalogue: never,
    admit: never,
    prepare: never,
  }
  const batch = { statements: [], parameters: {}, isReadOnly: true, maxRows: 1, timeoutMilliseconds: 1 }
  const rows = { table: TABLE, limit: 1, offset: 0, filters: [], sort: undefined }
  const logins = { reader: login, writer: login, owner: login }
  const calls: Record<string, (engine: DriverEngine, call?: SqlCall) => Promise<unknown>> = {
    describe: (engine, call) => engine.describe(TARGET, call),
    catalogue: (engine) => engine.catalogue(TARGET),
    run: (engine, call) => engine.run(TARGET, batch, call),
    rows: (engine, call) => engine.rows(TARGET, rows, call),
    change: (engine, call) => engine.change(TARGET, TABLE, [], call),
    prepare: (engine, call) => engine.prepare(TARGET, { database: 'orders', logins }, call),
    admit: (engine, call) => engine.admit(TARGET, { reader: 'r', writer: 'w' }, call),
  }
  it('shares one catalogue query between concurrent callers', async () => {
    const engine = new DriverEngine(driver, { timeout: 1 })
    const both = [engine.catalogue(TARGET), engine.catalogue(TARGET)]
    expect((await Promise.allSettled(both)).map(({ status }) => status)).to.deep.equal(['rejected', 'rejected'])
    expect(pendingCalls).to.equal(1)
  })

  beforeEach(() => {
    sessions = []
    pendingCalls = 0
  })
  const reasonOf = (work: Promise<unknown>) =>
    work.then(
      (answer) => (answer as { failure?: { code: string } }).failure?.code,
      (error: unknown) => (error as SqlFault).reason,
    )

  for (const [name, call] of Object.entries(calls)) {
    it(`reports Unreachable if nobody can sign in: ${name}`, async () => {
      const reason = await reasonOf(call(new DriverEngine({ ...driver, open: never }, { timeout: 1 })))
      expect(reason).to.equal('Unreachable')
    })

    it(`gives up after the timeout: ${name}`, async () => {
      const reason = await reasonOf(call(new DriverEngine(driver, { timeout: 1 })))
      expect(reason).to.equal(name === 'run' ? 'QUERY_TIMEOUT' : 'Timeout')
      expect([...(sessions[0]?.ended ?? [])]).to.include('destroy')
    })

    // The catalogue is shared by many callers.
    if (name === 'catalogue') continue
    it(`gives up when the caller aborts: ${name}`, async () => {
      const control = new AbortController()
      const reason = reasonOf(call(new DriverEngine(driver), { signal: control.signal }))
      while (pendingCalls === 0) await Promise.resolve()
      control.abort()
      expect(await reason).to.equal('Cancelled')
      expect([...(sessions[0]?.ended ?? [])]).to.include('cancel')
    })
  }
})
