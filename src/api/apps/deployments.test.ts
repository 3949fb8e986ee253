import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { request } from '../../../test/make/request.ts'
import { bearer, startFacade } from '../../../test/worlds/facadeServer.ts'
import { deploymentIdFor } from '../../contracts/deployments.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import { PlatformApp } from '../../crds/apps.ts'
import type { codeFields } from '../../crds/codeFields.ts'
import { DeploymentRecord } from '../../crds/deployments.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { DenyAssignment, RoleDefinition } from '../../crds/rbac.ts'
import { DeploymentSource } from '../../crds/sources.ts'
import { StaticWebApp } from '../../crds/staticwebapps.ts'
import { BUILT_IN_ROLES } from '../../iam/roles.ts'

const B = '11111111-1111-4111-8111-111111111111'
const HERE = `/boundaries/${B}`
const SHOP = groupNamespace(B, 'shop')
const BASE = `${HERE}/resourcegroups/shop/resources/apps`
const CODE = { sourceKind: 'Repository', repositoryUrl: 'https://git.example.com/a/b' }
const SIZES = { cpuRequest: '1', cpuLimit: '2', memoryRequest: '2Gi', memoryLimit: '2Gi', storageSize: '20Gi' }
const SECRET = { name: 'KEY', secret: { vaultName: 'safe', secretName: 'key' } }

