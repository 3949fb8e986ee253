import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { request } from '../../../test/make/request.ts'
import {
  BLUEPRINTS as B,
  DEPLOY,
  startBlueprintShopWithDefaults,
  searchTemplate as template,
} from '../../../test/worlds/blueprintShop.ts'
import { bearer, CLUSTER } from '../../../test/worlds/facadeServer.ts'
import { BOUNDARY, OWNER } from '../../../test/worlds/shop.ts'
import { executionSecretName } from '../../contracts/blueprints/executions.ts'
import { BLUEPRINT_ANNOTATION } from '../../core/labels.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { BlueprintExecution } from '../../crds/blueprints.ts'
import { DEFAULT_BLUEPRINTS } from '../../crds/defaultBlueprints.ts'
import { DEFAULT_PLANS } from '../../crds/defaultPlans.ts'
import { PlatformUser } from '../../crds/identity.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { DenyAssignment } from '../../crds/rbac.ts'
import { RelationalCluster } from '../../crds/relational.ts'
import { SecretVault } from '../../crds/vaults.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { secret } from '../../kube/builtin.ts'

const HOME = groupNamespace(BOUNDARY, 'shop')
const OUTER = boundaryNamespace(BOUNDARY)
const READER = '33333333-3333-4333-8333-333333333333'

