import { expect } from 'chai'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { ownerSelector } from '../../contracts/workloads.ts'
import { claimName } from '../../core/nameClaims.ts'
import { groupNamespace } from '../../core/names.ts'
import { PlatformApp } from '../../crds/apps.ts'
import { NameClaim } from '../../crds/nameclaims.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { controllerRevision } from '../../kube/builtin.ts'

const BASE = `/boundaries/${B}/resourcegroups/shop/resources/apps`
const SIZES = { cpuRequest: '1', cpuLimit: '2', memoryRequest: '2Gi', memoryLimit: '2Gi' }
const app = { sourceKind: 'Image', image: 'docker.io/nginxinc/nginx-unprivileged:1.29' }
const HOST = 'shop.example.com'

describe('the rollback of an app', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  before(async () => {
    server = await startShop()
    server.put(ComputePlan, 'app-small', { family: 'App', displayName: 'Small', isDefault: true, ...SIZES })
  })
  after(() => server.stop())

  it('takes no host back that another app has by now', async () => {
    const ask = (method: 'get' | 'post' | 'put' | 'patch', path: string, body?: object) =>
      server.ask(method, `${BASE}/${path}`).send(body)
    const made = await ask('post', 'one', { ...app, customDomains: [HOST] })
    expect(made.status, JSON.stringify(made.body)).to.equal(201)
    const namespace = groupNamespace(B, 'shop')
    const { image } = app
    const content = { image, deploymentId: '', env: [], customDomains: [HOST], isPublic: true, port: 8080 }
    const metadata = { name: 'one-1', namespace, labels: ownerSelector(PlatformApp.kind, 'one') }
    server.client.seed(controllerRevision, {
      ...{ apiVersion: 'apps/v1', kind: 'ControllerRevision', metadata, revision: 1 },
      data: { content, reason: 'Created', createdAt: '2026-01-01T00:00:00Z' },
    } as never)
    await ask('patch', 'one', { customDomains: [] })
    // As its controller does once nothing serves it.
    await server.client.remove(NameClaim.resource, { name: claimName('Host', HOST) })
    const other = await ask('post', 'two', { ...app, customDomains: [HOST] })
    expect(other.status, JSON.stringify(other.body)).to.equal(201)
    const { status, body } = await ask('post', 'one/revisions/1/rollback')
    expect([status, body.code]).to.deep.equal([409, 'HOST_TAKEN'])
  })
})
