import { expect } from 'chai'
import { sqlHost } from '../../src/contracts/sql.ts'
import { groupNamespace } from '../../src/core/names.ts'
import { mariadbIsMissing, type SqlServer, startMariadb } from '../cluster/sqlServers.ts'
import { announce } from '../make/engines.ts'
import { OtherSession } from '../make/heldRows.ts'
import { call, expectCall, makeBoundary, makeGroup, until } from '../worlds/platform.ts'

type ErrorAnswer = { code: string; error: string; index?: number }

describe('locked rows of a SQL instance', () => {
  const missing = mariadbIsMissing()
  if (missing !== undefined) {
    it(`skips: ${missing}`, function () {
      this.skip()
    })
    return
  }
  let server: SqlServer
  let other: OtherSession
  let rows: string

  before(async () => {
    const boundaryId = (await makeBoundary()).id
    const group = (await makeGroup(boundaryId)).name
    server = await startMariadb()
    const path = `/boundaries/${boundaryId}/resourcegroups/${group}/resources/sqlclusters/held`
    await announce(sqlHost(groupNamespace(boundaryId, group), 'held'), server)
    await expectCall(201, 'POST', path, { engine: 'MariaDb', databaseName: 'shop' })
    await until('the logins are made', async () => (await call('GET', `${path}/editor/schemas`)).status === 200)
    for (const sql of ['CREATE TABLE items (id int PRIMARY KEY, v varchar(9))', 'CREATE TABLE ballast (id int)']) {
      await expectCall(200, 'POST', `${path}/editor/query`, { sql, execute: true, confirmed: true })
    }
    rows = `${path}/editor/tables/shop/items/rows`
    for (const id of [1, 2]) await expectCall(201, 'POST', rows, { values: { id, v: 'old' } })
  })
  beforeEach(async () => {
    other = await OtherSession.open(server, 'shop')
  })
  afterEach(() => other.close())
  after(() => server?.stop())

  const unchanged = async () => {
    const { body } = await expectCall<{ rows: { values: { v: string } }[] }>(200, 'GET', rows)
    expect(body.rows.map(({ values }) => values.v)).to.deep.equal(['old', 'old'])
  }

  it('return 409 DEADLOCK for a deadlock, and stay unchanged', async () => {
    await other.hold('UPDATE items SET v = v WHERE id = 1')
    for (let id = 1; id <= 20; id += 1) await other.also(`INSERT INTO ballast VALUES (${id})`)
    const values = { v: 'new' }
    const wanted = [2, 1].map((id) => ({ key: { id }, values }))
    const asked = call<ErrorAnswer>('POST', `${rows}:bulk`, { rows: wanted })
    await other.waiting()
    await other.also('UPDATE items SET v = v WHERE id = 2')
    const { status, body } = await asked
    expect([status, body.code, body.index]).to.deep.equal([409, 'DEADLOCK', 1])
    expect(body.error).to.equal('Another transaction holds the rows; try again.')
    await other.release()
    await unchanged()
  })

  for (const [method, body] of [
    ['PATCH', { values: { v: 'new' } }],
    ['DELETE', undefined],
  ] as const) {
    it(`return 503 QUERY_TIMEOUT when the engine interrupts the ${method}, and stay unchanged`, async () => {
      await other.hold('UPDATE items SET v = v WHERE id = 1')
      const asked = call<ErrorAnswer>(method, `${rows}/1`, body)
      await other.interrupt(await other.waiting())
      const { status, body: answer } = await asked
      expect([status, answer.code]).to.deep.equal([503, 'QUERY_TIMEOUT'])
      await other.release()
      await unchanged()
    })
  }
})