describe('blueprints over REST', () => {
  let world: Awaited<ReturnType<typeof startBlueprintShopWithDefaults>>
  beforeEach(async () => {
    world = await startBlueprintShopWithDefaults()
    world.grant(READER, 'Reader', `/boundaries/${BOUNDARY}`)
  })
  afterEach(() => world.stop())

  type World = typeof world
  const post: World['post'] = (...given) => world.post(...given)
  const deploy: World['deploy'] = (...given) => world.deploy(...given)

  it('lists every blueprint of the platform as valid, with its permissions', async () => {
    const { body } = await world.ask('get', B)
    expect(body.items).to.have.length(DEFAULT_BLUEPRINTS.length)
    for (const item of body.items) expect(item).to.include({ origin: 'BuiltIn', isValid: true, isEnabled: true })
    const { body: one } = await world.ask('get', `${B}/vector-database`, READER)
    expect(one).to.deep.include({ permissions: ['vectorcluster/write'], missingPermissions: ['vectorcluster/write'] })
    expect(one.content).to.equal(DEFAULT_BLUEPRINTS[0])
    expect((await world.ask('get', `${B}/${one.id}`)).body.slug).to.equal('vector-database')
    expect((await world.ask('get', `${B}/nothing`)).status).to.equal(404)
  })

  it('creates, reads, replaces and deletes a template, and rejects other content under the same version', async () => {
    const made = await post(template())
    expect(made.status).to.equal(201)
    expect((await world.ask('get', String(made.headers.location))).body).to.include({
      slug: 'search',
      origin: 'Boundary',
    })
    expect((await post(template())).status).to.equal(200)
    expect((await post(template('1.0.0', '', '{}').replace('Search', 'Find'))).body).to.include({
      code: 'VERSION_EXISTS',
    })
    expect((await post(template('1.0.1'))).body).to.include({ version: '1.0.1', origin: 'Boundary' })
    expect((await world.ask('delete', `${B}/templates/search`)).status).to.equal(204)
    expect((await world.ask('delete', `${B}/templates/search`)).status).to.equal(404)
    expect((await world.ask('delete', `${B}/templates/static-site`)).body.code).to.equal('NOT_OWNED')
  })

  it('prefers a template of the boundary to the one of the platform with the same slug', async () => {
    const own = (DEFAULT_BLUEPRINTS[2] ?? '').replace('version: 1.0.0', 'version: 1.0.1')
    expect((await post(own)).status).to.equal(201)
    const { body } = await world.ask('get', `${B}?filter=slug:eq:static-site`)
    expect(body.items.map(({ origin, version }: Record<string, string>) => `${origin} ${version}`)).to.deep.equal([
      'Boundary 1.0.1',
    ])
  })

  it('plans a deployment with dryRun=true and stores nothing', async () => {
    await post(template())
    const { status, body } = await deploy({ componentOverrides: [{ name: 'vectors', replicas: 3 }] }, '?dryRun=true')
    expect(status).to.equal(200)
    expect(body).to.deep.include({ isValid: true, parameters: { plan: 'vector-dev', password: '***' } })
    expect(
      body.steps.map(({ action, resourceName }: Record<string, string>) => `${action} ${resourceName}`),
    ).to.deep.equal(['Create find', 'Create find-safe', 'Create password'])
    expect((await world.client.list(BlueprintExecution.resource)).items).to.have.length(0)
  })

  it('creates an execution for a deployment, with generated values in a Secret', async () => {
    await post(template())
    const { status, body, headers } = await deploy()
    expect(status).to.equal(202)
    expect(headers.etag).to.equal((await world.ask('get', `${B}/deploys/${body.id}`)).headers.etag)
    expect(body).to.deep.include({
      status: 'Queued',
      phase: 'Validating',
      name: 'find',
      slug: 'search',
      startedBy: OWNER,
    })
    expect(body.outputs[1]).to.deep.equal({
      name: 'key',
      value: null,
      isSecret: true,
      reference: { collection: 'vectorclusters', name: 'find', output: 'apiKey' },
    })
    const stored = await world.client.get(BlueprintExecution.resource, { namespace: OUTER, name: body.id })
    const kept = await world.client.get(secret, { namespace: OUTER, name: executionSecretName(body.id) })
    const value = Buffer.from((kept as { data?: Record<string, string> }).data?.password ?? '', 'base64').toString()
    expect(value).to.match(/^[\w-]{20}$/)
    expect(JSON.stringify(stored)).not.to.include(value)
    const { body: listed } = await world.ask('get', `${B}/deploys?take=1&resourceGroup=shop`)
    expect(listed.items.map(({ id }: { id: string }) => id)).to.deep.equal([body.id])
    const beyond = await world.ask('get', `${B}/deploys?take=201`)
    expect([beyond.status, beyond.body.parameter]).to.deep.equal([400, 'take'])
    const unfinished = { code: 'INVALID_STATE', status: 'Queued', phase: 'Validating' }
    expect((await deploy()).body).to.include({ ...unfinished, executionId: body.id })
    expect((await world.ask('post', `${B}/deploys/${body.id}/retry`)).body).to.include(unfinished)
  })

  it('returns 404 for a deployment to a caller with a deny at its resource group', async () => {
    await post(template())
    const { body } = await deploy()
    const reader = randomUUID()
    world.grant(reader, 'Contributor', `/boundaries/${BOUNDARY}`)
    const seen = async () => {
      const { body: listed } = await world.ask('get', `${B}/deploys`, reader)
      const one = await world.ask('get', `${B}/deploys/${body.id}`, reader)
      return [
        listed.items.length,
        one.status,
        (await world.ask('post', `${B}/deploys/${body.id}/retry`, reader)).status,
      ]
    }
    expect(await seen()).to.deep.equal([1, 200, 409])
    const spec = { principalId: reader, principalType: 'User', actions: ['blueprints/*'], scopeIncarnation: 'life' }
    world.put(DenyAssignment, randomUUID(), { ...spec, scope: `/boundaries/${BOUNDARY}/resourcegroups/shop` }, OUTER)
    expect(await seen()).to.deep.equal([0, 404, 404])
  })

  it('treats expressions in string parameters as text', async () => {
    await post(`format: 1
slug: search
name: Search
version: 1.0.0
parameters: [{ name: text, type: string }, { name: key, type: secret }]
components:
  - { name: vault, collection: secretvaults, resourceName: safe }
  - name: note
    collection: secrets
    resourceName: note
    spec: { vaultName: safe, value: "\${parameters.text} \${parameters.key} \${components.vault.id}" }
`)
    const typed = `%{parameters.key} %{components.vault.id} \${parameters.key}`
    const { status, body } = await deploy({ parameters: { text: typed, key: 'hunter2' } })
    expect(status).to.equal(202)
    const stored = await world.client.get(BlueprintExecution.resource, { namespace: OUTER, name: body.id })
    const { lateMark, steps } = (stored as unknown as BlueprintExecution).spec
    expect(steps[1]?.value).to.equal(`${typed} %{${lateMark}.parameters.key} %{${lateMark}.components.vault.id}`)
  })

  it('retries a failed deployment once despite concurrent requests, and then only the retry', async () => {
    await post(template())
    const fail = (id: string) =>
      world.client.edit(BlueprintExecution.resource, { namespace: OUTER, name: id }, (execution) => {
        execution.status = { state: 'Failed', stage: 'Finished' }
      })
    const { body: first } = await deploy()
    fail(first.id)
    const retry = (id: string) => world.ask('post', `${B}/deploys/${id}/retry`)
    const answers = await Promise.all([retry(first.id), retry(first.id), retry(first.id)])
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([202, 409, 409])
    const second = answers.find(({ status }) => status === 202)?.body
    expect((await world.ask('get', `${B}/deploys/${first.id}`)).body.retriedBy).to.equal(second.id)
    fail(second.id)
    expect((await retry(first.id)).body).to.include({ code: 'INVALID_STATE', executionId: second.id })
    // As if the process had died before storing them.
    await world.client.remove(secret, { namespace: OUTER, name: executionSecretName(second.id) })
    const third = await retry(second.id)
    expect([third.status, third.body.retryOf]).to.deep.equal([202, second.id])
    const { headers: read } = await world.ask('get', `${B}/deploys/${third.body.id}`)
    expect(third.headers.etag).to.equal(read.etag)
    const values = (id: string) => world.client.get(secret, { namespace: OUTER, name: executionSecretName(id) })
    expect((await values(third.body.id)) as { data?: object }).to.deep.include({
      data: ((await values(first.id)) as { data?: object }).data,
    })
  })

  it('takes over resources in a retry that were ready and still exist, and creates deleted ones', async () => {
    await post(template())
    const { body: first } = await deploy()
    const spec = { computePlan: 'vector-dev' }
    const existing = world.put(VectorCluster, 'find', spec, HOME)
    const annotations = { [BLUEPRINT_ANNOTATION]: 'find/vectors' }
    const ref = { namespace: HOME, name: existing.metadata.name }
    await world.client.mergePatch(VectorCluster.resource, ref, { metadata: { annotations } })
    world.client.edit(BlueprintExecution.resource, { namespace: OUTER, name: first.id }, (execution) => {
      const ready = (component: string) => ({ component, status: 'Ready' as const })
      execution.status = { state: 'Failed', stage: 'Finished', steps: [ready('vectors'), ready('vault')] }
    })
    const { body: second } = await world.ask('post', `${B}/deploys/${first.id}/retry`)
    const stored = await world.client.get(BlueprintExecution.resource, { namespace: OUTER, name: second.id })
    expect((stored as unknown as BlueprintExecution).spec.takenOver).to.deep.equal(['vectors'])
  })

  it('returns 409 for a retry that another replica has created', async () => {
    await post(template())
    const { body: first } = await deploy()
    world.client.edit(BlueprintExecution.resource, { namespace: OUTER, name: first.id }, (execution) => {
      execution.status = { state: 'Failed', stage: 'Finished' }
    })
    const elsewhere = await world.another()
    const retry = (app: typeof elsewhere) =>
      request(app).post(`${B}/deploys/${first.id}/retry`).set('authorization', bearer(OWNER))
    const answers = await Promise.all([retry(world.app), retry(elsewhere)])
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([202, 409])
    expect(answers.find(({ status }) => status === 409)?.body.code).to.equal('INVALID_STATE')
  })

  const refusals: [why: string, body: object, status: number, code: string][] = [
    ['the blueprint was replaced', { blueprintId: CLUSTER }, 409, 'CONFLICT'],
    ['the boundary is not on the cluster', { clusterId: OWNER }, 422, 'CLUSTER_NOT_PROJECTED'],
    ['a parameter does not exist', { parameters: { size: '1' } }, 400, 'PARAMETER_INVALID'],
    ['a plan is of another family', { parameters: { plan: 'app-small' } }, 400, 'PARAMETER_INVALID'],
    ['a generated value is given', { parameters: { password: 'mine' } }, 400, 'PARAMETER_INVALID'],
    ['an override names a missing component', { componentOverrides: [{ name: 'web' }] }, 400, 'BAD_REQUEST'],
    [
      'a component is overridden twice',
      { componentOverrides: [{ name: 'vectors', replicas: 2 }, { name: 'vectors' }] },
      400,
      'BAD_REQUEST',
    ],
    ['an override is out of range', { componentOverrides: [{ name: 'vectors', replicas: 100 }] }, 400, 'BAD_REQUEST'],
    [
      'an override names a missing plan',
      { componentOverrides: [{ name: 'vectors', computePlan: 'none' }] },
      422,
      'PLAN_NOT_FOUND',
    ],
    ['the name is invalid', { name: 'No Name' }, 400, 'BAD_REQUEST'],
    ['the name is too long for a resource', { name: 'x'.repeat(50) }, 400, 'BAD_REQUEST'],
  ]
  for (const [why, body, status, code] of refusals)
    it(`rejects a deployment if ${why}`, async () => {
      await post(template())
      const answer = await deploy(body)
      expect(answer.body).to.include({ code })
      expect(answer.status).to.equal(status)
      expect((await world.client.list(BlueprintExecution.resource)).items).to.have.length(0)
    })

  it('returns 409 for If-Match with the ETag of earlier content', async () => {
    await post(template())
    const { headers } = await world.ask('get', `${B}/search`)
    const body = { blueprintId: await world.idOfSlug('search'), clusterId: CLUSTER, name: 'find' }
    const held = () => world.ask('post', `${DEPLOY}?dryRun=true`).set('if-match', String(headers.etag)).send(body)
    expect((await held()).status).to.equal(200)
    await post(template('1.0.1'))
    expect((await held()).body).to.include({ code: 'CONFLICT' })
    // Recreated, it has the former version again, and may have any content.
    await world.ask('delete', `${B}/templates/search`)
    await post(template())
    expect((await held()).status).to.equal(409)
  })

  it('plans and deploys buckets, keys, functions and role assignments', async () => {
    world.put(ComputePlan, 'function-small', DEFAULT_PLANS['function-small'] ?? {})
    world.put(PlatformUser, READER, { userName: 'reader' }, SYSTEM_NAMESPACE)
    const parts = (role: string) => `format: 1
slug: search
name: Search
version: 1.0.0
components:
  - { name: account, collection: objectstorageaccounts, resourceName: "\${deploy.name}" }
  - { name: bucket, collection: buckets, resourceName: files, spec: { accountName: "\${components.account.name}" } }
  - { name: key, collection: accesskeys, resourceName: key, spec: { accountName: "\${components.account.name}", buckets: [files] } }
  - { name: space, collection: functionnamespaces, resourceName: "\${deploy.name}", spec: { runtime: nodejs } }
  - { name: hello, collection: functions, resourceName: hello, spec: { namespaceName: "\${components.space.name}", handler: index } }
  - { name: grant, collection: roleassignments, resourceName: reader, spec: { principalId: ${READER}, roleDefinitionName: ${role} } }
`
    await post(parts('Reader'))
    const planned = await deploy({}, '?dryRun=true')
    expect(planned.body.steps.flatMap(({ problems }: { problems: string[] }) => problems)).to.deep.equal([])
    expect(planned.body).to.include({ isValid: true })
    expect((await deploy()).status).to.equal(202)
    await post(parts('Owner').replace('1.0.0', '1.0.1'))
    world.grant(READER, 'Contributor', `/boundaries/${BOUNDARY}`)
    expect((await deploy({ name: 'other' }, '', READER)).body).to.include({ code: 'FORBIDDEN' })
  })

  it('returns 403 with the missing permissions to a caller who may only read', async () => {
    await post(template())
    const answer = await deploy({}, '', READER)
    expect(answer.status).to.equal(403)
    expect(answer.body.missing).to.deep.equal(['secretvault/write', 'secretvault/writeSecrets', 'vectorcluster/write'])
  })

  it('checks deny assignments at the resources that a deployment writes', async () => {
    await post(template())
    const deny = (scope: string, actions: string[], dataActions: string[] = []) =>
      world.put(
        DenyAssignment,
        randomUUID(),
        {
          ...{ principalId: OWNER, principalType: 'User', reason: 'test', scopeIncarnation: 'life' },
          ...{ actions, dataActions, scope: `/boundaries/${BOUNDARY}/resourcegroups/shop/resources/${scope}` },
        },
        boundaryNamespace(BOUNDARY),
      )
    world.put(SecretVault, 'other-safe', {}, HOME)
    deny('secretvaults/other-safe', [], ['secretvault/writeSecrets'])
    const secret = await deploy({ name: 'other' })
    expect(secret.body).to.deep.include({ code: 'FORBIDDEN', missing: ['secretvault/writeSecrets'] })
    world.put(VectorCluster, 'find', { replicas: 3 }, HOME)
    deny('vectorclusters/find', ['vectorcluster/write'])
    expect((await deploy()).body).to.deep.include({ code: 'FORBIDDEN', missing: ['vectorcluster/write'] })
  })

  it('returns RESOURCE_CONFLICT for resources of others and updates those of the same deployment', async () => {
    await post(template())
    world.put(VectorCluster, 'find', {}, HOME)
    const conflict = await deploy()
    expect(conflict.body).to.deep.include({
      code: 'RESOURCE_CONFLICT',
      resources: [{ collection: 'vectorclusters', name: 'find' }],
    })
    const [step] = (await deploy({}, '?dryRun=true')).body.steps
    expect(step).to.include({ action: 'Conflict' })
    world.put(RelationalCluster, 'other', {}, HOME)
    const metadata = { annotations: { [BLUEPRINT_ANNOTATION]: 'find/vectors' } }
    await world.client.mergePatch(VectorCluster.resource, { namespace: HOME, name: 'find' }, { metadata })
    const planned = await deploy({ componentOverrides: [{ name: 'vectors', replicas: 3 }] }, '?dryRun=true')
    expect(planned.body.steps[0]).to.include({ action: 'Update' })
    expect(planned.body.steps[0].changes.map(({ path }: { path: string }) => path)).to.include('/replicas')
  })
})
