import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { BOUNDARY, startShop } from '../../../test/worlds/shop.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import { type SecretObject, secretText } from '../../core/secretData.ts'
import { PlatformApp } from '../../crds/apps.ts'
import { DenyAssignment } from '../../crds/rbac.ts'
import { DeploymentSource } from '../../crds/sources.ts'
import { secret } from '../../kube/builtin.ts'
import { etagOf } from '../http/etag.ts'

const BUILDER = '33333333-3333-4333-8333-333333333333'
const READER = '44444444-4444-4444-8444-444444444444'
const PATH = `/boundaries/${BOUNDARY}/sources/registry`

describe('POST /sources/registry/{id}/materialize', () => {
  let shop: Awaited<ReturnType<typeof startShop>>
  const [ours, hub] = [randomUUID(), randomUUID()]
  before(async () => {
    shop = await startShop()
    shop.grant(BUILDER, 'Deployer', `/boundaries/${BOUNDARY}`)
    shop.grant(READER, 'Reader', `/boundaries/${BOUNDARY}`)
    for (const [id, baseUrl] of [
      [ours, 'https://registry.test'],
      [hub, 'https://registry-1.docker.io'],
    ] as const) {
      const spec = { provider: 'Registry', displayName: 'Ours', baseUrl, username: 'robot' }
      const credentials = { secretName: 'robot' }
      shop.put(DeploymentSource, id, { ...spec, credentials }, boundaryNamespace(BOUNDARY))
    }
  })
  after(() => shop.stop())

  const materialized = (id: string, body: object = {}, as?: string) =>
    shop.ask('post', `${PATH}/${id}/materialize`, as).send({ resourceGroup: 'shop', ...body })

  it('writes the pull secret for a Deployer and returns 404 to a Reader', async () => {
    expect((await materialized(ours, {}, BUILDER)).status).to.equal(200)
    expect((await materialized(ours, {}, READER)).status).to.equal(404)
  })

  it('returns 404 to a Deployer who is denied writing the group or the resource', async () => {
    const scope = `/boundaries/${BOUNDARY}/resourcegroups/shop`
    for (const [name, action, at] of [
      ['group', 'resourcegroups/write', scope],
      ['site', 'apps/write', `${scope}/resources/apps/site`],
    ] as const) {
      const deny = { principalId: BUILDER, principalType: 'ServicePrincipal', actions: [action], scope: at }
      shop.put(DenyAssignment, name, deny, boundaryNamespace(BOUNDARY))
    }
    for (const name of ['site', 'other'])
      shop.put(PlatformApp, name, { sourceKind: 'Upload' }, groupNamespace(BOUNDARY, 'shop'))
    const statuses = [{}, { resourceName: 'site' }, { resourceName: 'other' }].map(async (body) => {
      const { status } = await materialized(ours, { ...body, secretName: 'registry-other' }, BUILDER)
      return status
    })
    expect(await Promise.all(statuses)).to.deep.equal([404, 404, 200])
  })

  it('names Docker Hub as image references do, for the kubelet', async () => {
    const { body } = await materialized(hub, { repositories: ['acme/shop'] })
    expect(body.registry).to.equal('docker.io')
    const ref = { namespace: groupNamespace(BOUNDARY, 'shop'), name: body.secretName }
    const { data } = await shop.client.get<SecretObject>(secret, ref)
    const { auths } = JSON.parse(secretText(data, '.dockerconfigjson') ?? '')
    expect(Object.keys(auths)).to.deep.equal(['docker.io/acme/shop'])
  })
})

describe('POST /sources/{type}/create', () => {
  let shop: Awaited<ReturnType<typeof startShop>>
  before(async () => {
    shop = await startShop()
  })
  after(() => shop.stop())

  for (const [type, field] of [
    ['registry', 'baseUrl'],
    ['gitlab', 'registryUrl'],
    ['circuit', 'baseUrl'],
  ]) {
    it(`rejects ${field}, which ${type} does not have`, async () => {
      const secret = type === 'registry' ? { username: 'ada', password: 'theirs' } : { accessToken: 'theirs' }
      const { status, body } = await shop
        .ask('post', `/boundaries/${BOUNDARY}/sources/${type}/create`)
        .send({ displayName: 'Ours', [field ?? '']: 'https://ours.test', ...(type === 'circuit' ? {} : secret) })
      expect([status, body.errors?.[0]?.field], JSON.stringify(body)).to.deep.equal([400, field])
    })
  }

  it('rejects bitbucket without a workspace, before anybody is asked', async () => {
    const { status, body } = await shop
      .ask('post', `/boundaries/${BOUNDARY}/sources/bitbucket/create`)
      .send({ displayName: 'Ours', accessToken: 'theirs' })
    expect([status, body.code, body.errors?.[0]?.field], JSON.stringify(body)).to.deep.equal([
      400,
      'bad-request',
      'organization',
    ])
  })

  it('returns the ETag of the source', async () => {
    const { status, headers, body } = await shop
      .ask('post', `/boundaries/${BOUNDARY}/sources/github/create`)
      .send({ displayName: 'Hub' })
    expect(status, JSON.stringify(body)).to.equal(201)
    const ref = { namespace: boundaryNamespace(BOUNDARY), name: body.deploymentSourceId }
    expect(headers.etag).to.equal(etagOf(await shop.client.get(DeploymentSource.resource, ref)))
  })
})
