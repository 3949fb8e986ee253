import { expect } from 'chai'
import { BOUNDARY as B, OWNER, startShop } from '../../test/worlds/shop.ts'
import { ComputePlan } from '../crds/plans.ts'
import { PlatformTenant } from '../crds/rbac.ts'

const TENANT = '77777777-7777-4777-8777-777777777777'
const RESOURCES = `/boundaries/${B}/resourcegroups/shop/resources`
const SOURCES = `/boundaries/${B}/sources`
const ROLE = { claimValue: 'x', roleDefinitionName: 'Reader', scope: `/boundaries/${B}` }
const PROVIDER = { alias: 'acme', displayName: 'Acme', clientId: 'x', clientSecret: 'x' }

describe('a URL that the platform would call', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  before(async () => {
    server = await startShop()
    server.grant(OWNER, 'Owner', '/')
    server.put(PlatformTenant, TENANT, { displayName: 'Acme' })
    const sizes = { cpuRequest: '1', cpuLimit: '2', memoryRequest: '2Gi', memoryLimit: '2Gi', storageSize: '20Gi' }
    server.put(ComputePlan, 'container-nano', { family: 'ContainerInstance', displayName: 'Nano', ...sizes })
  })
  after(() => server.stop())

  /** The field, its owner, the path and the other fields of the body. */
  const places: [string, string, string, object][] = [
    ['repositoryUrl', 'an app', `${RESOURCES}/apps/shop`, { sourceKind: 'Repository', computePlan: 'app-small' }],
    ['repositoryUrl', 'a site', `${RESOURCES}/staticwebapps/docs`, {}],
    ['proxyUrl', 'a site', `${RESOURCES}/staticwebapps/docs`, { image: 'docker.io/library/nginx:1.29' }],
    ['baseUrl', 'a source', `${SOURCES}/gitlab/create`, { displayName: 'x', accessToken: 'x' }],
    ['baseUrl', 'a source of plain Git', `${SOURCES}/git/create`, { displayName: 'x', accessToken: 'x' }],
    ['registryUrl', 'a source', `${SOURCES}/registry/create`, { displayName: 'x', username: 'x', password: 'x' }],
    ['repositoryUrl', 'a blueprint source', `/boundaries/${B}/resources/blueprints/sources`, {}],
    ['issuer', 'an identity provider binding', `/admin/tenants/${TENANT}/idp-bindings`, ROLE],
    ['issuer', 'an identity provider', `/admin/tenants/${TENANT}/sso/identity-providers`, PROVIDER],
    ['metadataUrl', 'an identity provider', `/admin/tenants/${TENANT}/sso/identity-providers`, PROVIDER],
  ]
  const addresses = [
    'https://u:p@gitlab.com/a/b',
    'https://u@gitlab.com/a/b',
    'http://gitlab.com/a/b',
    'ftp://gitlab.com/a/b',
    'file:///etc/passwd',
    'ssh://u:p@gitlab.com/a/b',
    'https://127.0.0.1/',
    'https://169.254.169.254/latest',
    'https://kubernetes.default.svc/a/b',
  ]
  for (const [field, owner, path, more] of places) {
    it(`is rejected with URL_NOT_ALLOWED as ${field} of ${owner}, and nothing is stored`, async () => {
      const before = server.client.calls.length
      for (const address of addresses) {
        const { status, body } = await server.ask('post', path).send({ ...more, [field]: address })
        const answer = [status, String(body.code).toUpperCase().replaceAll('-', '_'), body.field]
        expect(answer, `${address}: ${body.error ?? body.detail}`).to.deep.equal([400, 'URL_NOT_ALLOWED', field])
      }
      const made = server.client.calls.slice(before).filter(({ verb }) => verb === 'create')
      expect(made.filter(({ resource }) => !resource.startsWith('leases.'))).to.deep.equal([])
    })
  }

  it('is rejected with BAD_REQUEST if it is not a URL or has a query', async () => {
    for (const repositoryUrl of ['somewhere', 'https://gitlab.com/a/b?c=d']) {
      const { status, body } = await server.ask('post', `${RESOURCES}/staticwebapps/docs`).send({ repositoryUrl })
      expect([status, body.code, body.errors?.[0].field]).to.deep.equal([400, 'BAD_REQUEST', 'repositoryUrl'])
    }
  })
})