describe('deployments over REST', () => {
  let facade: Awaited<ReturnType<typeof startFacade>>
  const contributor = randomUUID()
  beforeEach(async () => {
    facade = await startFacade()
    facade.boundary(B)
    facade.group(B, 'shop')
    for (const { name, ...role } of BUILT_IN_ROLES) {
      const { displayName, description, actions, notActions, dataActions, notDataActions, assignableScopes } = role
      const spec = { displayName, description, actions, notActions, dataActions, notDataActions, assignableScopes }
      facade.put(RoleDefinition, name, { ...spec, isBuiltIn: true })
    }
    facade.grant(contributor, 'Contributor', HERE)
    facade.put(ComputePlan, 'app-default', { family: 'App', displayName: 'App', ...SIZES, isDefault: true })
  })
  afterEach(() => facade.stop())

  const send = (method: 'post' | 'put' | 'patch', path: string, body: object) =>
    request(facade.app)
      [method](new URL(`${BASE}/${path}`, 'http://here').pathname)
      .set('authorization', bearer(contributor))
      .send(body)

  it('returns 403 for a reported success if the app got secrets after its image was reported', async () => {
    const id = randomUUID()
    facade.put(PlatformApp, 'shop', { ...CODE, env: [SECRET] }, SHOP)
    const reported = {
      ownerCollection: 'apps',
      ownerName: 'shop',
      strategy: 'Reported',
      phase: 'Building',
      image: 'evil:1',
    }
    facade.put(DeploymentRecord, id, reported, SHOP)
    const answer = await send('put', `shop/deployments/${id}`, { phase: 'Succeeded' })
    expect(answer.status, JSON.stringify(answer.body)).to.equal(403)
  })

  it('requires the right to read the secrets of an app for a deploy request, and something to build', async () => {
    facade.put(PlatformApp, 'shop', { ...CODE, env: [SECRET] }, SHOP)
    facade.put(PlatformApp, 'open', CODE, SHOP)
    expect((await send('post', 'shop/deploy', {})).body.code).to.equal('FORBIDDEN')
    expect((await send('post', 'open/deploy', {})).status).to.equal(202)
    facade.put(PlatformApp, 'sent', { sourceKind: 'Upload' }, SHOP)
    const nothing = await send('post', 'sent/deploy', {})
    expect([nothing.status, nothing.body.code]).to.deep.equal([409, 'NOTHING_TO_BUILD'])
  })

  const otherCode: Record<keyof typeof codeFields, unknown> = {
    repositoryUrl: 'https://git.example.com/a/c',
    branch: 'other',
    pipeline: { rootPath: '/other' },
    deploymentSourceId: randomUUID(),
    deployOnPush: true,
    previewBranches: ['*'],
  }
  for (const [field, value] of Object.entries(otherCode))
    it(`rejects a change of ${field} by a caller who may not read the secrets of the app`, async () => {
      const spec = { ...CODE, branch: 'main', pipeline: {}, deployOnPush: false, env: [SECRET] }
      facade.put(PlatformApp, 'shop', spec, SHOP)
      expect((await send('patch', 'shop', { [field]: value })).status).to.equal(403)
      expect((await send('patch', 'shop', { port: 81 })).status).to.equal(200)
    })

  it('deploys a resource even if another deployment already has the predicted id', async () => {
    const { repositoryUrl } = CODE
    facade.put(StaticWebApp, 'docs', { repositoryUrl }, SHOP)
    const { uid = '' } = (await facade.client.get(StaticWebApp.resource, { namespace: SHOP, name: 'docs' })).metadata
    const guessed = deploymentIdFor(uid, 'asked', 'main', '', '')
    facade.put(PlatformApp, 'other', CODE, SHOP)
    expect((await send('post', 'other/deployments', { id: guessed })).status).to.equal(201)
    const deployed = await send('post', '../staticwebapps/docs/deploy', { branch: 'main' })
    expect(deployed.status, JSON.stringify(deployed.body)).to.equal(202)
    expect(deployed.body.id).to.not.equal(guessed)
  })

  it('shows the name and provider of the deployment source', async () => {
    const [deploymentSourceId, repositoryUrl] = [randomUUID(), 'https://github.com/acme/shop.git']
    const source = { provider: 'GitHub', displayName: 'Acme', baseUrl: 'https://github.com' }
    facade.put(DeploymentSource, deploymentSourceId, source, boundaryNamespace(B))
    facade.put(StaticWebApp, 'docs', { repositoryUrl, deploymentSourceId }, SHOP)
    facade.put(StaticWebApp, 'open', { repositoryUrl }, SHOP)
    const origin = async (path: string) => {
      const { body } = await send('post', `${path}/deploy`, { branch: 'main' })
      return [body.source, body.provider, body.repositoryName]
    }
    expect(await origin('../staticwebapps/docs')).to.deep.equal(['Acme', 'GitHub', 'acme/shop'])
    expect(await origin('../staticwebapps/open')).to.deep.equal([null, 'Git', 'acme/shop'])
  })

  it('keeps the sourceKind of an app in a PUT without it, and healthPath null', async () => {
    facade.put(PlatformApp, 'shop', { ...CODE, branch: 'next' }, SHOP)
    const { status, body } = await send('put', 'shop', { repositoryUrl: CODE.repositoryUrl, healthPath: null })
    expect([status, body.sourceKind, body.healthPath]).to.deep.equal([200, 'Repository', null])
    const again = await send('put', 'shop', body)
    expect([again.status, again.body.healthPath]).to.deep.equal([200, null])
  })

  it('ignores replicas of an app while minReplicas and maxReplicas are set', async () => {
    const body = { sourceKind: 'Image', image: 'site:1', minReplicas: 2, maxReplicas: 4 }
    const created = await send('post', 'scaled', body)
    expect([created.status, created.body.replicas]).to.deep.equal([201, 2])
    const path = new URL(`${BASE}/scaled`, 'http://here').pathname
    const patch = (change: object) =>
      request(facade.app).patch(path).set('authorization', bearer(contributor)).send(change)
    expect((await patch({ replicas: 9 })).body.replicas).to.equal(2)
    const stored = async () => {
      const { metadata, spec } = await facade.client.get(PlatformApp.resource, { namespace: SHOP, name: 'scaled' })
      return { version: metadata.resourceVersion, replicas: (spec as { replicas: number }).replicas }
    }
    const before = await stored()
    expect((await send('put', 'scaled', created.body)).status).to.equal(200)
    expect(await stored()).to.deep.equal(before)
    expect((await patch({ minReplicas: null, maxReplicas: null })).body.replicas).to.equal(1)
    expect((await patch({ replicas: 3 })).body.replicas).to.equal(3)
  })

  it('returns reported phases, requires containerImage for Succeeded, and rejects reports after the end', async () => {
    facade.put(PlatformApp, 'shop', CODE, SHOP)
    const started = await send('post', 'shop/deployments', { phase: 'Cloning', lastMessage: 'It fetches.' })
    expect([started.body.phase, started.body.lastMessage]).to.deep.equal(['Cloning', 'It fetches.'])
    const path = `shop/deployments/${started.body.id}`
    const built = await send('put', path, { phase: 'Building', lastMessage: 'It compiles.' })
    expect([built.body.phase, built.body.lastMessage]).to.deep.equal(['Building', 'It compiles.'])
    const bare = await send('put', path, { phase: 'Succeeded' })
    expect([bare.status, bare.body.errors?.[0]?.field]).to.deep.equal([400, 'containerImage'])
    expect(bare.body.error).to.include('"containerImage"')
    const back = await send('put', path, { phase: 'Queued' })
    expect(back.body).to.include({ code: 'INVALID_STATE', status: 'Building', phase: 'Building' })
    expect((await send('put', path, { containerImage: 'site:1' })).status).to.equal(200)
    const other = await send('put', path, { containerImage: 'site:2' })
    expect(other.body).to.include({ code: 'INVALID_STATE', status: 'Building', phase: 'Building' })
    const ended = await send('put', path, { phase: 'Failed' })
    expect([ended.status, ended.body.phase]).to.deep.equal([200, 'Failed'])
    const afterEnd = await send('put', path, { phase: 'Succeeded' })
    expect([afterEnd.status, afterEnd.body.code]).to.deep.equal([409, 'INVALID_STATE'])
  })

  it('keeps fields that a report omits, clears those that are null, and ignores its timestamp', async () => {
    facade.put(PlatformApp, 'shop', CODE, SHOP)
    const timestamp = '2020-01-01T00:00:00Z'
    const first = { branch: 'b1', commitSha: 'abcdef12', lastMessage: 'It fetches.', phase: 'Cloning', timestamp }
    const begun = await send('post', 'shop/deployments', first)
    expect([begun.status, begun.body.branch]).to.deep.equal([201, 'b1'])
    expect(begun.body.timestamp).to.not.equal(timestamp)
    const path = `shop/deployments/${begun.body.id}`
    const more = (await send('put', path, { phase: 'Building' })).body
    expect([more.branch, more.commitSha, more.lastMessage]).to.deep.equal(['b1', 'abcdef12', 'It fetches.'])
    const less = (await send('put', path, { branch: null, lastMessage: null, phase: null })).body
    expect([less.branch, less.commitSha, less.lastMessage, less.phase]).to.deep.equal([
      ...[null, 'abcdef12', '', 'Building'],
    ])
    const wrong = await send('post', 'shop/deployments', { timestamp: 'nonsense' })
    expect([wrong.status, wrong.body.code]).to.deep.equal([400, 'MODEL_BINDING_FAILED'])
  })

  for (const empty of ['', '00000000-0000-0000-0000-000000000000']) {
    it(`generates an id for each report with the id "${empty}"`, async () => {
      facade.put(PlatformApp, 'shop', CODE, SHOP)
      const body = { id: empty, deploymentId: empty, branch: 'main' }
      const answers = [await send('post', 'shop/deployments', body), await send('post', 'shop/deployments', body)]
      expect(answers.map(({ status }) => status)).to.deep.equal([201, 201])
      const ids = answers.map((answer) => answer.body.id)
      expect(new Set([...ids, empty]).size).to.equal(3)
      expect(answers.map((answer) => answer.body.deploymentId)).to.deep.equal(ids)
      expect((await send('put', `shop/deployments/${ids[0]}`, { ...body, phase: 'Building' })).status).to.equal(200)
    })
  }

  it('shows Deploying for a reported success, and rejects another image', async () => {
    facade.put(PlatformApp, 'shop', CODE, SHOP)
    const begun = await send('post', 'shop/deployments', { phase: 'Succeeded', containerImage: 'site:1' })
    expect([begun.status, begun.body.phase]).to.deep.equal([201, 'Deploying'])
    const other = await send('put', `shop/deployments/${begun.body.id}`, { containerImage: 'site:2' })
    expect([other.status, other.body.field]).to.deep.equal([409, 'containerImage'])
  })

  it('returns 404 to a caller who is denied writing the app', async () => {
    facade.put(PlatformApp, 'shop', CODE, SHOP)
    const body = { phase: 'Building', containerImage: 'site:1' }
    expect((await send('post', 'shop/deployments', body)).status).to.equal(201)
    const deny = { actions: ['apps/write'], dataActions: [], scope: HERE, reason: 'test', scopeIncarnation: 'life' }
    const principal = { principalId: contributor, principalType: 'User' }
    facade.put(DenyAssignment, randomUUID(), { ...principal, ...deny }, boundaryNamespace(B))
    expect((await send('post', 'shop/deployments', body)).status).to.equal(404)
  })
})
