import { expect } from 'chai'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { groupNamespace } from '../../core/names.ts'
import { DEFAULT_PLANS } from '../../crds/defaultPlans.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { SqlInstance } from '../../crds/sql.ts'

const BOOKS = `/boundaries/${B}/resourcegroups/shop/resources/sqlclusters/books`
const MARIADB = { engine: 'MariaDb', computePlan: 'sql-small' }

describe('backupEnabled of a SQL instance', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    server = await startShop()
    for (const [name, spec] of Object.entries(DEFAULT_PLANS)) server.put(ComputePlan, name, spec)
  })
  afterEach(() => server.stop())
  const send = (method: 'post' | 'patch' | 'put', body: object) => server.ask(method, BOOKS).send(body)
  const store = (spec: object) => server.put(SqlInstance, 'books', { ...MARIADB, ...spec }, groupNamespace(B, 'shop'))

  it('is rejected with BACKUP_TARGET_MISSING by POST and PATCH where there is no target', async () => {
    expect((await send('post', { ...MARIADB, backupEnabled: true })).body.code).to.equal('BACKUP_TARGET_MISSING')
    store({})
    expect((await send('patch', { backupEnabled: true })).body.code).to.equal('BACKUP_TARGET_MISSING')
  })

  it('allows other changes of an instance that an earlier version stored with it', async () => {
    store({ backupEnabled: true })
    expect((await send('patch', { deletionProtection: true })).status).to.equal(200)
    expect((await server.ask('put', `${BOOKS}/actions/stop`)).status).to.equal(202)
    expect((await send('patch', { backupEnabled: false })).status).to.equal(200)
    expect((await send('patch', { backupEnabled: true })).body.code).to.equal('BACKUP_TARGET_MISSING')
  })
})
