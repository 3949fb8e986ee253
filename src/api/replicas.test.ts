import { expect } from 'chai'
import { BOUNDARY, OWNER, startShop } from '../../test/worlds/shop.ts'
import { functionObjectName } from '../contracts/functions.ts'
import { claimName } from '../core/nameClaims.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../core/names.ts'
import type { AnyKind } from '../crds/define.ts'
import { FunctionNamespace, ServerlessFunction } from '../crds/functions.ts'
import { ManagedIdentity } from '../crds/managedidentities.ts'
import { NameClaim } from '../crds/nameclaims.ts'
import { ComputePlan } from '../crds/plans.ts'
import { PlatformTenant, RoleAssignment } from '../crds/rbac.ts'
import { SsoConnection } from '../crds/sso.ts'
import { SecretVault } from '../crds/vaults.ts'

const ID = '77777777-7777-4777-8777-777777777777'
const SHOP = groupNamespace(BOUNDARY, 'shop')

describe('objects that another replica has just created', () => {
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

  it('are found by the single sign-on of a tenant', async () => {
    expect((await answerOf(`/admin/tenants/${ID}/sso`)).status).to.equal(404)
    store(PlatformTenant, ID, PlatformTenant.spec.parse({ displayName: 'Acme' }))
    expect((await answerOf(`/admin/tenants/${ID}/sso`)).status).to.equal(200)
    expect((await answerOf(`/admin/tenants/${ID}/idp-bindings`)).status).to.equal(200)
  })

  it('are found by the deletion of an identity provider', async () => {
    const provider = { alias: 'okta', displayName: 'Okta', protocol: 'Oidc', clientId: 'x' }
    store(PlatformTenant, ID, PlatformTenant.spec.parse({ displayName: 'Acme' }))
    store(SsoConnection, ID, { domains: [], identityProviders: [provider] }, SYSTEM_NAMESPACE)
    const path = `/admin/tenants/${ID}/sso/identity-providers`
    expect((await answerOf(`${path}/other`, 'delete')).status).to.equal(404)
    expect((await answerOf(`${path}/okta`, 'delete')).status).to.equal(204)
  })

  it('are found by the access keys of a managed identity', async () => {
    const spec = { resourceName: 'web', resourceType: 'apps', resourceUid: 'uid-web' }
    const path = `/boundaries/${BOUNDARY}/resourcegroups/shop/managedidentities/${ID}/objectaccesskeys`
    expect((await answerOf(path)).status).to.equal(404)
    store(ManagedIdentity, ID, spec, SHOP)
    expect((await answerOf(path)).status).to.equal(200)
  })

  it('are found by a reported deployment of a function, with a role that is as new', async () => {
    const builder = '88888888-8888-4888-8888-888888888888'
    const path = `/boundaries/${BOUNDARY}/resourcegroups/shop/resources/functionnamespaces/shop/deployments`
    store(FunctionNamespace, 'shop', FunctionNamespace.spec.parse({ runtime: 'nodejs' }), SHOP)
    const spec = { namespaceName: 'shop', functionName: 'pay', handler: 'index' }
    store(ServerlessFunction, functionObjectName('shop', 'pay'), ServerlessFunction.spec.parse(spec), SHOP)
    const scope = `/boundaries/${BOUNDARY}/resourcegroups/shop`
    const role = { principalId: builder, principalType: 'User', roleDefinitionName: 'Owner', scope }
    store(RoleAssignment, ID, { ...role, scopeIncarnation: 'life' }, boundaryNamespace(BOUNDARY))
    const reported = await server.ask('post', path, builder).send({ source: 'functions/pay' })
    expect([reported.status, reported.body.siteName]).to.deep.equal([201, 'shop'])
  })

  it('are found when an image is reported for a function with a secret: 403', async () => {
    store(FunctionNamespace, 'shop', FunctionNamespace.spec.parse({ runtime: 'nodejs' }), SHOP)
    const env = [{ name: 'TOKEN', secret: { vaultName: 'safe', secretName: 'Token' } }]
    const spec = { namespaceName: 'shop', functionName: 'pay', handler: 'index', env }
    store(ServerlessFunction, functionObjectName('shop', 'pay'), ServerlessFunction.spec.parse(spec), SHOP)
    const writer = '99999999-9999-4999-8999-999999999999'
    server.grant(writer, 'Contributor', `/boundaries/${BOUNDARY}`)
    const path = `/boundaries/${BOUNDARY}/resourcegroups/shop/resources/functionnamespaces/shop/deployments`
    const body = { source: 'functions/pay', containerImage: 'registry.example/pay:1' }
    const { status, body: answer } = await server.ask('post', path, writer).send(body)
    expect([status, answer.code]).to.deep.equal([403, 'FORBIDDEN'])
  })

  it('are found when code is brought to a function namespace with an identity: 403', async () => {
    store(FunctionNamespace, 'shop', FunctionNamespace.spec.parse({ runtime: 'nodejs', managedIdentity: true }), SHOP)
    const writer = '99999999-9999-4999-8999-999999999999'
    server.grant(writer, 'Contributor', `/boundaries/${BOUNDARY}`)
    const sizes = { cpuRequest: '1', cpuLimit: '2', memoryRequest: '2Gi', memoryLimit: '2Gi', storageSize: '1Gi' }
    server.put(ComputePlan, 'small', { family: 'Function', displayName: 'Small', ...sizes, isDefault: true })
    const path = `/boundaries/${BOUNDARY}/resourcegroups/shop/resources/functionnamespaces/shop`
    const ask = async (below: string, body: object) => {
      const answer = await server.ask('post', `${path}/${below}`, writer).send(body)
      return [answer.status, answer.body.code]
    }
    expect(await ask('functions/evil', { handler: 'index' })).to.deep.equal([403, 'FORBIDDEN'])
    const spec = { namespaceName: 'shop', functionName: 'pay', handler: 'index' }
    store(ServerlessFunction, functionObjectName('shop', 'pay'), ServerlessFunction.spec.parse(spec), SHOP)
    const files = [{ path: 'index.mjs', content: '' }]
    expect(await ask('functions/pay/source', { files })).to.deep.equal([403, 'FORBIDDEN'])
    const image = { source: 'functions/pay', containerImage: 'registry.example/pay:1' }
    expect(await ask('deployments', image)).to.deep.equal([403, 'FORBIDDEN'])
  })

  it('are found by the secrets of a vault under its name alone', async () => {
    const holder = { kind: SecretVault.kind, namespace: SHOP, name: 'keys', incarnation: 'x' }
    store(SecretVault, 'keys', {}, SHOP)
    store(NameClaim, claimName('Vault', 'keys'), { type: 'Vault', value: 'keys', holder })
    const before = server.client.calls.length
    await answerOf('/vaults/keys/secrets/word')
    const read = server.client.calls.slice(before).map(({ resource }) => resource)
    expect(read).to.include('vaultentries.data.freehold.dev')
  })
})
