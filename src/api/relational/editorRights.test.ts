import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { BOUNDARY, startShop } from '../../../test/worlds/shop.ts'
import { fakeBlobs } from '../../adapters/blobs/fake.ts'
import { type Row, type RowChange, type SqlEngine, SqlFault } from '../../adapters/sql/port.ts'
import { inlineWorkers } from '../../adapters/workers/inline.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import { DenyAssignment } from '../../crds/rbac.ts'
import { RelationalCluster } from '../../crds/relational.ts'
import type { Table } from '../../editor/catalogue.ts'
import { versionOf } from '../../editor/rows.ts'
import { secret } from '../../kube/builtin.ts'
import { kubeSecrets } from '../records/secrets.ts'

const NAMESPACE = groupNamespace(BOUNDARY, 'shop')
const EDITOR = `/boundaries/${BOUNDARY}/resourcegroups/shop/resources/relationalclusters/orders/editor`
const ROWS = `${EDITOR}/tables/public/staff/rows`
const WRITER = '55555555-5555-4555-8555-555555555555'
const BOTH = '66666666-6666-4666-8666-666666666666'
const STORED: Row = [1, 'Ada', 90_000]

const column = (name: string, ordinal: number, dataType: string) => ({
  ...{ name, ordinal, dataType, fullType: dataType, encoding: dataType === 'text' ? 'text' : 'integer' },
  ...{ isNullable: true, isPrimaryKey: name === 'id', isIdentity: false, isComputed: false },
  ...{ maxLength: null, precision: null, scale: null, defaultExpression: null },
})
const STAFF = {
  ...{ schema: 'public', name: 'staff', type: 'Table', rowEstimate: 1, primaryKey: ['id'], foreignKeys: [] },
  columns: [column('id', 1, 'integer'), column('name', 2, 'text'), column('salary', 3, 'integer')],
  isEditable: true,
} as unknown as Table

/** One table with one row; returns the stored row, as an engine does. */
class OneRow implements Partial<SqlEngine> {
  batches = 0
  catalogue = async () => ({ database: 'app', schemas: [{ name: 'public', tables: [STAFF], views: [] }] })
  change = async (_target: unknown, _table: Table, changes: readonly RowChange[]) =>
    changes.map((change) => {
      const { ifVersion } = change as { ifVersion?: string }
      if (ifVersion !== undefined && ifVersion !== versionOf(STORED))
        throw new SqlFault('RowChanged', 'It is another one.', { current: STORED })
      return change.kind === 'delete' ? undefined : STORED
    })
  run = async () => {
    this.batches += 1
    return { results: [], messages: [], failure: undefined }
  }
  close = async () => {}
}

