import { expect } from 'chai'
import { encodePasswords, sqlHost, sqlNames } from '../../src/contracts/sql.ts'
import { groupNamespace } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { secret } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { mariadbIsMissing, type SqlServer, startMariadb } from '../cluster/sqlServers.ts'
import { announce } from '../make/engines.ts'
import { editorRoutesSuite, MARIADB_EDITOR } from '../suites/editorRoutesSuite.ts'
import { call, expectCall, makeBoundary, makeGroup, until } from '../worlds/platform.ts'
import { administrator } from '../worlds/tenant.ts'

type Dto = {
  status: string
  phase: string
  licenseStatus: string
  edition: string
  engineVersion: string
  statusMessage: string
}
const MARIADB = { engine: 'MariaDb', databaseName: 'shop' }

describe('SQL instances', () => {
  let boundaryId: string
  let group: string
  let base: string
  let admin: KubeClient

  before(async () => {
    admin = await administrator()
    boundaryId = (await makeBoundary()).id
    group = (await makeGroup(boundaryId)).name
    base = `/boundaries/${boundaryId}/resourcegroups/${group}/resources/sqlclusters`
  })
  after(() => admin.close())

  const untilStatus = (name: string, wanted: string) =>
    until(`${name} is ${wanted}`, async () => {
      const { body } = await expectCall<Dto>(200, 'GET', `${base}/${name}`)
      return body.status === wanted && body
    })

  it('creates, changes, stops, starts and deletes', async () => {
    const path = `${base}/ledger`
    const made = await expectCall<Dto>(201, 'POST', path, { ...MARIADB, enableLoadBalancer: true })
    expect(made.body).to.include({ edition: 'Community', engineVersion: '11.8', licenseStatus: 'NotRequired' })
    expect((await call('POST', path, { ...MARIADB, enableLoadBalancer: true })).status).to.equal(200)
    await untilStatus('ledger', 'Running')
    const stored = (await expectCall<object>(200, 'GET', path)).body
    await expectCall(200, 'PUT', path, stored)
    await expectCall(200, 'PATCH', path, { tags: { team: 'books' } })
    const list = await expectCall<{ items: { name: string }[] }>(200, 'GET', `${base}?filter=engine:eq:MariaDb`)
    expect(list.body.items.map(({ name }) => name)).to.include('ledger')
    await expectCall(200, 'GET', `${base}/config`)
    const inside = await expectCall<{ connectionString: string; username: string }>(
      200,
      'GET',
      `${path}/connectionstring`,
    )
    expect(inside.body.username).to.equal('app')
    expect(inside.body.connectionString).to.match(/^mariadb:\/\/app:[^@]+@sqli-ledger\..*\.svc:3306\/shop$/)
    await until('an address', async () => (await call(`GET`, `${path}/connectionstring/external`)).status === 200)
    expect((await expectCall<{ status: string }>(200, 'GET', `${path}/external-ip`)).body.status).to.equal('Ready')
    await expectCall(200, 'GET', `${path}/health`)
    await expectCall(202, 'PUT', `${path}/actions/stop`)
    await untilStatus('ledger', 'Stopped')
    expect((await call('GET', `${path}/editor/schemas`)).body.code).to.equal('INSTANCE_STOPPED')
    await expectCall(202, 'PUT', `${path}/actions/start`)
    await untilStatus('ledger', 'Running')
    await expectCall(202, 'PUT', `${path}/actions/restart`)
    expect((await call('PUT', `${path}/actions/explode`)).body.code).to.equal('INVALID_ACTION')
    expect((await call('DELETE', path)).status).to.be.oneOf([202, 204])
    await until('it is deleted', async () => (await call('GET', path)).status === 404)
  })

  it('rejects each case of the tables with its code', async () => {
    const refused = async (body: object) => (await call('POST', `${base}/refused`, body)).body.code
    expect(await refused({})).to.equal('EULA_NOT_ACCEPTED')
    expect(await refused({ ...MARIADB, edition: 'Express' })).to.equal('BAD_REQUEST')
    expect(await refused({ ...MARIADB, computePlan: 'nothing' })).to.equal('PLAN_NOT_FOUND')
    expect(await refused({ ...MARIADB, backupEnabled: true })).to.equal('BACKUP_TARGET_MISSING')
    expect(await refused({ acceptEula: true, memoryLimit: '1Gi', memoryRequest: '1Gi' })).to.equal('BAD_REQUEST')
    expect(await refused({ ...MARIADB, nonsense: 1 })).to.equal('MODEL_BINDING_FAILED')
    const path = `${base}/kept`
    await expectCall(201, 'POST', path, { ...MARIADB, deletionProtection: true, storageSize: '20Gi' })
    expect((await call('DELETE', path)).body.code).to.equal('DELETION_PROTECTED')
    expect((await call('PATCH', path, { storageSize: '10Gi' })).body.code).to.equal('STORAGE_CANNOT_SHRINK')
    expect((await call('PATCH', path, { engineVersion: '10.11' })).body.code).to.equal('DOWNGRADE_REFUSED')
    expect((await call('PATCH', path, { databaseName: 'other' })).body.code).to.equal('BAD_REQUEST')
    await until('a password', async () => (await call('GET', `${path}/connectionstring`)).status === 200)
    expect((await call('GET', `${path}/connectionstring/external`)).body.code).to.equal('LOAD_BALANCER_DISABLED')
    const key = { productKey: 'AAAAA-BBBBB-CCCCC-DDDDD-EEEEE' }
    expect((await call('POST', `${path}/license`, key)).body.code).to.equal('LICENSE_NOT_APPLICABLE')
    // Its pod is played, and nothing answers in it.
    expect((await call('GET', `${path}/editor/schemas`)).body.code).to.equal('DATABASE_UNREACHABLE')
    expect((await call('GET', `${path}/editor/tables/shop/t/rows`)).status).to.equal(502)
    await expectCall(200, 'PATCH', path, { deletionProtection: false })
    await call('DELETE', path)
  })

  it('lists plans', async () => {
    const plans = `/boundaries/${boundaryId}/resources/sqlcomputeplans`
    const { body } = await expectCall<{ items: { id: string; isProductionReady: boolean }[] }>(200, 'GET', plans)
    expect(body.items.map(({ id }) => id)).to.include.members(['sql-dev', 'sql-small', 'sql-medium', 'sql-large'])
    expect(body.items.every(({ isProductionReady }) => !isProductionReady)).to.equal(true)
    await expectCall(200, 'GET', `${plans}/sql-dev`)
    expect((await call('GET', `${plans}/vector-dev`)).status).to.equal(404)
  })

  it('waits for a product key in a paid edition, and never shows it', async () => {
    const path = `${base}/paid`
    await expectCall(201, 'POST', path, { acceptEula: true, edition: 'Standard' })
    const failed = await untilStatus('paid', 'Failed')
    expect(failed).to.include({ phase: 'LicenseInvalid', licenseStatus: 'Missing' })
    expect((await call('POST', `${path}/license`, { productKey: 'short' })).status).to.equal(400)
    const productKey = 'QWERT-YUIOP-ASDFG-HJKLZ-XCVBN'
    const set = await expectCall<{ licenseStatus: string; keySuffix: string }>(200, 'POST', `${path}/license`, {
      productKey,
    })
    expect(set.body).to.include({ licenseStatus: 'Applying', keySuffix: 'XCVBN' })
    await until('the license is active', async () => {
      const { body } = await expectCall<Dto>(200, 'GET', path)
      return body.licenseStatus === 'Active' && body.status === 'Running'
    })
    const texts = [(await call('GET', path)).text, set.text, (await call('GET', base)).text]
    expect(texts.join()).to.not.include('QWERT')
  })

  describe('with a real MariaDB', () => {
    const missing = mariadbIsMissing()
    if (missing !== undefined) {
      it(`skips: ${missing}`, function () {
        this.skip()
      })
      return
    }
    let server: SqlServer
    let path: string
    before(async () => {
      server = await startMariadb()
      path = `${base}/orders`
      const namespace = groupNamespace(boundaryId, group)
      await announce(sqlHost(namespace, 'orders'), server)
      await expectCall(201, 'POST', path, MARIADB)
      await untilStatus('orders', 'Running')
      await until('the logins are made', async () => (await call('GET', `${path}/editor/schemas`)).status === 200)
    })
    after(() => server?.stop())

    editorRoutesSuite(MARIADB_EDITOR, () => ({ boundaryId, path }))

    it('stores its passwords in one Secret', async () => {
      const namespace = groupNamespace(boundaryId, group)
      const found = await admin.get<KubeObject & { data: Record<string, string> }>(secret, {
        namespace,
        name: sqlNames('orders').logins,
      })
      expect(Object.keys(found.data).sort()).to.deep.equal(
        Object.keys(encodePasswords({ admin: '', owner: '', writer: '', reader: '' })).sort(),
      )
    })
  })
})
