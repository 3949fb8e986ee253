import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { type DeploymentPhase, isFinalPhase } from '../../src/contracts/deployments.ts'
import { PlatformApp } from '../../src/crds/apps.ts'
import { DeploymentRecord } from '../../src/crds/deployments.ts'
import { RoleDefinition } from '../../src/crds/rbac.ts'
import { horizontalPodAutoscaler } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { call, expectCall, makeCaller, uniqueName, until } from '../worlds/platform.ts'
import { administrator } from '../worlds/tenant.ts'
import { makeBesideVault, type VaultPlace } from '../worlds/vaultWorld.ts'

type App = {
  status: string
  statusMessage: string
  revision: number
  servingRevision: number | null
  servingImage: string | null
  publicUrl: string | null
  revisions: { number: number; reason: string; isServing: boolean; deploymentId: string }[]
}
type Entry = { id: string; phase: DeploymentPhase; containerImage: string | null; isServing: boolean; source: string }
type CachedRecord = DeploymentRecord & { [key: string]: unknown }
type Page<T> = { items: T[] }

const IMAGE = 'docker.io/library/nginx:1.29'
const NEXT = 'docker.io/library/nginx:1.30'

const APP_READS = ['/logs', '/certificate-status', '/metrics', '/metrics/web']

describe('apps', () => {
  let client: KubeClient
  let at: VaultPlace
  let namespace: string
  let base: string

  before(async () => {
    client = await administrator()
    const place = await makeBesideVault('apps', 'a-canary-for-apps')
    at = place
    namespace = place.namespace
    base = place.base
  })
  after(() => client.close())

  const read = async (name: string) => (await expectCall<App>(200, 'GET', `${base}/${name}`)).body
  const serves = (name: string, revision: number) =>
    until(`${name} serves revision ${revision}`, async () => {
      const found = await read(name)
      if (found.status !== 'Running' || found.servingRevision !== revision)
        throw new Error(`${found.status} ${found.revision} ${found.servingRevision}: ${found.statusMessage}`)
      return found
    })
  const deployments = async (name: string) =>
    (await expectCall<Page<Entry>>(200, 'GET', `${base}/${name}/deployments`)).body.items
  const phases = async (name: string, ...expected: string[]) =>
    until(`the deployments of ${name} are ${expected}`, async () => {
      const found = (await deployments(name)).map(({ phase }) => phase).sort()
      if (found.join() !== expected.sort().join()) throw new Error(found.join())
      return true
    })

  it('deploys an image, deploys another, and rolls back to a revision without a build', async () => {
    const name = uniqueName('shop')
    await expectCall(201, 'POST', `${base}/${name}`, { sourceKind: 'Image', image: IMAGE, replicas: 2 })
    const first = await serves(name, 1)
    expect(first.servingImage).to.equal(IMAGE)
    expect(first.publicUrl).to.match(new RegExp(`^https://${name}-[0-9a-f]{8}\\.`))
    await expectCall(200, 'PATCH', `${base}/${name}`, { image: NEXT, env: [{ name: 'COLOUR', value: 'blue' }] })
    await serves(name, 2)
    await phases(name, 'Succeeded', 'Succeeded')
    await expectCall(200, 'POST', `${base}/${name}/revisions/1/rollback`)
    const back = await serves(name, 3)
    expect(back.servingImage).to.equal(IMAGE)
    expect(back.revisions.map(({ reason }) => reason)).to.deep.equal(['RolledBack', 'Updated', 'Created'])
    await expectCall(404, 'POST', `${base}/${name}/revisions/99/rollback`)
    const { body: known } = await expectCall<Page<{ number: number; image: string }>>(
      200,
      'GET',
      `${base}/${name}/revisions`,
    )
    expect(known.items.map(({ number, image }) => [number, image])).to.deep.equal([
      [3, IMAGE],
      [2, NEXT],
      [1, IMAGE],
    ])
    await expectCall(200, 'GET', `${base}/${name}/revisions/2`)
    const { body: diff } = await expectCall<{ changes: { path: string; to: unknown }[] }>(
      200,
      'GET',
      `${base}/${name}/revisions/1/diff/2`,
    )
    const changed = Object.fromEntries(diff.changes.map(({ path, to }) => [path, to]))
    expect(changed).to.deep.include({ '/image': NEXT, '/env/0': { name: 'COLOUR', value: 'blue' } })
    const [serving, ...others] = (await deployments(name)).filter(({ isServing }) => isServing)
    expect([serving?.containerImage, others.length]).to.deep.equal([IMAGE, 0])
    const { body: pods } = await expectCall<Page<{ revision: number; ready: boolean }>>(
      200,
      'GET',
      `${base}/${name}/pods`,
    )
    expect(pods.items.filter(({ revision, ready }) => revision === 3 && ready)).to.have.length(2)
    for (const path of ['', '/config', ...APP_READS.map((each) => `/${name}${each}`)])
      await expectCall(200, 'GET', `${base}${path}`)
    await expectCall(200, 'PUT', `${base}/${name}`, { sourceKind: 'Image', image: IMAGE, replicas: 2 })
    await expectCall(202, 'PUT', `${base}/${name}/actions/stop`)
    await until('it is stopped', async () => (await read(name)).status === 'Stopped')
    await expectCall(202, 'DELETE', `${base}/${name}`)
    await until('it is deleted', async () => (await call('GET', `${base}/${name}`)).status === 404)
    await until('its deployments are gone', async () => {
      const { items } = await client.list<CachedRecord>(DeploymentRecord.resource, { namespace })
      return !items.some(({ spec }) => spec.ownerName === name)
    })
  })

  it('queues a build of a repository once on demand, and ends it when REST or kubectl cancels it', async () => {
    const name = uniqueName('shop')
    const repositoryUrl = 'https://git.example.com/acme/shop.git'
    await expectCall(201, 'POST', `${base}/${name}`, { sourceKind: 'Repository', repositoryUrl })
    await until('its first deployment is over', async () =>
      expect((await deployments(name)).map(({ phase }) => isFinalPhase(phase))).to.deep.equal([true]),
    )
    // By id: records of the same second are listed in any order.
    const [first] = await deployments(name)
    // A build of an external builder, so that others are queued behind it.
    await expectCall(201, 'POST', `${base}/${name}/deployments`, { phase: 'Building' })
    await until('it is being built', async () =>
      expect((await deployments(name)).map(({ phase }) => phase)).to.include('Building'),
    )
    const { body: asked } = await expectCall<Entry>(202, 'POST', `${base}/${name}/deploy`)
    expect((await expectCall<Entry>(200, 'POST', `${base}/${name}/deploy`)).body.id).to.equal(asked.id)
    const path = `${base}/${name}/deployments/${asked.id}`
    expect((await expectCall<Entry>(200, 'DELETE', path)).body.phase).to.equal('Cancelled')
    await expectCall(200, 'DELETE', path)
    const stageOf = async (id: string) =>
      (await client.get<CachedRecord>(DeploymentRecord.resource, { namespace, name: id })).status?.stage
    await until('it has ended', async () => expect(await stageOf(asked.id)).to.equal('Cancelled'))
    const patch = (spec: object) => client.mergePatch(PlatformApp.resource, { namespace, name }, { spec })
    await patch({ deploy: { requestedAt: '2099-01-01T00:00:00Z' } })
    const later = await until('the deployment that kubectl requests is queued', async () => {
      const found = (await deployments(name)).find(({ phase }) => phase === 'Queued')
      if (found === undefined) throw new Error('none')
      return found.id
    })
    await patch({ cancelledDeployment: later })
    await until('it has ended too', async () => expect(await stageOf(later)).to.equal('Cancelled'))
    const ended = await call('DELETE', `${base}/${name}/deployments/${first?.id}`)
    expect([ended.status, ended.body.code]).to.deep.equal([409, 'INVALID_STATE'])
    const image = await expectCall(201, 'POST', `${base}/${uniqueName('image')}`, { sourceKind: 'Image', image: IMAGE })
    const refused = await call('POST', `${base}/${(image.body as { name: string }).name}/deploy`)
    expect([refused.status, refused.body.code]).to.deep.equal([409, 'NOTHING_TO_BUILD'])
  })

  it('deploys from a manifest without REST, with a HorizontalPodAutoscaler', async () => {
    const name = uniqueName('shop')
    const { apiVersion, kind } = PlatformApp
    const spec = { sourceKind: 'Image', image: IMAGE, minReplicas: 2, maxReplicas: 5 }
    await client.create(PlatformApp.resource, { apiVersion, kind, metadata: { name, namespace }, spec })
    await serves(name, 1)
    await phases(name, 'Succeeded')
    const { items } = await client.list(horizontalPodAutoscaler, { namespace })
    expect(items.map(({ spec }) => (spec as { maxReplicas: number }).maxReplicas)).to.include(5)
    const found = await client.get(PlatformApp.resource, { namespace, name })
    const ready = (found.status as { conditions: { type: string; status: string }[] }).conditions
    expect(ready.find(({ type }) => type === 'Ready')?.status).to.equal('True')
  })

  it('takes deployments and logs of an external builder, which may report only its own', async () => {
    const name = uniqueName('shop')
    const code = { sourceKind: 'Upload' }
    await expectCall(201, 'POST', `${base}/${name}`, code)
    const role = uniqueName('Builder')
    await client.create(RoleDefinition.resource, {
      apiVersion: RoleDefinition.apiVersion,
      kind: RoleDefinition.kind,
      metadata: { name: uniqueName('role') },
      spec: { displayName: role, actions: ['kernel/deployments/token'], assignableScopes: ['/boundaries/*'] },
    })
    const { token: builder } = await makeCaller({ [role]: `/boundaries/${at.boundaryId}` })
    const { token: stranger } = await makeCaller()
    const id = randomUUID()
    const path = `${base}/${name}/deployments`
    expect((await call('POST', path, { deploymentId: id }, { token: stranger })).status).to.equal(404)
    await expectCall(201, 'POST', path, { deploymentId: id, branch: 'main' }, { token: builder })
    await expectCall(200, 'POST', path, { deploymentId: id, branch: 'main' }, { token: builder })
    const other = (await expectCall<Entry>(201, 'POST', path, {})).body.id
    expect((await call('PUT', `${path}/${other}`, { phase: 'Building' }, { token: builder })).status).to.equal(404)
    await expectCall(200, 'PUT', `${path}/${id}`, { phase: 'Building' }, { token: builder })
    const logs = `${path}/${id}/logs`
    await expectCall(200, 'POST', logs, { lines: ['one', 'two'], offset: 0 }, { token: builder })
    const gap = await call('POST', logs, { lines: ['five'], offset: 5 }, { token: builder })
    expect([gap.status, gap.body.code, (gap.body as { expectedOffset?: number }).expectedOffset]).to.deep.equal([
      409,
      'LOG_GAP',
      2,
    ])
    const { body: state } = await expectCall(
      200,
      'POST',
      logs,
      { text: 'two\nthree\n', offset: 1, isFinal: true },
      { token: builder },
    )
    expect(state).to.deep.equal({ lineCount: 3, sizeBytes: 14, isFinal: true })
    expect((await call('PUT', `${path}/${id}`, { phase: 'Queued' }, { token: builder })).status).to.equal(409)
    await expectCall(200, 'PUT', `${path}/${id}`, { phase: 'Succeeded', containerImage: IMAGE }, { token: builder })
    expect((await serves(name, 1)).servingImage).to.equal(IMAGE)
    await until('it has succeeded', async () => {
      const { body } = await expectCall<{ lines: { text: string }[]; isFinal: boolean }>(
        200,
        'GET',
        `${path}/${id}/build-logs`,
        undefined,
        {
          headers: { accept: 'application/json' },
        },
      )
      expect(body.lines.map(({ text }) => text)).to.deep.equal(['one', 'two', 'three'])
      expect((await deployments(name)).find((entry) => entry.id === id)?.phase).to.equal('Succeeded')
      return true
    })
    expect((await call('PUT', `${path}/${id}`, { phase: 'Failed' }, { token: builder })).body.code).to.equal(
      'INVALID_STATE',
    )
    await expectCall(200, 'GET', `${path}/config`)
  })
})
