import { expect } from 'chai'
import type { KeycloakAdmin } from './keycloakAdmin.ts'
import type { KeycloakOrganizations } from './keycloakOrganizations.ts'
import { keycloakUsers } from './keycloakUsers.ts'

describe('keycloakUsers.list', () => {
  it('marks users as external if they sign in at an identity provider or come from a directory', async () => {
    const person = (id: string, more = {}) => ({ id, username: id, enabled: true, ...more })
    const everybody = [
      person('own'),
      person('linked'),
      person('twice'),
      person('directory', { federationLink: 'ldap' }),
    ]
    const linked: Record<string, string[]> = { acme: ['linked', 'twice'], zeta: ['twice'], empty: [] }
    const call: KeycloakAdmin['call'] = async (_method, path) => {
      const alias = new URL(path, 'http://keycloak').searchParams.get('idpAlias')
      const people = alias === null ? everybody : everybody.filter(({ id }) => linked[alias]?.includes(id))
      const providers = Object.keys(linked).map((name) => ({ alias: name }))
      const body = path.startsWith('/identity-provider/instances') ? providers : people
      return { status: 200, body, location: undefined }
    }
    const organizations = { tenantsByMember: async () => new Map() } as unknown as KeycloakOrganizations
    const listed = await keycloakUsers({ call }, organizations).list({ limit: 10 })
    expect(Object.fromEntries(listed.map(({ id, isExternal }) => [id, isExternal]))).to.deep.equal({
      ...{ own: false, linked: true, twice: true, directory: true },
    })
  })
})

describe('keycloakUsers.create', () => {
  it('assigns the default role of the realm, which offline sessions need', async () => {
    const imported: unknown[] = []
    const call: KeycloakAdmin['call'] = async (method, path, { body } = {}) => {
      if (path === '/partialImport') imported.push(body)
      if (path === '') return { status: 200, body: { defaultRole: { name: 'of-everybody' } }, location: undefined }
      const user = { id: 'ada', username: 'ada', enabled: true }
      return { status: 200, body: path.startsWith('/users/ada') && method === 'GET' ? user : [], location: undefined }
    }
    const organizations = { tenantsOf: async () => [] } as unknown as KeycloakOrganizations
    await keycloakUsers({ call }, organizations).create({ id: 'ada', userName: 'ada' } as never)
    expect(imported).to.have.nested.property('[0].users[0].realmRoles').that.deep.equals(['of-everybody'])
  })
})
