import { expect } from 'chai'
import {
  isSqlFault,
  type RowChange,
  type RowsRequest,
  type SqlEngine,
  type SqlTarget,
} from '../../src/adapters/sql/port.ts'
import { findColumn, findTable, type Table } from '../../src/editor/catalogue.ts'
import { classify } from '../../src/editor/classify.ts'
import { versionOf } from '../../src/editor/rows.ts'
import type { BoundValues } from '../../src/editor/statements.ts'
import { bindValue } from '../../src/editor/values.ts'

export type SqlWorld = {
  engine: SqlEngine
  /** The same database under each login. */
  targets: { reader: SqlTarget; writer: SqlTarget; owner: SqlTarget }
  /** An existing database that none of these logins may open. */
  closed: string
  /** The schema that the tables stand in. */
  schema: string
}

/** The tables that the contract speaks of, for engines that take statements. */
export const CONTRACT_TABLES = [
  'CREATE TABLE items (id int PRIMARY KEY, name varchar(20) NOT NULL UNIQUE, price decimal(10,2), note text)',
  'CREATE TABLE pairs (a int NOT NULL, b int NOT NULL, v varchar(10), PRIMARY KEY (a, b))',
  'CREATE TABLE loose (x int)',
]

export function bound(table: Table, values: Record<string, unknown>): BoundValues {
  return new Map(
    Object.entries(values).map(([name, value]) => [findColumn(table, name), bindValue(findColumn(table, name), value)]),
  )
}

export async function tableOf(world: SqlWorld, name: string): Promise<Table> {
  return findTable(await world.engine.catalogue(world.targets.owner), world.schema, name)
}

export function insert(table: Table, values: Record<string, unknown>): RowChange {
  return { kind: 'insert', values: bound(table, values) }
}

export function page(table: Table, over: Partial<RowsRequest> = {}): RowsRequest {
  return { table, limit: 100, offset: 0, filters: [], sort: undefined, ...over }
}

export async function faultOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'none',
    (error) =>
      isSqlFault(error)
        ? `${error.reason}${error.details.index === undefined ? '' : ` ${error.details.index}`}`
        : String(error),
  )
}

/** Classifies a batch and runs it under a login. */
export async function run(world: SqlWorld, level: keyof SqlWorld['targets'], sql: string, over: object = {}) {
  const target = world.targets[level]
  const { statements } = await classify(target.dialect, sql)
  const request = {
    statements,
    parameters: {},
    isReadOnly: level === 'reader',
    maxRows: 1000,
    timeoutMilliseconds: 10_000,
  }
  return world.engine.run(target, { ...request, ...over })
}

