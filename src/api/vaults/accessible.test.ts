import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import { DenyAssignment } from '../../crds/rbac.ts'
import { SecretVault } from '../../crds/vaults.ts'

const CALLER = '33333333-3333-4333-8333-333333333333'
const AT_BOUNDARY = `/boundaries/${B}`
const VAULTS = `${AT_BOUNDARY}/resourcegroups/shop/resources/secretvaults`
const ACCESSIBLE = `${AT_BOUNDARY}/resources/secretvaults/accessible`

describe('GET /resources/secretvaults/accessible', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    server = await startShop()
    for (const name of ['orders', 'payments']) server.put(SecretVault, name, {}, groupNamespace(B, 'shop'))
  })
  afterEach(() => server.stop())
  const get = (path: string) => server.ask('get', path, CALLER)
  const listed = async (path = ACCESSIBLE) => {
    const { items } = (await get(path)).body as { items: { name: string; canRead: boolean; canWrite: boolean }[] }
    return items.map(({ name, canRead, canWrite }) => [name, canRead, canWrite])
  }

  it('lists the vaults whose secrets the caller may read or write, with canRead and canWrite', async () => {
    server.grant(CALLER, 'Reader', AT_BOUNDARY)
    expect(await listed()).to.deep.equal([])
    server.grant(CALLER, 'Secrets Reader', `${VAULTS}/payments`)
    expect(await listed()).to.deep.equal([['payments', true, false]])
    server.grant(CALLER, 'Secrets Officer', `${AT_BOUNDARY}/resourcegroups/shop`)
    expect(await listed()).to.deep.equal([
      ['orders', true, true],
      ['payments', true, true],
    ])
  })

  it('returns 403 for a role at one vault only, which the resources of the boundary include', async () => {
    server.grant(CALLER, 'Secrets Reader', `${VAULTS}/payments`)
    const { status, body } = await get(ACCESSIBLE)
    expect(status).to.equal(403)
    expect(body).to.include({ code: 'FORBIDDEN', action: 'secretvault/read', scope: AT_BOUNDARY })
    const found = await listed(`${AT_BOUNDARY}/resources?filter=collection:eq:secretvaults`)
    expect(found.map(([name]) => name)).to.deep.equal(['payments'])
    expect((await get(`${VAULTS}/payments`)).status).to.equal(200)
    expect((await get(`${VAULTS}/orders`)).status).to.equal(403)
  })

  it('omits a vault that a deny assignment hides from an Owner', async () => {
    server.grant(CALLER, 'Owner', AT_BOUNDARY)
    const deny = {
      actions: ['secretvault/read'],
      scope: `${VAULTS}/payments`,
      principalId: CALLER,
      principalType: 'User',
    }
    server.put(DenyAssignment, randomUUID(), { ...deny, scopeIncarnation: 'life' }, boundaryNamespace(B))
    expect((await get(`${VAULTS}/payments`)).status).to.equal(403)
    expect((await listed(`${AT_BOUNDARY}/resources/secretvaults`)).map(([name]) => name)).to.deep.equal(['orders'])
    expect((await listed()).map(([name]) => name)).to.deep.equal(['orders'])
  })
})
