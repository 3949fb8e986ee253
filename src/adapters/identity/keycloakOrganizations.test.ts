import { expect } from 'chai'
import type { KeycloakAdmin } from './keycloakAdmin.ts'
import { keycloakOrganizations } from './keycloakOrganizations.ts'

describe('keycloakOrganizations.countIn', () => {
  const known = ['one', 'two', 'three'].map((name, index) => ({ id: `id-${name}`, name, members: index + 1 }))

  async function counted(tenantIds: string[]) {
    const paths: string[] = []
    const call: KeycloakAdmin['call'] = async (_method, path) => {
      paths.push(path.replace(/\?.*/, ''))
      const { searchParams } = new URL(path, 'http://keycloak')
      const found = known.filter(({ name }) => [null, name].includes(searchParams.get('search')))
      const one = known.find(({ id }) => path === `/organizations/${id}/members/count`)
      return { status: 200, body: one?.members ?? found, location: undefined }
    }
    const counts = await keycloakOrganizations({ call } as KeycloakAdmin).countIn(tenantIds)
    return { counts: Object.fromEntries(counts), paths }
  }

  it('counts members with one search and one call per existing organization', async () => {
    const { counts, paths } = await counted(['one', 'three', 'none'])
    expect(counts).to.deep.equal({ one: 1, three: 3, none: 0 })
    expect(paths).to.deep.equal([
      '/organizations',
      '/organizations/id-one/members/count',
      '/organizations/id-three/members/count',
    ])
  })

  it('searches for a single tenant by its name', async () => {
    expect(await counted(['two'])).to.deep.equal({
      counts: { two: 2 },
      paths: ['/organizations', '/organizations/id-two/members/count'],
    })
    expect((await counted([])).paths).to.deep.equal([])
  })
})

describe('keycloakOrganizations.tenantsByMember', () => {
  it('requests 10 organizations at a time and keeps their order', async () => {
    const known = Array.from({ length: 40 }, (_, index) => ({ id: `id-${index}`, name: `tenant-${index}` }))
    let [open, peak] = [0, 0]
    const call: KeycloakAdmin['call'] = async (_method, path) => {
      open += 1
      peak = Math.max(peak, open)
      await new Promise((resolve) => setImmediate(resolve))
      open -= 1
      return { status: 200, body: path.startsWith('/organizations?') ? known : [{ id: 'ada' }], location: undefined }
    }
    const tenants = await keycloakOrganizations({ call } as KeycloakAdmin).tenantsByMember()
    expect(tenants.get('ada')).to.deep.equal(known.map(({ name }) => name))
    expect(peak).to.equal(10)
  })

  it('stops after the first failed request', async () => {
    const known = Array.from({ length: 40 }, (_, index) => ({ id: `id-${index}`, name: `tenant-${index}` }))
    const paths: string[] = []
    const call: KeycloakAdmin['call'] = async (_method, path) => {
      paths.push(path)
      if (path.includes('id-0')) throw new Error('It is away.')
      return { status: 200, body: path.startsWith('/organizations?') ? known : [], location: undefined }
    }
    const error = await keycloakOrganizations({ call } as KeycloakAdmin)
      .tenantsByMember()
      .catch((thrown) => thrown)
    expect(error).to.have.property('message', 'It is away.')
    expect(paths.length).to.be.below(40)
  })
})
