import { once } from 'node:events'
import { expect } from 'chai'
import { until } from '../../../test/make/until.ts'
import { BOUNDARY as B, OWNER, startShop } from '../../../test/worlds/shop.ts'
import { fakeBlobs } from '../../adapters/blobs/fake.ts'
import {
  type BatchRequest,
  type SqlCall,
  type SqlEngine,
  SqlFault,
  type SqlFaultReason,
  type SqlTarget,
} from '../../adapters/sql/port.ts'
import { inlineWorkers } from '../../adapters/workers/inline.ts'
import { type WorkRefusal, WorkRefused } from '../../adapters/workers/port.ts'
import { groupNamespace } from '../../core/names.ts'
import { type KubeObject, refOf } from '../../core/object.ts'
import { REQUEST_LIMITS } from '../../core/requestLimits.ts'
import { RoleAssignment } from '../../crds/rbac.ts'
import { RelationalCluster } from '../../crds/relational.ts'
import { secret } from '../../kube/builtin.ts'
import { kubeSecrets } from '../records/secrets.ts'

const READER = '33333333-3333-4333-8333-333333333333'
const PLATFORM = '44444444-4444-4444-8444-444444444444'
const NAMESPACE = groupNamespace(B, 'shop')
const BASE = `/boundaries/${B}/resourcegroups/shop/resources/relationalclusters`

type Run = { target: SqlTarget; request: BatchRequest }

/** Answers every statement with one number, and records targets and batches. */
class FakeEngine implements SqlEngine {
  readonly runs: Run[] = []
  isThere = true
  fault: SqlFault | undefined
  sentBytes = 0
  /** Batches run until they are aborted. */
  isEndless = false
  async run(target: SqlTarget, batch: BatchRequest, call?: SqlCall) {
    call?.onBytes?.(this.sentBytes)
    if (this.isEndless) {
      this.runs.push({ target, request: batch })
      if (call?.signal?.aborted === false) await once(call.signal, 'abort')
      throw new SqlFault('Cancelled', 'The client disconnected.')
    }
    if (this.fault !== undefined) throw this.fault
    if (!this.isThere)
      throw new SqlFault('Unreachable', 'Engines are only simulated here, so there is no database to connect to.')
    this.runs.push({ target, request: batch })
    const results = batch.statements.map(({ index }) => ({
      statementIndex: index,
      columns: [],
      rows: [['8192']],
      rowsAffected: null,
      truncated: false,
    }))
    return { results, messages: [], failure: undefined }
  }
  async catalogue(target: SqlTarget) {
    if (!this.isThere)
      throw new SqlFault('Unreachable', 'Engines are only simulated here, so there is no database to connect to.')
    return { database: target.database, schemas: [] }
  }
  describe(): never {
    throw new Error('Nobody asks it.')
  }
  rows(): never {
    throw new Error('There is no table.')
  }
  change(): never {
    throw new Error('There is no table.')
  }
  async prepare() {}
  async admit() {}
  async close() {}
}

const fault = (reason: SqlFaultReason) => new SqlFault(reason, 'words of the engine', { engineCode: '3D000' })

