import { expect } from 'chai'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { groupNamespace } from '../../core/names.ts'
import { DEFAULT_PLANS } from '../../crds/defaultPlans.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { SqlInstance } from '../../crds/sql.ts'

const BOOKS = `/boundaries/${B}/resourcegroups/shop/resources/sqlclusters/books`
const SMALL = { computePlan: 'sql-small', resourcePlanId: 'sql-small' }
const MSSQL = { engine: 'MsSql', acceptEula: true }

describe('memory of a SQL engine over REST', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    server = await startShop()
    for (const [name, spec] of Object.entries(DEFAULT_PLANS)) {
      if (spec.family === 'Sql') server.put(ComputePlan, name, spec)
    }
    server.put(ComputePlan, 'sql-tiny', {
      ...DEFAULT_PLANS['sql-dev'],
      isDefault: false,
      memoryRequest: '1Gi',
      memoryLimit: '1Gi',
    })
  })
  afterEach(() => server.stop())

  const call = (method: 'get' | 'post' | 'put' | 'patch', body?: object) => server.ask(method, BOOKS).send(body)
  const stored = async () =>
    (await server.client.get(SqlInstance.resource, { namespace: groupNamespace(B, 'shop'), name: 'books' })).spec as {
      memoryLimitMb?: number
    }

  const refused: [title: string, body: object, field: string][] = [
    ['memoryLimitMb above the memory of the plan', { ...MSSQL, memoryLimitMb: 2049 }, 'memoryLimitMb'],
    ['memoryLimitMb above memoryLimit', { ...MSSQL, memoryLimit: '3Gi', memoryLimitMb: 3073 }, 'memoryLimitMb'],
    ['a plan with too little memory for SQL Server', { ...MSSQL, computePlan: 'sql-tiny' }, 'memoryLimit'],
  ]
  for (const [title, body, field] of refused) {
    it(`rejects ${title} before anything is written`, async () => {
      server.client.calls.length = 0
      const answer = await call('post', body)
      expect([answer.status, answer.body.code, answer.body.errors?.[0]?.field]).to.deep.equal([
        400,
        'BAD_REQUEST',
        field,
      ])
      expect(server.client.calls).to.deep.equal([])
    })
  }

  it('accepts memoryLimitMb equal to the memory of the plan', async () => {
    expect((await call('post', { ...MSSQL, memoryLimitMb: 2048 })).status).to.equal(201)
  })

  it('rejects a plan with less memory than memoryLimitMb', async () => {
    await call('post', { engine: 'MariaDb', computePlan: 'sql-small', storageSize: '10Gi', memoryLimitMb: 3000 })
    const answer = await call('patch', { computePlan: 'sql-dev' })
    expect([answer.status, answer.body.errors?.[0]?.field]).to.deep.equal([400, 'memoryLimitMb'])
  })

  it('defaults to 80 % of the limit, and follows the plan if the record is sent back with another plan', async () => {
    expect((await call('post', MSSQL)).body.memoryLimitMb).to.equal(1638)
    const { body } = await call('get')
    expect((await call('put', { ...body, ...SMALL })).body.memoryLimitMb).to.equal(3276)
    expect(await stored()).to.not.have.property('memoryLimitMb')
    expect((await call('patch', { memoryLimit: '8Gi' })).body.memoryLimitMb).to.equal(6553)
  })

  it('does not store memoryLimitMb from a merge patch of the record as read', async () => {
    await call('post', MSSQL)
    const { body } = await call('get')
    for (const patch of [body, { memoryLimitMb: body.memoryLimitMb }]) {
      expect((await call('patch', patch)).status).to.equal(200)
      expect(await stored()).to.not.have.property('memoryLimitMb')
    }
  })

  it('keeps an explicit memoryLimitMb if the plan changes, and resets it with null', async () => {
    await call('post', { ...MSSQL, memoryLimitMb: 1000 })
    const { body } = await call('get')
    expect((await call('put', { ...body, ...SMALL })).body.memoryLimitMb).to.equal(1000)
    expect((await call('patch', { memoryLimitMb: null })).body.memoryLimitMb).to.equal(3276)
  })

  it('returns acceptEula true for MariaDB, which has no terms', async () => {
    const { status, body } = await call('post', { engine: 'MariaDb' })
    expect([status, body.acceptEula]).to.deep.equal([201, true])
    expect((await call('get')).body.acceptEula).to.equal(true)
  })
})
