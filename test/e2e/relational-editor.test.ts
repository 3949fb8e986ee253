import { expect } from 'chai'
import { DriverEngine } from '../../src/adapters/sql/engine.ts'
import { isSqlFault, type SqlTarget } from '../../src/adapters/sql/port.ts'
import { createAuthority } from '../../src/composition/certificates.ts'
import { engineHost } from '../../src/contracts/relational.ts'
import { groupNamespace } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { RelationalCluster } from '../../src/crds/relational.ts'
import { secret } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { postgresqlIsMissing, type SqlServer, startPostgresql } from '../cluster/sqlServers.ts'
import { announce } from '../make/engines.ts'
import { makeRoles } from '../make/postgresqlRoles.ts'
import { editorRoutesSuite, POSTGRESQL_EDITOR, type QueryResult, type Row } from '../suites/editorRoutesSuite.ts'
import { call, expectCall, makeBoundary, makeGroup, until } from '../worlds/platform.ts'
import { administrator } from '../worlds/tenant.ts'

describe('editor of relational databases', () => {
  let boundaryId: string
  let home: string
  let base: string
  let admin: KubeClient

  before(async () => {
    admin = await administrator()
    boundaryId = (await makeBoundary()).id
    const group = (await makeGroup(boundaryId)).name
    home = groupNamespace(boundaryId, group)
    base = `/boundaries/${boundaryId}/resourcegroups/${group}/resources/relationalclusters`
  })
  after(() => admin.close())

  const running = async (name: string, body: object = {}) => {
    await expectCall(201, 'POST', `${base}/${name}`, body)
    await reaches(name, 'Running')
  }
  const reaches = (name: string, wanted: string) =>
    until(`${name} is ${wanted}`, async () => {
      const { body } = await expectCall<{ status: string }>(200, 'GET', `${base}/${name}`)
      return body.status === wanted
    })
  const refusal = async (...given: Parameters<typeof call>) => {
    const { status, body } = await call(...given)
    return `${status} ${body.code}`
  }

  it('reports a simulated engine as unreachable, and still analyses statements', async () => {
    const path = `${base}/played`
    await running('played')
    const { status, body } = await call('GET', `${path}/editor/schemas`)
    expect([status, body.code]).to.deep.equal([502, 'DATABASE_UNREACHABLE'])
    expect(body.error).to.contain('simulated')
    expect(await refusal('GET', `${path}/editor/tables/public/t/rows`)).to.equal('502 DATABASE_UNREACHABLE')
    expect(await refusal('POST', `${path}/editor/query`, { sql: 'select 1', execute: true })).to.equal(
      '502 DATABASE_UNREACHABLE',
    )
    const dropped = await expectCall<QueryResult>(200, 'POST', `${path}/editor/query`, { sql: 'drop table t' })
    expect(dropped.body).to.include({ requiredAction: 'relationalcluster/write', authorized: true, executed: false })
    const health = await expectCall<{ databaseSizeBytes: number | null }>(200, 'GET', `${path}/health`)
    expect(health.body.databaseSizeBytes).to.equal(null)
    const version = await call<{ simulated: string[] }>('GET', '/version')
    expect(version.body.simulated).to.include('relational-engine')
    await expectCall(202, 'PUT', `${path}/actions/stop`)
    await reaches('played', 'Stopped')
    expect(await refusal('GET', `${path}/editor/schemas`)).to.equal('409 INSTANCE_STOPPED')
    expect(await refusal('POST', `${path}/editor/tables/public/t/rows`, { values: {} })).to.equal(
      '409 INSTANCE_STOPPED',
    )
  })

  describe('with a real PostgreSQL', () => {
    const missing = postgresqlIsMissing()
    if (missing !== undefined) {
      it(`skips:  ${missing}`, function () {
        this.skip()
      })
      return
    }
    let server: SqlServer
    let path: string
    const query = (sql: string) =>
      expectCall<QueryResult>(200, 'POST', `${path}/editor/query`, { sql, execute: true, confirmed: true })
    const asOwner = async (): Promise<SqlTarget> => {
      const found = await admin.get<KubeObject & { data: Record<string, string> }>(secret, {
        namespace: home,
        name: 'relcowner-orders',
      })
      const password = Buffer.from(found.data.password ?? '', 'base64').toString()
      return { ...server.target, database: 'sales', user: 'seller', password }
    }

    before(async () => {
      server = await startPostgresql({ tls: true })
      path = `${base}/orders`
      await announce(engineHost(home, 'orders'), server)
      await running('orders', { databaseName: 'sales', ownerName: 'seller' })
      // The server exists, but the logins do not.
      expect(await refusal('GET', `${path}/editor/schemas`)).to.equal('502 DATABASE_UNREACHABLE')
      await makeRoles(admin, server, { namespace: home, name: 'relc-orders' })
      await until('the logins of the editor are granted', async () => {
        const ref = { namespace: home, name: 'orders' }
        const { status } = await admin.get<RelationalCluster & KubeObject>(RelationalCluster.resource, ref)
        return status?.editorAdmittedFor !== undefined
      })
    })
    after(() => server?.stop())

    editorRoutesSuite(POSTGRESQL_EDITOR, () => ({ boundaryId, path }))

    it("connects over TLS only to servers with a certificate of the database's authority", async () => {
      const { body } = await query('select ssl from pg_stat_ssl where pid = pg_backend_pid()')
      expect(body.results[0]?.rows).to.deep.equal([[true]])
      const engine = new DriverEngine(server.driver)
      const other = await createAuthority('another', new Date())
      try {
        const owner = await asOwner()
        expect((await engine.describe(owner)).version).to.match(/^\d+/)
        for (const certificateAuthority of ['', other.certPem]) {
          const outcome = await engine.describe({ ...owner, certificateAuthority }).catch((error: unknown) => error)
          expect(isSqlFault(outcome, 'Unreachable')).to.equal(true)
        }
      } finally {
        await engine.close()
      }
    })

    it('reads as a login with access to all tables of the owner, but not to pg_authid', async () => {
      const who = await query("select current_user, current_setting('transaction_read_only')")
      expect(who.body.results[0]?.rows).to.deep.equal([['app_reader', 'on']])
      const made = await query('create schema "Odd ""one"; create table "Odd ""one".t (id serial primary key, v text)')
      expect(made.body.error).to.equal(null)
      const rows = `${path}/editor/tables/${encodeURIComponent('Odd "one')}/t/rows`
      await expectCall<Row>(201, 'POST', rows, { values: { v: 'x' } })
      const page = await expectCall<{ rows: Row[] }>(200, 'GET', rows)
      expect(page.body.rows.map(({ values }) => values)).to.deep.equal([{ id: 1, v: 'x' }])
      const passwords = await query('select rolpassword from pg_authid')
      expect(passwords.body.error).to.include({ code: 'STATEMENT_FAILED', engineCode: '42501' })
      expect(passwords.body.results).to.deep.equal([])
    })

    it('grants its logins access to older tables, repeatedly', async () => {
      const engine = new DriverEngine(server.driver)
      const target = await asOwner()
      const ask = async (sql: string) => {
        const statements = [{ index: 0, text: sql, parameters: [] }]
        const limits = { parameters: {}, isReadOnly: false, maxRows: 10, timeoutMilliseconds: 10_000 }
        const { results, failure } = await engine.run(target, { statements, ...limits })
        if (failure !== undefined) throw new Error(failure.message)
        return results[0]?.rows
      }
      try {
        await ask('create table old (id int primary key)')
        await ask('revoke all on old from app_reader, app_writer')
        expect(await refusal('GET', `${path}/editor/tables/public/old/rows`)).to.equal('404 TABLE_NOT_FOUND')
        for (let time = 0; time < 2; time += 1)
          await engine.admit(target, { reader: 'app_reader', writer: 'app_writer' })
        const may = await ask(
          `select has_table_privilege('app_reader', 'old', 'SELECT'), has_table_privilege('app_reader', 'old', 'INSERT, UPDATE, DELETE'),
            has_table_privilege('app_writer', 'old', 'DELETE'), has_table_privilege('app_writer', 'old', 'TRUNCATE')`,
        )
        expect(may).to.deep.equal([[true, false, true, false]])
      } finally {
        await engine.close()
      }
    })

    it('returns the size of the database in GET /health', async () => {
      const { body } = await expectCall<{ databaseSizeBytes: number }>(200, 'GET', `${path}/health`)
      expect(body.databaseSizeBytes).to.be.greaterThan(1_000_000)
    })
  })
})