describe('editor of relational databases over REST', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  let engine: FakeEngine
  let refusal: WorkRefused | undefined
  beforeEach(async () => {
    engine = new FakeEngine()
    refusal = undefined
    const secretsLater: { read?: ReturnType<typeof kubeSecrets>['read'] } = {}
    server = await startShop(
      {},
      {
        relational: {
          engine,
          secrets: { read: async (...given) => secretsLater.read?.(...given) },
          blobs: fakeBlobs(),
          allowOwnImages: false,
          hasBackupTarget: false,
        },
        workers: {
          ...inlineWorkers,
          run: (...given) => (refusal === undefined ? inlineWorkers.run(...given) : Promise.reject(refusal)),
        },
      },
    )
    secretsLater.read = kubeSecrets(server.client).read
    server.grant(READER, 'Reader', `/boundaries/${B}`)
    server.grant(PLATFORM, 'Platform Owner', '/')
  })
  afterEach(() => server.stop())

  const seedSecret = (name: string, data: Record<string, string>) =>
    server.client.seed(secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace: NAMESPACE },
      data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
    })
  /** A database with its logins, as the controller leaves it. */
  const database = (name: string, spec: object = {}) => {
    server.put(RelationalCluster, name, spec, NAMESPACE)
    for (const [login, username] of [
      ['owner', 'app'],
      ['writer', 'app_writer'],
      ['reader', 'app_reader'],
    ]) {
      seedSecret(`relc${login}-${name}`, { username: username ?? '', password: `${login}-of-${name}` })
    }
    seedSecret(`relc-${name}-ca`, { 'ca.crt': `authority of ${name}` })
  }
  const call = (method: 'get' | 'post', path: string, as = OWNER) => server.ask(method, `${BASE}${path}`, as)
  const query = (name: string, sql: string, as = OWNER) =>
    call('post', `/${name}/editor/query`, as).send({ sql, execute: true, confirmed: true })

  const levels: [string, string, string, boolean][] = [
    ['a read as the reader in a read-only transaction', 'select 1', 'reader', true],
    ['a write by an Owner as the database owner', 'insert into t values (1)', 'owner', false],
    ['a schema change as the database owner', 'create table t (id int)', 'owner', false],
  ]
  for (const [sentence, sql, login, isReadOnly] of levels) {
    it(`runs ${sentence}`, async () => {
      database('orders', { databaseName: 'sales' })
      const { status, body } = await query('orders', sql)
      expect([status, body.executed], JSON.stringify(body)).to.deep.equal([200, true])
      const [run] = engine.runs
      expect(run?.request.isReadOnly).to.equal(isReadOnly)
      expect(run?.target).to.deep.equal({
        dialect: 'postgresql',
        host: `relc-orders-rw.${NAMESPACE}.svc`,
        port: 5432,
        database: 'sales',
        user: login === 'owner' ? 'app' : `app_${login}`,
        password: `${login}-of-orders`,
        certificateAuthority: 'authority of orders',
      })
    })
  }

  it('counts the bytes of the engine against the rate limit, even if the answer fails', async () => {
    database('orders')
    engine.sentBytes = 10 * REQUEST_LIMITS.answerBytesPerSecond
    engine.fault = new SqlFault('TooLarge', 'The answer has too much.')
    expect((await query('orders', 'select 1')).status).to.equal(400)
    expect((await query('orders', 'select 1')).status).to.equal(429)
    expect((await query('orders', 'select 1', READER)).status).to.equal(403)
  })

  for (const [what, sql, kept] of [
    ['every role', 'select 1', undefined],
    ['the role that its statements need', 'insert into t values (1)', 'Reader'],
  ] as const)
    it(`aborts a running batch with 403 if the caller loses ${what}, and records it`, async () => {
      database('orders')
      engine.isEndless = true
      if (kept !== undefined) server.grant(OWNER, kept, `/boundaries/${B}`)
      const pending = query('orders', sql).then((answer) => answer)
      await until('the batch runs', () => engine.runs.length === 1)
      const { items } = await server.client.list<RoleAssignment & KubeObject>(RoleAssignment.resource)
      for (const one of items)
        if (one.spec.roleDefinitionName === 'Owner') await server.client.remove(RoleAssignment.resource, refOf(one))
      const { status, body } = await pending
      expect([status, body.code]).to.deep.equal([403, 'FORBIDDEN'])
      server.grant(OWNER, 'Owner', `/boundaries/${B}`)
      const history = await call('get', '/orders/editor/history')
      expect(history.body.items[0]).to.include({ outcome: 'Failed', error: 'FORBIDDEN' })
    })

  it('shows the literals of the history only to callers who may read rows', async () => {
    database('orders')
    await query('orders', "select 'blue', 7")
    const read = async (as?: string, search = '') => {
      const { body } = await call('get', `/orders/editor/history${search}`, as)
      return body.items.map(({ sql }: { sql: string }) => sql)
    }
    expect(await read()).to.deep.equal(["select 'blue', 7"])
    expect(await read(READER)).to.deep.equal(['select ?, ?'])
    expect(await read(READER, '?search=blue')).to.deep.equal([])
  })

  it('connects to the database itself, even if connectTo redirects its Services', async () => {
    database('orders', { connectTo: 'heir' })
    database('heir')
    await query('orders', 'select 1')
    expect(engine.runs[0]?.target).to.include({
      host: `relc-orders-rw.${NAMESPACE}.svc`,
      password: 'reader-of-orders',
      certificateAuthority: 'authority of orders',
    })
  })

  it('requires a verified certificate even if the Secret of the CA is missing', async () => {
    database('orders')
    await server.client.remove(secret, { namespace: NAMESPACE, name: 'relc-orders-ca' })
    await query('orders', 'select 1')
    expect(engine.runs[0]?.target.certificateAuthority).to.equal('')
  })

  it('requires sqlcluster/dataRead, sqlcluster/dataWrite or relationalcluster/write, depending on the statement', async () => {
    database('orders')
    const required = async (sql: string) => {
      const { body } = await call('post', '/orders/editor/query').send({ sql })
      return body.requiredAction
    }
    expect(await required('select 1')).to.equal('sqlcluster/dataRead')
    expect(await required('delete from t where a = 1')).to.equal('sqlcluster/dataWrite')
    expect(await required('drop table t')).to.equal('relationalcluster/write')
    expect((await query('orders', 'select 1', READER)).body.code).to.equal('FORBIDDEN')
    expect((await call('get', '/orders/editor/schemas', READER)).status).to.equal(200)
    expect((await call('get', '/orders/editor/tables/public/t/rows', READER)).status).to.equal(403)
  })

  it('rejects schema changes that can read rows, for a caller without sqlcluster/dataRead', async () => {
    database('orders')
    for (const sql of [
      'create table t (id int); select * from secrets',
      'create table t (id int default f())',
      'alter table t add b int',
    ]) {
      const { status, body } = await query('orders', sql, PLATFORM)
      expect([status, body.code], sql).to.deep.equal([403, 'FORBIDDEN'])
      expect(body.action ?? body.error).to.contain('sqlcluster/dataRead')
    }
    expect(engine.runs).to.deep.equal([])
    expect((await query('orders', 'create table t (id int)', PLATFORM)).body.executed).to.equal(true)
  })

  it('returns distinct errors for stopped, unfinished, unreachable and missing databases', async () => {
    database('stopped', { running: false })
    server.put(RelationalCluster, 'young', {}, NAMESPACE)
    database('orders')
    engine.isThere = false
    const codes = async (name: string) => {
      const { status, body } = await call('get', `/${name}/editor/schemas`)
      return `${status} ${body.code}`
    }
    expect(await codes('stopped')).to.equal('409 INSTANCE_STOPPED')
    expect(await codes('young')).to.equal('409 INVALID_STATE')
    expect(await codes('orders')).to.equal('502 DATABASE_UNREACHABLE')
    expect(await codes('nobody')).to.equal('404 NOT_FOUND')
    const { body } = await call('get', '/orders/editor/schemas')
    expect(body.error).to.contain('simulated')
  })

  const faults: [sentence: string, named: string | undefined, fault: SqlFault, due: string, field?: string][] = [
    ['the named database does not exist', 'nope', fault('DatabaseNotFound'), '400 BAD_REQUEST', 'database'],
    ['the default database does not exist yet', undefined, fault('DatabaseNotFound'), '502 DATABASE_UNREACHABLE'],
    [
      'the default database, given by name, does not exist yet',
      'sales',
      fault('DatabaseNotFound'),
      '502 DATABASE_UNREACHABLE',
    ],
    ['the engine is unreachable', 'nope', fault('Unreachable'), '502 DATABASE_UNREACHABLE'],
    ['the query times out', undefined, fault('Timeout'), '503 QUERY_TIMEOUT'],
    ['the engine fails', undefined, fault('Failed'), '502 UPSTREAM_FAILED'],
  ]
  for (const [sentence, named, thrown, due, field] of faults) {
    it(`returns ${due} and records it in the history: ${sentence}`, async () => {
      database('orders', { databaseName: 'sales' })
      engine.fault = thrown
      const asked = { sql: 'select 1', execute: true, ...(named !== undefined && { database: named }) }
      const { status, body } = await call('post', '/orders/editor/query').send(asked)
      expect(`${status} ${body.code}`).to.equal(due)
      expect(body.errors?.[0]?.field).to.equal(field)
      const history = await call('get', '/orders/editor/history')
      expect(history.body.items[0]).to.deep.include({ database: named ?? 'sales', error: body.code })
    })
  }

  it('rejects database names that are empty, too long or contain control characters', async () => {
    database('orders')
    for (const named of ['', 'app\u0000x', 'a\nb', 'x'.repeat(65)]) {
      const { status, body } = await call('post', '/orders/editor/query').send({ sql: 'select 1', database: named })
      expect([status, body.code], JSON.stringify(named)).to.deep.equal([400, 'BAD_REQUEST'])
    }
  })

  it('classifies a batch while the database is stopped or has no login yet', async () => {
    database('stopped', { running: false })
    server.put(RelationalCluster, 'young', {}, NAMESPACE)
    for (const name of ['stopped', 'young']) {
      const { status, body } = await call('post', `/${name}/editor/query`).send({ sql: 'select 1; drop table t' })
      expect([status, body.classification?.kind, body.executed], name).to.deep.equal([200, 'Ddl', false])
    }
    expect((await query('stopped', 'select 1')).body.code).to.equal('INSTANCE_STOPPED')
  })

  it('returns authorized false and the reason for statements that are never run', async () => {
    database('orders')
    for (const [sql, kind] of [
      ["copy t to program 'sh'", 'Admin'],
      ['frobnicate the database', 'Unknown'],
      ['select 1; create role boss superuser', 'Admin'],
    ]) {
      const { status, body } = await call('post', '/orders/editor/query').send({ sql })
      expect([status, body.classification?.kind, body.authorized, body.executed], sql).to.deep.equal([
        ...[200, kind, false, false],
      ])
      const refused = await query('orders', sql ?? '')
      expect([refused.status, refused.body.code], sql).to.deep.equal([422, 'STATEMENT_REFUSED'])
      expect(body.messages, sql).to.deep.equal([refused.body.error])
    }
    expect((await call('post', '/orders/editor/query').send({ sql: 'select 1' })).body).to.deep.include({
      ...{ authorized: true, messages: [] },
    })
  })

  it('returns 429, 503 or 422 if the worker pool refuses to parse a batch, and runs nothing', async () => {
    database('orders')
    const refusals: [WorkRefusal, string][] = [
      ['TooMany', '429 TOO_MANY_REQUESTS 7'],
      ['Busy', '503 SERVICE_UNAVAILABLE 7'],
      ['Overdue', '422 STATEMENT_REFUSED undefined'],
    ]
    for (const [reason, due] of refusals) {
      refusal = new WorkRefused(reason, 7)
      const { status, body, headers } = await query('orders', "select 'secret'")
      expect(`${status} ${body.code} ${headers['retry-after']}`).to.equal(due)
    }
    const history = await call('get', '/orders/editor/history')
    expect(JSON.stringify(history.body)).to.not.contain('secret')
    expect(engine.runs).to.deep.equal([])
  })

  it('returns the database size in health, read as the reader, and null if the engine is unreachable', async () => {
    database('orders')
    const status = { readyReplicas: 1 }
    const ref = { namespace: NAMESPACE, name: 'orders' }
    await server.client.mergePatch(RelationalCluster.resource, ref, { status }, { subresource: 'status' })
    expect((await call('get', '/orders/health')).body).to.include({
      databaseSizeBytes: 8192,
      replicationLagBytes: null,
    })
    expect(engine.runs[0]?.target.user).to.equal('app_reader')
    engine.isThere = false
    expect((await call('get', '/orders/health')).body.databaseSizeBytes).to.equal(null)
  })
})
