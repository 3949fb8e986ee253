import { expect } from 'chai'
import { brokerAlias } from '../../contracts/sso.ts'
import type { KeycloakAdmin } from './keycloakAdmin.ts'
import { keycloakFederation } from './keycloakFederation.ts'
import type { KeycloakOrganizations } from './keycloakOrganizations.ts'

const TENANT = '7b0c5d6e-1f2a-4b3c-8d4e-5f6a7b8c9d0e'

/** What Keycloak is asked to write of providers that it knows, none of whose metadata can be read. */
async function written(unread: { alias: string; enabled: boolean }[]): Promise<string[]> {
  const known = ['away', 'gone'].map((alias) => ({
    ...{
      alias: brokerAlias(TENANT, alias),
      providerId: 'oidc',
      enabled: true,
      config: { tokenUrl: 'https://a.example/t' },
    },
  }))
  const writes: string[] = []
  const call: KeycloakAdmin['call'] = async (method, path, { body } = {}) => {
    if (method === 'GET') return { status: 200, body: known, location: undefined }
    const { enabled, config } = (body ?? {}) as { enabled?: boolean; config?: object }
    const alias = path
      .split('/')
      .at(-1)
      ?.replace(/-[0-9a-f]{10}$/, '')
    if (path.startsWith('/identity-provider')) writes.push(`${method} ${alias} ${JSON.stringify({ enabled, config })}`)
    return { status: 204, body: undefined, location: undefined }
  }
  const organization = { id: 'one', name: TENANT, domains: [] }
  const organizations = { open: async () => organization } as unknown as KeycloakOrganizations
  const federation = keycloakFederation({ call } as KeycloakAdmin, organizations)
  await federation.apply({ tenantId: TENANT, displayName: 'Acme', domains: [], providers: [], unread })
  return writes
}

describe('a provider in Keycloak whose metadata cannot be read', () => {
  it('stays as it is, while one that the tenant has no more goes', async () => {
    expect(await written([{ alias: 'away', enabled: true }])).to.deep.equal(['DELETE gone {}'])
  })

  it('is disabled all the same', async () => {
    expect(await written([{ alias: 'away', enabled: false }])).to.have.members([
      'DELETE gone {}',
      'PUT away {"enabled":false,"config":{"tokenUrl":"https://a.example/t"}}',
    ])
  })
})
