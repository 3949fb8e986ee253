import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import type { RowChange, RowFilter } from '../../src/adapters/sql/port.ts'
import { findColumn, type Table } from '../../src/editor/catalogue.ts'
import { bindValue } from '../../src/editor/values.ts'
import { hostileStatements, hostileTexts } from '../cases/hostileSql.ts'
import { TYPES, type TypeCase } from '../cases/sqlTypes.ts'
import type { SqlServer } from '../cluster/sqlServers.ts'
import { TEST_CONFIG } from '../config.ts'
import { OtherSession } from '../make/heldRows.ts'
import { until } from '../make/until.ts'
import { bound, faultOf, insert, page, run, type SqlWorld, tableOf } from './sqlContract.ts'

type World = SqlWorld & { server: SqlServer }

const HOSTILE_VALUES = TEST_CONFIG.sized(1_000, 4_000)
const HOSTILE_NAMES = TEST_CONFIG.sized(750, 3_000)
const HOSTILE_STATEMENTS = TEST_CONFIG.sized(750, 3_000)

/** What only a real engine can show: types, logins, limits, broken connections, and hostile input. */
export function engineSuite(world: () => World): void {
  const asOwner = async (sql: string) => {
    const { failure } = await run(world(), 'owner', sql)
    if (failure !== undefined) throw new Error(`${sql}: ${failure.message}`)
  }
  /** As administrator, past everything that is tested here. */
  const directly = async (sql: string) => {
    const { server } = world()
    const session = await server.driver.open(
      { ...server.target, database: 'app' },
      { isReadOnly: false, timeoutMilliseconds: 10_000 },
    )
    try {
      return (await session.query(sql)).rows
    } finally {
      session.close()
    }
  }
  const fingerprint = async () => {
    const { server, engine, targets } = world()
    const tables = ['items', 'pairs', 'loose', 'treasure']
    const contents = await Promise.all(tables.map((table) => directly(`SELECT * FROM ${table} ORDER BY 1`)))
    const catalogue = await engine.catalogue({
      ...targets.owner,
      user: server.target.user,
      password: server.target.password,
    })
    const names = catalogue.schemas.map(({ name, tables: found }) => [name, found.map((table) => table.name)])
    return JSON.stringify([contents, names])
  }

  describe('a real engine', () => {
    before(async () => {
      await asOwner('CREATE TABLE treasure (id int PRIMARY KEY, gold varchar(200))')
      await directly("INSERT INTO treasure VALUES (1, 'untouched')")
    })

    for (const scope of ['all types', 'simple types'] as const)
      it(`stores and returns ${scope} unchanged`, async () => {
        const { server } = world()
        // Drivers may read pages of simple types differently.
        const isSimple = ([type, encoding]: TypeCase) =>
          type !== 'float' && /^(integer|bigint|decimal|float|text|date|dateTime)$/.test(encoding)
        const cases = (TYPES[server.target.dialect] ?? []).filter((each) => scope === 'all types' || isSimple(each))
        const kinds = scope === 'all types' ? 'kinds' : 'simple_kinds'
        expect(cases.length).to.be.greaterThan(10)
        const columns = cases.map(([type], index) => `c${index} ${type}`).join(', ')
        await asOwner(`CREATE TABLE ${kinds} (id int PRIMARY KEY, ${columns})`)
        const table = await tableOf(world(), kinds)
        const longest = Math.max(...cases.map(([, , ...values]) => values.length))
        const { engine, targets } = world()
        for (let round = 0; round <= longest; round += 1) {
          const given = Object.fromEntries(cases.map(([, , ...values], index) => [`c${index}`, values[round] ?? null]))
          const [row] = await engine.change(targets.writer, table, [insert(table, { id: round, ...given })])
          const found = await engine.rows(targets.reader, page(table, { limit: 1, offset: round }))
          const queried = await run(world(), 'reader', `select * from ${kinds} where id = ${round}`)
          for (const [index, [type, encoding]] of cases.entries()) {
            expect(table.columns[index + 1]?.encoding, type).to.equal(encoding)
            expect(row?.[index + 1], `${type} as it was stored`).to.deep.equal(given[`c${index}`])
            expect(found.rows[0]?.[index + 1], `${type} in a page`).to.deep.equal(given[`c${index}`])
            if (encoding === 'wkt' || type === 'money') continue
            expect(queried.results[0]?.rows[0]?.[index + 1], `${type} in a query`).to.deep.equal(given[`c${index}`])
          }
        }
      })

    it('compares values of each type', async () => {
      const { server, engine, targets } = world()
      // To an engine, the same number with half the digits is a different one.
      const cases = (TYPES[server.target.dialect] ?? []).filter(([type]) => type !== 'float' && type !== 'real')
      await asOwner(
        `CREATE TABLE compared (id int PRIMARY KEY, ${cases.map(([type], index) => `c${index} ${type}`).join(', ')})`,
      )
      const table = await tableOf(world(), 'compared')
      const given = Object.fromEntries(cases.map(([, , value], index) => [`c${index}`, value]))
      await engine.change(targets.writer, table, [insert(table, { id: 1, ...given })])
      for (const [index, [type, , value]] of cases.entries()) {
        const column = findColumn(table, `c${index}`)
        const values = [bindValue(column, value)]
        const found = async (operator: RowFilter['operator']) =>
          (await engine.rows(targets.reader, page(table, { filters: [{ column, operator, values }] }))).rows.length
        for (const [operator, count] of [
          ['eq', 1],
          ['in', 1],
          ['ge', 1],
          ['le', 1],
          ['ne', 0],
          ['gt', 0],
          ['lt', 0],
          ['exists', 1],
          ['missing', 0],
        ] as const)
          expect(await found(operator), `${type} ${operator}`).to.equal(count)
      }
    })

    it('finds a row by a key of each type', async () => {
      const types = ['bigint', 'decimal(30,4)', 'varchar(40)', 'date']
      const keys = [
        ['9007199254740993', '9007199254740992'],
        ['1.0000', '1.0001'],
        ["o'clock", 'x'],
        ['2026-03-01', '2026-03-02'],
      ]
      for (const [index, type] of types.entries()) {
        await asOwner(`CREATE TABLE keyed${index} (k ${type} PRIMARY KEY, v int)`)
        const table = await tableOf(world(), `keyed${index}`)
        const { engine, targets } = world()
        await engine.change(
          targets.writer,
          table,
          (keys[index] ?? []).map((k) => insert(table, { k, v: 1 })),
        )
        const [first = ''] = keys[index] ?? []
        await engine.change(targets.writer, table, [
          { kind: 'delete', key: bound(table, { k: first }), ifVersion: undefined },
        ])
        expect((await engine.rows(targets.reader, page(table))).rows, type).to.have.length(1)
      }
    })

    it(`stores and finds ${HOSTILE_VALUES} hostile values unchanged`, async () => {
      const before = await fingerprint()
      await asOwner('CREATE TABLE inbox (id int PRIMARY KEY, note text)')
      const table = await tableOf(world(), 'inbox')
      const { engine, targets } = world()
      const values = hostileTexts(HOSTILE_VALUES)
      for (let at = 0; at < values.length; at += 500) {
        const some = values.slice(at, at + 500).map((note, index) => insert(table, { id: at + index, note }))
        await engine.change(targets.writer, table, some)
      }
      const { rows } = await engine.rows(targets.reader, page(table, { limit: HOSTILE_VALUES }))
      expect(rows.map(([, note]) => note)).to.deep.equal(values)
      const column = table.columns[1]
      if (column === undefined) throw new Error('The table has no column.')
      for (const value of values.slice(0, 200)) {
        const filters = [{ column, operator: 'eq' as const, values: [value] }]
        const found = await engine.rows(targets.reader, page(table, { filters, limit: 1000 }))
        expect(found.rows.length, value).to.be.greaterThan(0)
      }
      await asOwner('DROP TABLE inbox')
      expect(await fingerprint()).to.equal(before)
    })

    it(`rejects ${HOSTILE_NAMES} hostile names of tables, columns and keys`, async () => {
      const before = await fingerprint()
      const table = await tableOf(world(), 'treasure')
      for (const name of hostileTexts(HOSTILE_NAMES)) {
        if (name === 'treasure') continue
        expect(await faultOf(tableOf(world(), name))).to.equal('TableNotFound')
        expect(() => bound(table, { [name]: 'x' })).to.throw(/has no column/)
        expect(() => bound(table, { id: name })).to.throw(/not a valid \w+ value/)
      }
      expect(await fingerprint()).to.equal(before)
    })

    it(`lets a reader change nothing with ${HOSTILE_STATEMENTS} hostile statements`, async () => {
      const before = await fingerprint()
      const { engine, targets } = world()
      const { classify } = await import('../../src/editor/classify.ts')
      let ran = 0
      for (const sql of hostileStatements(HOSTILE_STATEMENTS)) {
        const { statements, kind } = await classify(targets.reader.dialect, sql)
        const isRead = kind === 'Read' && statements.every(({ refusal }) => refusal === undefined)
        // Batches classified as reads, and some others: there the engine itself must refuse.
        if (!isRead && ran % 25 !== 0) {
          ran += 1
          continue
        }
        ran += 1
        const request = { statements, parameters: {}, isReadOnly: true, maxRows: 10, timeoutMilliseconds: 2_000 }
        await faultOf(engine.run(targets.reader, request))
      }
      expect(await fingerprint()).to.equal(before)
    })

    it('rolls back all rows if the connection breaks during many changes', async () => {
      await asOwner('CREATE TABLE half (id int PRIMARY KEY, v varchar(40))')
      const table = await tableOf(world(), 'half')
      const { engine, targets, server } = world()
      const changes = Array.from({ length: 5_000 }, (_, id) => insert(table, { id, v: randomBytes(8).toString('hex') }))
      const outcome = faultOf(engine.change(targets.writer, table, changes))
      const isPostgresql = server.target.dialect === 'postgresql'
      const sessions = isPostgresql
        ? "SELECT pid FROM pg_stat_activity WHERE usename = 'app_writer' AND query LIKE 'INSERT INTO%half%'"
        : "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'app_writer'"
      const killed = await until('the session is found', async () => {
        const [found] = await directly(sessions)
        return found?.[0] ?? false
      })
      await directly(isPostgresql ? `SELECT pg_terminate_backend(${killed})` : `KILL ${killed}`)
      expect(await outcome).to.match(/^(Unreachable|Failed|Timeout)/)
      expect((await engine.rows(targets.reader, page(table))).rows).to.deep.equal([])
    })

    it('cancels a running statement in the engine when the signal aborts', async () => {
      const { server } = world()
      const isPostgresql = server.target.dialect === 'postgresql'
      const control = new AbortController()
      const { classify } = await import('../../src/editor/classify.ts')
      const sql = isPostgresql ? 'select pg_sleep(60)' : 'select sleep(60)'
      const { statements } = await classify(server.target.dialect, sql)
      const { engine, targets } = world()
      const request = { statements, parameters: {}, isReadOnly: true, maxRows: 10, timeoutMilliseconds: 90_000 }
      const outcome = faultOf(engine.run(targets.reader, request, { signal: control.signal }))
      const sleepers = isPostgresql
        ? "SELECT pid FROM pg_stat_activity WHERE usename = 'app_reader' AND state = 'active'"
        : "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'app_reader' AND COMMAND <> 'Sleep'"
      await until('it sleeps', async () => (await directly(sleepers)).length === 1)
      control.abort()
      expect(await outcome).to.equal('Cancelled')
      await until('it is deleted', async () => (await directly(sleepers)).length === 0)
    })

    describe('with rows locked by another session', () => {
      let other: OtherSession
      let table: Table
      before(async () => {
        await asOwner('CREATE TABLE held (id int PRIMARY KEY, v varchar(40))')
        await asOwner('CREATE TABLE ballast (id int PRIMARY KEY)')
        table = await tableOf(world(), 'held')
        const { engine, targets } = world()
        await engine.change(
          targets.writer,
          table,
          [1, 2].map((id) => insert(table, { id, v: 'old' })),
        )
      })
      beforeEach(async () => {
        other = await OtherSession.open(world().server, 'app')
      })
      afterEach(() => other.close())

      const update = (id: number): RowChange => ({
        kind: 'update',
        key: bound(table, { id }),
        values: bound(table, { v: 'new' }),
        ifVersion: undefined,
      })
      const stored = async () => (await directly('SELECT id, v FROM held ORDER BY id')).map(([, v]) => v)

      it('returns Deadlock with the index of the change, and rolls back', async () => {
        const { engine, targets } = world()
        await other.hold('UPDATE held SET v = v WHERE id = 1')
        for (let id = 1; id <= 20; id += 1) await other.also(`INSERT INTO ballast VALUES (${id})`)
        const outcome = faultOf(engine.change(targets.writer, table, [update(2), update(1)]))
        await other.waiting()
        await other.also('UPDATE held SET v = v WHERE id = 2')
        expect(await outcome).to.equal('Deadlock 1')
        await other.release()
        expect(await stored()).to.deep.equal(['old', 'old'])
      })

      it('returns Deadlock while the rows stay locked', async () => {
        const { engine, targets } = world()
        await other.hold('UPDATE held SET v = v WHERE id = 1')
        expect(await faultOf(engine.change(targets.writer, table, [update(1)]))).to.equal('Deadlock 0')
        await other.release()
        expect(await faultOf(engine.change(targets.writer, table, [update(1)]))).to.equal('none')
        await directly("UPDATE held SET v = 'old'")
      })

      it('returns Timeout when the engine interrupts a change, and rolls back', async () => {
        const { engine, targets } = world()
        await other.hold('UPDATE held SET v = v WHERE id = 1')
        const outcome = faultOf(engine.change(targets.writer, table, [update(2), update(1)]))
        await other.interrupt(await other.waiting())
        expect(await outcome).to.equal('Timeout 1')
        await other.release()
        expect(await stored()).to.deep.equal(['old', 'old'])
      })

      it('returns Timeout when the engine interrupts a page', async () => {
        const { server, engine, targets } = world()
        const isPostgresql = server.target.dialect === 'postgresql'
        await asOwner(
          `CREATE VIEW slow AS SELECT id, ${isPostgresql ? 'pg_sleep(60)::text' : 'sleep(60)'} AS s FROM held`,
        )
        const outcome = faultOf(engine.rows(targets.reader, page(await tableOf(world(), 'slow'))))
        await other.interrupt(await other.running('app_reader'))
        expect(await outcome).to.equal('Timeout')
      })
    })

    it('truncates large results to the rows of a batch', async () => {
      const isPostgresql = world().server.target.dialect === 'postgresql'
      const many = isPostgresql ? 'generate_series(1, 20000)' : 'seq_1_to_20000'
      const { results, failure } = await run(world(), 'reader', `select repeat('x', 5000) from ${many}`, {
        maxRows: 10,
      })
      expect(failure).to.equal(undefined)
      expect(results[0]?.rows).to.have.length(10)
      expect(results[0]?.truncated).to.equal(true)
    })

    it('runs a changing statement to its end although its result is truncated', async () => {
      const isPostgresql = world().server.target.dialect === 'postgresql'
      await asOwner('CREATE SEQUENCE counted')
      const [next, many] = isPostgresql
        ? ["nextval('counted')", 'generate_series(1, 100)']
        : ['nextval(counted)', 'seq_1_to_100']
      const statements = [{ index: 0, text: `select ${next} from ${many}`, parameters: [] }]
      const limits = { parameters: {}, isReadOnly: false, maxRows: 10, timeoutMilliseconds: 10_000 }
      const { engine, targets } = world()
      const { results, failure } = await engine.run(targets.owner, { statements, ...limits })
      expect(failure).to.equal(undefined)
      expect(results[0]?.rows).to.have.length(10)
      expect(results[0]?.truncated).to.equal(true)
      const [row] = await directly(`SELECT ${next}`)
      expect(String(row?.[0])).to.equal('101')
    })

    it('limits rows and time of a batch', async () => {
      const isPostgresql = world().server.target.dialect === 'postgresql'
      const many = isPostgresql
        ? 'select generate_series(1, 100000)'
        : 'select a.id from items a, items b, items c, items d'
      const { results } = await run(world(), 'reader', many, { maxRows: 10 })
      expect(results[0]?.rows).to.have.length(10)
      expect(results[0]?.truncated).to.equal(true)
      const late = await run(world(), 'reader', isPostgresql ? 'select pg_sleep(5)' : 'select sleep(5)', {
        timeoutMilliseconds: 500,
      })
      expect(late.failure?.code).to.equal('QUERY_TIMEOUT')
    })
  })
}