/** What every SQL engine behind the port does, the fake one too. */
export function sqlContract(name: string, world: () => SqlWorld): void {
  describe(`contract of SQL engines: ${name}`, () => {
    const items = () => tableOf(world(), 'items')
    const change = async (table: Table, changes: RowChange[], level: keyof SqlWorld['targets'] = 'writer') =>
      world().engine.change(world().targets[level], table, changes)
    const rowsOf = async (request: RowsRequest) => world().engine.rows(world().targets.reader, request)

    before(async () => {
      const table = await items()
      const many = Array.from({ length: 25 }, (_, index) =>
        insert(table, { id: index + 1, name: `item ${index + 1}`, price: `${index}.50` }),
      )
      await change(table, many)
    })

    it('describes tables with columns and keys', async () => {
      const table = await items()
      expect(table.primaryKey).to.deep.equal(['id'])
      expect(table.isEditable).to.equal(true)
      expect(table.columns.map(({ name, encoding }) => `${name} ${encoding}`)).to.deep.equal([
        'id integer',
        'name text',
        'price decimal',
        'note text',
      ])
      expect((await tableOf(world(), 'pairs')).primaryKey).to.deep.equal(['a', 'b'])
      expect((await tableOf(world(), 'loose')).isEditable).to.equal(false)
    })

    it('returns pages in the order of the key, without gaps', async () => {
      const table = await items()
      const pages = await Promise.all([0, 10, 20].map((offset) => rowsOf(page(table, { limit: 10, offset }))))
      expect(pages.flatMap(({ rows }) => rows.map(([id]) => id))).to.deep.equal(
        Array.from({ length: 25 }, (_, index) => index + 1),
      )
      expect(pages.map(({ hasMore }) => hasMore)).to.deep.equal([true, true, false])
      expect(pages.map(({ totalRows }) => totalRows)).to.deep.equal([25, 25, 25])
    })

    it('filters and sorts by columns', async () => {
      const table = await items()
      const [id, text] = [findColumn(table, 'id'), findColumn(table, 'name')]
      const filters = [{ column: text, operator: 'startsWith' as const, values: ['ITEM 1'] }]
      const { rows } = await rowsOf(page(table, { filters, sort: { column: id, isDescending: true }, limit: 3 }))
      expect(rows.map(([key]) => key)).to.deep.equal([19, 18, 17])
    })

    it('updates and deletes a row by its key', async () => {
      const table = await items()
      await change(table, [insert(table, { id: 100, name: 'before' })])
      const [changed] = await change(table, [
        {
          kind: 'update',
          key: bound(table, { id: 100 }),
          values: bound(table, { name: 'after', price: '1.10' }),
          ifVersion: undefined,
        },
      ])
      expect(changed).to.deep.equal([100, 'after', '1.10', null])
      expect(
        await change(table, [{ kind: 'delete', key: bound(table, { id: 100 }), ifVersion: undefined }]),
      ).to.deep.equal([undefined])
      expect(
        await faultOf(change(table, [{ kind: 'delete', key: bound(table, { id: 100 }), ifVersion: undefined }])),
      ).to.equal('RowNotFound 0')
    })

    it('finds rows by all columns of a key', async () => {
      const table = await tableOf(world(), 'pairs')
      await change(table, [insert(table, { a: 1, b: 1, v: 'x' }), insert(table, { a: 1, b: 2, v: 'y' })])
      await change(table, [
        { kind: 'update', key: bound(table, { a: 1, b: 2 }), values: bound(table, { v: 'z' }), ifVersion: undefined },
      ])
      const { rows } = await rowsOf(page(table))
      expect(rows).to.deep.equal([
        [1, 1, 'x'],
        [1, 2, 'z'],
      ])
    })

    it('rolls back all changes if one fails, and returns its index', async () => {
      const table = await items()
      const changes = [insert(table, { id: 200, name: 'new' }), insert(table, { id: 201, name: 'item 3' })]
      expect(await faultOf(change(table, changes))).to.equal('DuplicateKey 1')
      expect((await rowsOf(page(table, { limit: 1000 }))).rows).to.have.length(25)
    })

    it('returns RowChanged for an outdated version of a row', async () => {
      const table = await items()
      const [row] = (await rowsOf(page(table, { limit: 1 }))).rows
      const key = bound(table, { id: 1 })
      const update = (note: string, ifVersion: string): RowChange => ({
        kind: 'update',
        key,
        values: bound(table, { note }),
        ifVersion,
      })
      const [changed] = await change(table, [update('one', versionOf(row ?? []))])
      expect(await faultOf(change(table, [update('two', versionOf(row ?? []))]))).to.equal('RowChanged 0')
      await change(table, [update('three', versionOf(changed ?? []))])
    })

    it('returns ConstraintViolation for a missing required value', async () => {
      const table = await items()
      expect(await faultOf(change(table, [insert(table, { id: 300, name: null })]))).to.equal('ConstraintViolation 0')
    })

    it('refuses changes by a reader', async () => {
      const table = await items()
      expect(await faultOf(change(table, [insert(table, { id: 400, name: 'no' })], 'reader'))).to.match(/^Failed/)
    })

    const absent: [why: string, name: (closed: string) => string][] = [
      ['the database does not exist', () => 'nowhere'],
      ['the login may not open it', (closed) => closed],
      ['the name is invalid', () => '🐢'.repeat(32)],
    ]
    for (const [why, nameOf] of absent)
      it(`returns DatabaseNotFound if ${why}`, async () => {
        const { engine, targets, closed } = world()
        const database = nameOf(closed)
        for (const level of ['reader', 'writer', 'owner'] as const) {
          const target = { ...targets[level], database }
          expect(await faultOf(engine.catalogue(target)), level).to.equal('DatabaseNotFound')
          const asked = run({ ...world(), targets: { ...targets, [level]: target } }, level, 'select 1')
          expect(await faultOf(asked), level).to.equal('DatabaseNotFound')
        }
      })

    it('returns Cancelled for a signal that is already aborted', async () => {
      const table = await items()
      const signal = AbortSignal.abort()
      expect(await faultOf(world().engine.rows(world().targets.reader, page(table), { signal }))).to.equal('Cancelled')
    })

    it('runs a batch and returns the rows of each statement', async () => {
      const { results, failure } = await run(
        world(),
        'reader',
        'select id from items where id = 2; select id from items where id = 3',
      )
      expect(failure).to.equal(undefined)
      expect(results.map(({ rows }) => rows)).to.deep.equal([[[2]], [[3]]])
    })
  })
}
