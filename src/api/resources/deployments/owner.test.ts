import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { request } from '../../../../test/make/request.ts'
import { bearer, startFacade } from '../../../../test/worlds/facadeServer.ts'
import { boundaryNamespace, groupNamespace } from '../../../core/names.ts'
import { PlatformApp } from '../../../crds/apps.ts'
import { ComputePlan } from '../../../crds/plans.ts'
import { RoleDefinition } from '../../../crds/rbac.ts'
import { DeploymentSource } from '../../../crds/sources.ts'
import { StaticWebApp } from '../../../crds/staticwebapps.ts'

const B = '11111111-1111-4111-8111-111111111111'
const SOURCE = '33333333-3333-4333-8333-333333333333'
const HERE = `/boundaries/${B}`
const GROUP = `${HERE}/resourcegroups/shop/resources`
const SHOP = groupNamespace(B, 'shop')
const CODE = { repositoryUrl: 'https://git.example.com/acme/shop.git', deploymentSourceId: SOURCE }
const OTHER = 'https://git.example.com/acme/payroll.git'
const SIZES = { cpuRequest: '1', cpuLimit: '2', memoryRequest: '2Gi', memoryLimit: '2Gi' }
const ALL = ['apps/read', 'apps/write', 'staticwebapp/read', 'staticwebapp/write', 'kernel/deployments/read']

describe('a deployment source with credentials', () => {
  let facade: Awaited<ReturnType<typeof startFacade>>
  const [writer, builder] = [randomUUID(), randomUUID()]
  beforeEach(async () => {
    facade = await startFacade()
    facade.boundary(B)
    facade.group(B, 'shop')
    facade.put(ComputePlan, 'container-nano', { family: 'ContainerInstance', displayName: 'Nano', ...SIZES })
    facade.put(ComputePlan, 'app-own', { family: 'App', displayName: 'App', ...SIZES, isDefault: true })
    const role = { assignableScopes: ['/boundaries/*'] }
    facade.put(RoleDefinition, 'writer', { ...role, displayName: 'Writer', actions: ALL })
    const actions = [...ALL, 'kernel/deployments/token']
    facade.put(RoleDefinition, 'builder', { ...role, displayName: 'Builder', actions })
    facade.grant(writer, 'Writer', HERE)
    facade.grant(builder, 'Builder', HERE)
    const connection = { provider: 'Git', displayName: 'Acme', baseUrl: 'https://git.example.com' }
    facade.put(DeploymentSource, SOURCE, { ...connection, credentials: { secretName: 'dsrc-a' } }, boundaryNamespace(B))
    facade.put(PlatformApp, 'known', { sourceKind: 'Repository', ...CODE }, SHOP)
    facade.put(StaticWebApp, 'known', CODE, SHOP)
  })
  afterEach(() => facade.stop())

  const ask = (caller: string, method: 'post' | 'patch', path: string, body: object) =>
    request(facade.app)[method](`${GROUP}/${path}`).set('authorization', bearer(caller)).send(body)

  for (const [collection, more] of [
    ['apps', { sourceKind: 'Repository' }],
    ['staticwebapps', {}],
  ] as const) {
    it(`requires kernel/deployments/token for new ${collection}`, async () => {
      const refused = await ask(writer, 'post', `${collection}/shop`, { ...more, ...CODE })
      expect([refused.status, refused.body.code]).to.deep.equal([403, 'FORBIDDEN'])
      expect(JSON.stringify(refused.body)).to.include('kernel/deployments/token')
      const made = await ask(builder, 'post', `${collection}/shop`, { ...more, ...CODE })
      expect(made.status, JSON.stringify(made.body)).to.equal(201)
    })

    it(`requires kernel/deployments/token for another repositoryUrl of ${collection}`, async () => {
      const unchanged = await ask(writer, 'patch', `${collection}/known`, { tags: { colour: 'blue' } })
      expect(unchanged.status, JSON.stringify(unchanged.body)).to.equal(200)
      const moved = await ask(writer, 'patch', `${collection}/known`, { repositoryUrl: OTHER })
      expect([moved.status, moved.body.code]).to.deep.equal([403, 'FORBIDDEN'])
      const free = await ask(writer, 'patch', `${collection}/known`, { repositoryUrl: OTHER, deploymentSourceId: null })
      expect(free.status, JSON.stringify(free.body)).to.equal(200)
    })
  }
})
