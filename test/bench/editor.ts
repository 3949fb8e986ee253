import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import mariadb from 'mariadb'
import pg from 'pg'
import { DriverEngine } from '../../src/adapters/sql/engine.ts'
import type { SqlTarget } from '../../src/adapters/sql/port.ts'
import { findTable } from '../../src/editor/catalogue.ts'
import { selectPage } from '../../src/editor/statements.ts'
import {
  mariadbIsMissing,
  postgresqlIsMissing,
  type SqlServer,
  startMariadb,
  startPostgresql,
} from '../cluster/sqlServers.ts'
import type { BenchmarkOptions } from './options.ts'

const ROWS = 1_000
const ENGINES = [
  { name: 'PostgreSQL', missing: postgresqlIsMissing, start: startPostgresql, schema: 'public' },
  { name: 'MariaDB', missing: mariadbIsMissing, start: startMariadb, schema: 'app' },
]

/** A page of 1,000 rows through the editor, against the same statement through the engine's own driver. */
export async function runEditor({ rounds, seconds }: BenchmarkOptions): Promise<object> {
  const results: object[] = []
  for (const { name, missing, start, schema } of ENGINES) {
    const why = missing()
    if (why !== undefined) results.push({ engine: name, skipped: why })
    else results.push({ engine: name, ...(await measured(await start(), schema, rounds, seconds)) })
  }
  return { benchmark: 'editor', rows: ROWS, rounds, seconds, results }
}

async function measured(server: SqlServer, schema: string, rounds: number, seconds: number): Promise<object> {
  const engine = new DriverEngine(server.driver)
  try {
    const login = (user: string) => ({ user, password: randomBytes(8).toString('hex') })
    const logins = { reader: login('app_reader'), writer: login('app_writer'), owner: login('app') }
    await engine.prepare(server.target, { database: 'app', logins })
    await fill({ ...server.target, database: 'app', ...logins.owner }, server)
    const target = { ...server.target, database: 'app', ...logins.reader }
    const table = findTable(await engine.catalogue(target), schema, 'items')
    const request = { table, limit: ROWS, offset: 0, filters: [], sort: undefined }
    const { text } = selectPage(target.dialect, table, request)
    const raw = await rawReader(target)
    // The work of a request to the facade: the table is looked up in the catalogue, and the page is read.
    const ours = async () => {
      const found = findTable(await engine.catalogue(target), schema, 'items')
      return (await engine.rows(target, { ...request, table: found })).rows
    }
    if (
      !isDeepStrictEqual(
        (await ours()).map(([id]) => id),
        (await raw.read(text)).slice(0, ROWS).map(([id]) => id),
      )
    )
      throw new Error('The two ways of reading return different rows.')
    const shares: number[] = []
    const times: { ours: number; raw: number }[] = []
    for (let round = 0; round < rounds; round += 1) {
      // Alternately, so that other load on the machine affects both.
      const time = { ours: 0, raw: 0 }
      let count = 0
      for (const end = performance.now() + seconds * 1000; performance.now() < end; count += 1) {
        time.ours += await timed(ours)
        time.raw += await timed(() => raw.read(text))
      }
      times.push({ ours: time.ours / count, raw: time.raw / count })
      shares.push(time.ours / time.raw - 1)
    }
    await raw.close()
    const median = (values: number[]) => values.sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0
    return {
      addedShare: Math.round(median(shares) * 1000) / 1000,
      ourMilliseconds: Math.round(median(times.map(({ ours: time }) => time)) * 1000) / 1000,
      engineMilliseconds: Math.round(median(times.map(({ raw: time }) => time)) * 1000) / 1000,
    }
  } finally {
    await engine.close()
    await server.stop()
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

async function fill(target: SqlTarget, { driver }: SqlServer): Promise<void> {
  const session = await driver.open(target, { isReadOnly: false, timeoutMilliseconds: 60_000 })
  try {
    await session.query(
      'CREATE TABLE items (id int PRIMARY KEY, name varchar(60), price decimal(10,2), made timestamp, weight double precision, note text)',
    )
    for (let id = 0; id < ROWS; id += 1) {
      await session.query(
        `INSERT INTO items VALUES (${id}, 'item ${id}', ${id}.50, '2026-03-01 10:00:00', ${id / 7}, '${'words '.repeat(10)}')`,
      )
    }
  } finally {
    session.close()
  }
}

type Raw = { read(text: string): Promise<unknown[][]>; close(): Promise<void> }

/** The unmodified drivers, with one connection. */
async function rawReader({ dialect, host, port, database, user, password }: SqlTarget): Promise<Raw> {
  if (dialect === 'postgresql') {
    const client = new pg.Client({ host, port, database, user, password })
    await client.connect()
    return {
      read: async (text) => (await client.query({ text, rowMode: 'array' })).rows,
      close: () => client.end(),
    }
  }
  const connection = await mariadb.createConnection({ host, port, database, user, password, rowsAsArray: true })
  return { read: (text) => connection.query(text), close: () => connection.end() }
}
