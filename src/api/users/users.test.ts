import { expect } from 'chai'
import { makeAccounts } from '../../../test/make/accounts.ts'
import { ANNA, assign, B1, BERT, type Given } from '../../../test/make/authorizationRecords.ts'
import { ManualClock } from '../../../test/make/clock.ts'
import { codeOf, makeFacade } from '../../../test/worlds/facade.ts'
import { PlatformTenant } from '../../crds/rbac.ts'
import { BUILT_IN_ROLES } from '../../iam/roles.ts'
import { directoryPrincipals } from '../callers/directoryPrincipals.ts'
import { userRoutes } from './index.ts'

const TENANT = '55555555-5555-4555-8555-555555555555'
const OTHER = '66666666-6666-4666-8666-666666666666'
type List = { items: { id: string; displayName: string }[] }

function open(given: Given = {}, tenantIds: string[] = []) {
  const { accounts, users } = makeAccounts()
  const principals = directoryPrincipals({ find: async () => new Map() }, users, new ManualClock())
  const facade = makeFacade({ roles: [...BUILT_IN_ROLES], ...given }, { accounts, principals })
  facade.records.put(PlatformTenant, { name: TENANT }, { displayName: 'Tenant' })
  facade.boundary(B1.slice('/boundaries/'.length), { tenantId: TENANT })
  users.put({ id: ANNA, userName: 'anna', firstName: 'Anna', lastName: 'Arnold', tenantIds })
  users.put({ id: BERT, userName: 'bert', email: 'bert@example.com', tenantIds: [TENANT] })
  users.put({ userName: 'carl', tenantIds: [OTHER] })
  const list = async (query: Record<string, string[]> = {}) => {
    const { body } = (await facade.call(userRoutes, 'GET', '/admin/users', { query })) as { body: List }
    return body.items.map(({ displayName }) => displayName)
  }
  const read = (id: string) => facade.call(userRoutes, 'GET', `/admin/users/${id}`)
  return { list, read, users }
}

describe('GET /admin/users', () => {
  const cases: [string, Given, string[], string[]][] = [
    ['returns only the caller without a tenant', {}, [], ['Anna Arnold']],
    ["returns the users of the caller's tenant", {}, [TENANT], ['Anna Arnold', 'bert']],
    [
      'returns the users of the tenant to an Owner of a boundary',
      { assignments: [assign('Owner', B1)] },
      [],
      ['Anna Arnold', 'bert'],
    ],
    [
      'returns all users to a Platform Owner',
      { assignments: [assign('Platform Owner', '/')] },
      [],
      ['Anna Arnold', 'bert', 'carl'],
    ],
    [
      'returns only the caller to a Secrets Reader of a boundary',
      { assignments: [assign('Secrets Reader', B1)] },
      [],
      ['Anna Arnold'],
    ],
  ]
  for (const [title, given, tenants, wanted] of cases) {
    it(title, async () => expect(await open(given, tenants).list()).to.deep.equal(wanted))
  }

  it('searches by name and email, and returns at most max', async () => {
    const { list } = open({ assignments: [assign('Platform Owner', '/')] })
    expect(await list({ search: ['BERT@ex'] })).to.deep.equal(['bert'])
    expect(await list({ search: ['arnold'] })).to.deep.equal(['Anna Arnold'])
    expect(await list({ max: ['2'] })).to.deep.equal(['Anna Arnold', 'bert'])
    for (const max of ['0', '501', 'x']) expect((await codeOf(list({ max: [max] }))).code).to.equal('BAD_REQUEST')
  })

  it('returns an ETag per user that changes with the user', async () => {
    const { read, users } = open()
    const tagOf = async () => (await read(ANNA)).headers.etag
    const before = await tagOf()
    expect(before).to.match(/^"[\w-]{22}"$/)
    expect(await tagOf()).to.equal(before)
    await users.update(ANNA, { lastName: 'Berg' })
    expect(await tagOf())
      .to.match(/^"[\w-]{22}"$/)
      .and.not.equal(before)
  })

  it('returns the displayName of the directory', async () => {
    const { users, read } = open()
    users.put({ id: ANNA, userName: 'anna', firstName: 'Anna', lastName: 'Arnold', displayName: 'Anna of sales' })
    expect(((await read(ANNA)).body as { displayName: string }).displayName).to.equal('Anna of sales')
  })

  it('returns NOT_FOUND for hidden and missing users', async () => {
    const { read } = open()
    expect((await codeOf(read(ANNA))).code).to.equal('none')
    for (const id of [BERT, OTHER, 'nonsense']) expect((await codeOf(read(id))).code).to.equal('NOT_FOUND')
  })
})