describe('editor for a caller who may write rows but not read them', () => {
  let shop: Awaited<ReturnType<typeof startShop>>
  let engine: OneRow
  beforeEach(async () => {
    engine = new OneRow()
    const secretsLater: { read?: ReturnType<typeof kubeSecrets>['read'] } = {}
    shop = await startShop(
      {},
      {
        relational: {
          ...{ engine: engine as unknown as SqlEngine, blobs: fakeBlobs() },
          ...{ allowOwnImages: false, hasBackupTarget: false },
          secrets: { read: async (...given) => secretsLater.read?.(...given) },
        },
        workers: inlineWorkers,
      },
    )
    secretsLater.read = kubeSecrets(shop.client).read
    for (const id of [WRITER, BOTH]) shop.grant(id, 'Contributor', `/boundaries/${BOUNDARY}`)
    const scope = `/boundaries/${BOUNDARY}/resourcegroups/shop`
    const deny = { principalId: WRITER, principalType: 'User', scope, scopeIncarnation: 'life' }
    const denied = { ...deny, actions: ['sqlcluster/dataRead'] }
    shop.put(DenyAssignment, randomUUID(), denied, boundaryNamespace(BOUNDARY))
    shop.put(RelationalCluster, 'orders', {}, NAMESPACE)
    const keep = (name: string, data: Record<string, string>) =>
      shop.client.seed(secret, {
        ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: NAMESPACE } },
        data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, btoa(text)])),
      })
    for (const login of ['owner', 'writer', 'reader'])
      keep(`relc${login}-orders`, { username: login, password: 'secret' })
    keep('relc-orders-ca', { 'ca.crt': 'authority' })
  })
  afterEach(() => shop.stop())

  const send = async (method: 'post' | 'patch', path: string, body: object, as = WRITER) => {
    const answer = await shop.ask(method, path, as).send(body)
    return { status: answer.status, body: answer.body }
  }
  const query = (sql: string, as = WRITER) =>
    send('post', `${EDITOR}/query`, { sql, execute: true, confirmed: true }, as)

  it('returns 403 for reading rows', async () => {
    expect((await shop.ask('get', ROWS, WRITER)).status).to.equal(403)
    expect((await query('select * from staff')).status).to.equal(403)
  })

  it('returns only the sent values and the key of a written row', async () => {
    const cases: [method: 'post' | 'patch', path: string, body: object, shown: object][] = [
      ['patch', `${ROWS}/1`, { values: {} }, { id: 1 }],
      ['patch', `${ROWS}/1`, { values: { name: 'Ada' } }, { id: 1, name: 'Ada' }],
      ['post', ROWS, { values: { name: 'Ada' } }, { id: 1, name: 'Ada' }],
    ]
    for (const [method, path, body, values] of cases) {
      const { status, body: row } = await send(method, path, body)
      expect(status, JSON.stringify(row)).to.be.oneOf([200, 201])
      expect(row).to.deep.equal({ values, version: '' })
      const whole = await send(method, path, body, BOTH)
      expect(whole.body).to.deep.equal({ values: { id: 1, name: 'Ada', salary: 90_000 }, version: versionOf(STORED) })
    }
    for (const [path, rows] of [
      [`${ROWS}:bulk`, [{ key: { id: 1 }, values: {} }]],
      [`${ROWS}:bulk-insert`, [{ id: 1 }]],
    ] as const) {
      const { body } = await send('post', path, { rows })
      expect(body).to.deep.equal({ affected: 1, rows: [{ values: { id: 1 }, version: '' }] })
    }
  })

  it('rejects ifVersion, which would reveal the content of a row', async () => {
    for (const ifVersion of ['a guess', versionOf(STORED)]) {
      for (const [method, path, body] of [
        ['patch', `${ROWS}/1`, { values: {}, ifVersion }],
        ['post', `${ROWS}:bulk`, { rows: [{ key: { id: 1 }, values: {}, ifVersion }] }],
        ['post', `${ROWS}:bulk-delete`, { keys: [{ key: { id: 1 }, ifVersion }] }],
      ] as const) {
        const refused = await send(method, path, body)
        expect([refused.status, refused.body.code, refused.body.action]).to.deep.equal([
          ...[403, 'FORBIDDEN', 'sqlcluster/dataRead'],
        ])
        expect(JSON.stringify(refused.body)).to.not.contain('90000')
      }
    }
    const changed = await send('patch', `${ROWS}/1`, { values: {}, ifVersion: 'old' }, BOTH)
    expect([changed.status, changed.body.current?.values?.salary]).to.deep.equal([409, 90_000])
  })

  it('rejects writing batches that can reveal rows', async () => {
    for (const sql of [
      'update staff set name = name returning *',
      'update staff set id = 1 where salary > 80000',
      'insert into staff (id) select salary from staff',
      'delete from staff where id = 1 returning salary',
      'select * from staff for update',
      "select setval('s', salary) from staff",
      // An error message quotes a value, and the key of a new row reveals what a function read.
      'alter table staff alter column name type int using name::int',
      "create function found() returns text language sql as 'select name from staff'",
      'create table notes (id text primary key default found())',
    ]) {
      const refused = await query(sql)
      expect([refused.status, refused.body.action], sql).to.deep.equal([403, 'sqlcluster/dataRead'])
      expect((await query(sql, BOTH)).status, sql).to.equal(200)
    }
    const before = engine.batches
    for (const sql of ["insert into staff (id, name) values (2, 'Bob')", 'truncate table staff', 'drop table staff'])
      expect((await query(sql)).body.executed, sql).to.equal(true)
    expect(engine.batches).to.equal(before + 3)
  })
})
