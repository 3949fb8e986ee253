import { expect } from 'chai'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { REVISIONS_KEPT } from '../../contracts/revisions.ts'
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

describe('revisions of an app over REST', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  before(async () => {
    server = await startShop()
    server.put(ComputePlan, 'app-small', { family: 'App', displayName: 'Small', isDefault: true, ...SIZES })
  })
  after(() => server.stop())

  it('rejects a rollback to a host that another app has taken since', async () => {
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

  const CONFIGURATION = {
    port: 8080,
    healthPath: '/',
    volumes: [],
    managedIdentity: false,
    isPublic: true,
    customDomains: [],
  }
  const SECRET = { name: 'TOKEN', secret: { vaultName: 'safe', secretName: 'token' } }
  const seed = (name: string, revision: number, content: object) => {
    const namespace = groupNamespace(B, 'shop')
    const metadata = { name: `${name}-${revision}`, namespace, labels: ownerSelector(PlatformApp.kind, name) }
    const data = { content, reason: 'Updated', createdAt: '2026-01-01T00:00:00Z' }
    server.client.seed(controllerRevision, {
      ...{ apiVersion: 'apps/v1', kind: 'ControllerRevision', metadata, revision, data },
    } as never)
  }
  const read = (path: string) => server.ask('get', `${BASE}/${path}`)

  it('lists all kept revisions from newest to oldest, and filters, sorts and pages them', async () => {
    server.put(PlatformApp, 'many', app, groupNamespace(B, 'shop'))
    for (let number = 1; number <= REVISIONS_KEPT; number += 1)
      seed('many', number, { image: `site:${number}`, deploymentId: '', commit: 'abc' })
    const { body } = await read('many/revisions?pageSize=100')
    const numbers = body.items.map((one: { number: number }) => one.number)
    expect(numbers).to.deep.equal(Array.from({ length: REVISIONS_KEPT }, (_, at) => REVISIONS_KEPT - at))
    expect(body.items[0]).to.include({ image: 'site:50', commit: 'abc', isServing: false, canServe: true })
    const page = await read('many/revisions?sort=number&pageSize=1&page=2&filter=number:gt:10')
    expect(page.body.items.map((one: { image: string }) => one.image)).to.deep.equal(['site:12'])
  })

  it('shows the differences in image, configuration and variables, with secrets by reference', async () => {
    server.put(PlatformApp, 'changed', app, groupNamespace(B, 'shop'))
    const content = { ...CONFIGURATION, image: 'site:1', deploymentId: '', env: [{ name: 'COLOUR', value: 'red' }] }
    seed('changed', 1, content)
    seed('changed', 2, {
      ...{ ...content, image: 'site:2', startCommand: 'run' },
      env: [{ name: 'COLOUR', value: 'blue' }, SECRET],
    })
    const { status, body } = await read('changed/revisions/1/diff/2')
    expect(status, JSON.stringify(body)).to.equal(200)
    expect(body).to.deep.equal({
      ...{ from: 1, to: 2 },
      changes: [
        { path: '/image', kind: 'Changed', from: 'site:1', to: 'site:2' },
        { path: '/env/0/value', kind: 'Changed', from: 'red', to: 'blue' },
        { path: '/env/1', kind: 'Added', from: null, to: SECRET },
        { path: '/startCommand', kind: 'Added', from: null, to: 'run' },
      ],
    })
    expect((await read('changed/revisions/2/diff/2')).body.changes).to.deep.equal([])
    expect((await read('changed/revisions/2/diff/3')).status).to.equal(404)
    const { body: single } = await read('changed/revisions/2')
    expect(single).to.include({ number: 2, image: 'site:2' })
    expect(single.spec).to.deep.include({ startCommand: 'run', releaseCommand: null, port: 8080 })
    expect(single.spec.env[1].secret).to.include(SECRET.secret)
  })

  it('returns 403 or 404 to a caller who may not read the app', async () => {
    const stranger = '33333333-3333-4333-8333-333333333333'
    for (const path of ['revisions', 'revisions/1', 'revisions/1/diff/2'])
      expect((await server.ask('get', `${BASE}/changed/${path}`, stranger)).status).to.be.oneOf([403, 404])
  })
})
