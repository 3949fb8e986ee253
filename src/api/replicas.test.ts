import { expect } from 'chai'
import { BOUNDARY, OWNER, startShop } from '../../test/worlds/shop.ts'
import { claimName } from '../core/nameClaims.ts'
import { groupNamespace, SYSTEM_NAMESPACE } from '../core/names.ts'
import type { AnyKind } from '../crds/define.ts'
import { ManagedIdentity } from '../crds/managedidentities.ts'
import { NameClaim } from '../crds/nameclaims.ts'
import { PlatformTenant } from '../crds/rbac.ts'
import { SsoConnection } from '../crds/sso.ts'
import { SecretVault } from '../crds/vaults.ts'

const ID = '77777777-7777-4777-8777-777777777777'
const SHOP = groupNamespace(BOUNDARY, 'shop')

describe('what another replica has just made is found by', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  const store = (kind: AnyKind, name: string, spec: object, namespace?: string) => {
    const metadata = { name, ...(namespace && { namespace }) }
    server.client.seed(kind.resource, { apiVersion: kind.apiVersion, kind: kind.kind, metadata, spec })
  }
  beforeEach(async () => {
    server = await startShop()
    server.grant(OWNER, 'Owner', '/')
    await server.caches.stopAll()
  })
  afterEach(() => server.stop())
  const answerOf = async (path: string, method: 'get' | 'delete' = 'get') => {
    const { status, body } = await server.ask(method, path)
    return { status, code: (body as { code?: string }).code }
  }

  it('the sign-in of a tenant', async () => {
    expect((await answerOf(`/admin/tenants/${ID}/sso`)).status).to.equal(404)
    store(PlatformTenant, ID, PlatformTenant.spec.parse({ displayName: 'Acme' }))
    expect((await answerOf(`/admin/tenants/${ID}/sso`)).status).to.equal(200)
    expect((await answerOf(`/admin/tenants/${ID}/idp-bindings`)).status).to.equal(200)
  })

  it('the removal of a provider of sign-in', async () => {
    const provider = { alias: 'okta', displayName: 'Okta', protocol: 'Oidc', clientId: 'x' }
    store(PlatformTenant, ID, PlatformTenant.spec.parse({ displayName: 'Acme' }))
    store(SsoConnection, ID, { domains: [], identityProviders: [provider] }, SYSTEM_NAMESPACE)
    const path = `/admin/tenants/${ID}/sso/identity-providers`
    expect((await answerOf(`${path}/other`, 'delete')).status).to.equal(404)
    expect((await answerOf(`${path}/okta`, 'delete')).status).to.equal(204)
  })

  it('the keys of a managed identity', async () => {
    const spec = { resourceName: 'web', resourceType: 'apps', resourceUid: 'uid-web' }
    const path = `/boundaries/${BOUNDARY}/resourcegroups/shop/managedidentities/${ID}/objectaccesskeys`
    expect((await answerOf(path)).status).to.equal(404)
    store(ManagedIdentity, ID, spec, SHOP)
    expect((await answerOf(path)).status).to.equal(200)
  })

  it('the name of its vault alone', async () => {
    const holder = { kind: SecretVault.kind, namespace: SHOP, name: 'keys', incarnation: 'x' }
    store(SecretVault, 'keys', {}, SHOP)
    store(NameClaim, claimName('Vault', 'keys'), { type: 'Vault', value: 'keys', holder })
    const before = server.client.calls.length
    await answerOf('/vaults/keys/secrets/word')
    const read = server.client.calls.slice(before).map(({ resource }) => resource)
    expect(read).to.include('vaultentries.data.freehold.dev')
  })
})
