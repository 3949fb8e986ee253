import { expect } from 'chai'
import { brokerAlias } from '../../contracts/sso.ts'
import type { KeycloakAdmin } from './keycloakAdmin.ts'
import { keycloakFederation } from './keycloakFederation.ts'
import type { KeycloakOrganizations } from './keycloakOrganizations.ts'
import { IdentityProviderError } from './port.ts'

const TENANT = '7b0c5d6e-1f2a-4b3c-8d4e-5f6a7b8c9d0e'

/** What is written to Keycloak about existing providers whose metadata cannot be read. */
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

describe('keycloakFederation, for a provider with unreadable metadata', () => {
  it('leaves it unchanged, and deletes a provider that the tenant has removed', async () => {
    expect(await written([{ alias: 'away', enabled: true }])).to.deep.equal(['DELETE gone {}'])
  })

  it('disables it without changing its configuration', async () => {
    expect(await written([{ alias: 'away', enabled: false }])).to.have.members([
      'DELETE gone {}',
      'PUT away {"enabled":false,"config":{"tokenUrl":"https://a.example/t"}}',
    ])
  })
})

describe('keycloakFederation, for SAML metadata that Keycloak rejects', () => {
  for (const status of [400, 500])
    it(`reports the provider's alias and writes nothing of it (HTTP ${status})`, async () => {
      const writes: string[] = []
      const call: KeycloakAdmin['call'] = async (method, path, { accepted = [] } = {}) => {
        if (method === 'GET')
          return { status: path.startsWith('/organizations') ? 200 : 404, body: [], location: undefined }
        const isImport = path.endsWith('/import-config')
        if (isImport && !accepted.includes(status)) throw new IdentityProviderError('Unavailable', 'It refused.')
        if (!isImport) writes.push(`${method} ${path}`)
        return { status: isImport ? status : 204, body: undefined, location: undefined }
      }
      const organizations = { open: async () => ({ id: 'one', name: TENANT, domains: [] }) }
      const federation = keycloakFederation({ call }, organizations as unknown as KeycloakOrganizations)
      const provider = {
        ...{ alias: 'acme', displayName: 'Acme', protocol: 'Saml' as const, enabled: true, trustEmail: false },
        ...{ metadata: '<EntityDescriptor/>', emailClaim: 'mail' },
      }
      const tenant = { tenantId: TENANT, displayName: 'Acme', domains: [], providers: [provider] }
      const error = await federation.apply(tenant).catch((thrown: unknown) => thrown)
      expect(String(error)).to.include('Keycloak cannot read the SAML metadata of "acme"')
      expect(writes).to.deep.equal(['PUT /organizations/one'])
    })
})

describe('keycloakFederation, mapper of the email claim', () => {
  const alias = brokerAlias(TENANT, 'acme')
  const mapper = {
    name: 'freehold-email',
    identityProviderAlias: alias,
    identityProviderMapper: 'oidc-user-attribute-idp-mapper',
    config: { claim: 'mail', 'user.attribute': 'email', syncMode: 'IMPORT' },
  }

  /** What is written to Keycloak about mappers, given the existing ones. */
  async function writesOf(emailClaim: string, mappers: object[]): Promise<string[]> {
    const known = { alias, providerId: 'oidc', enabled: true, config: {} }
    const writes: string[] = []
    const call: KeycloakAdmin['call'] = async (method, path, { body } = {}) => {
      const isList = path.startsWith('/organizations')
      const answer = path.endsWith('/mappers') ? mappers : isList ? [known] : known
      if (method === 'GET') return { status: 200, body: answer, location: undefined }
      if (path.includes('/mappers')) writes.push(`${method} ${path.split('/mappers')[1]} ${JSON.stringify(body ?? {})}`)
      return { status: 204, body: undefined, location: undefined }
    }
    const organizations = { open: async () => ({ id: 'one', name: TENANT, domains: [] }) }
    const federation = keycloakFederation({ call } as KeycloakAdmin, organizations as unknown as KeycloakOrganizations)
    const provider = {
      ...{ alias: 'acme', displayName: 'Acme', protocol: 'Oidc' as const, enabled: true, trustEmail: false },
      ...{ clientId: 'freehold', emailClaim },
    }
    await federation.apply({ tenantId: TENANT, displayName: 'Acme', domains: [], providers: [provider] })
    return writes
  }

  it('creates the mapper once', async () => {
    expect(await writesOf('mail', [])).to.deep.equal([`POST  ${JSON.stringify(mapper)}`])
    expect(await writesOf('mail', [{ ...mapper, id: '1' }])).to.deep.equal([])
  })

  it('updates the mapper in place', async () => {
    const other = { ...mapper, id: '1', config: { ...mapper.config, claim: 'other' } }
    expect(await writesOf('mail', [other])).to.deep.equal([`PUT /1 ${JSON.stringify({ ...mapper, id: '1' })}`])
  })

  it('deletes the mapper if Keycloak reads the claim by itself', async () => {
    expect(await writesOf('email', [{ ...mapper, id: '1' }])).to.deep.equal(['DELETE /1 {}'])
  })
})

describe('keycloakFederation, for several providers', () => {
  it("lists an organization's providers once and links the missing ones", async () => {
    let listed = 0
    const linked: unknown[] = []
    const known = [{ alias: brokerAlias(TENANT, 'p0'), providerId: 'oidc', enabled: true, config: {} }]
    const call: KeycloakAdmin['call'] = async (method, path, { body } = {}) => {
      const isList = path === '/organizations/one/identity-providers'
      if (isList && method === 'GET') listed += 1
      if (isList && method === 'POST') linked.push(body)
      const isOne = method === 'GET' && /^\/identity-provider\/instances\/[^/]+$/.test(path)
      const found = known.find(({ alias }) => path.endsWith(`/${alias}`))
      const answer = isOne ? found : isList ? known : []
      return { status: answer === undefined ? 404 : 200, body: answer, location: undefined }
    }
    const organizations = { open: async () => ({ id: 'one', name: TENANT, domains: [] }) }
    const provider = (alias: string) => ({
      ...{ alias, displayName: alias, protocol: 'Oidc' as const, enabled: true, trustEmail: false, emailClaim: 'mail' },
      ...{ issuer: 'https://a.example', clientId: 'x', clientSecret: 'y', scopes: [] },
    })
    const providers = ['p0', 'p1', 'p2'].map(provider)
    const tenant = { tenantId: TENANT, displayName: 'Acme', domains: [], providers }
    await keycloakFederation({ call }, organizations as unknown as KeycloakOrganizations).apply(tenant as never)
    expect([listed, linked]).to.deep.equal([1, ['p1', 'p2'].map((alias) => brokerAlias(TENANT, alias))])
  })
})
